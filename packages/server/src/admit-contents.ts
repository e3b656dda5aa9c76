import { AgentError } from "@selvedge/core";
import type { Call } from "./handler.ts";

/** Data of tools and apps. Nothing in it is a message part, whatever it is called. */
const OPAQUE: ReadonlySet<string> = new Set(["args", "input", "metadata", "attributes"]);
/** Tool results are data too, unless marked as content. */
const ANSWERS: ReadonlySet<string> = new Set(["output", "result"]);
/** Parts that name a file, in messages and in tool results. */
const FILE_TYPES = /^(?:file|reasoning-file|image|media|audio|video)/;
const FILE_KEYS: readonly string[] = ["data", "url", "image"];
/** Provider metadata and options on parts of a history. */
const PROVIDER_KEYS: ReadonlySet<string> = new Set([
  "providerMetadata",
  "callProviderMetadata",
  "resultProviderMetadata",
  "providerReference",
]);
const MAX_URL = 8192;

/**
 * Checks messages or parts that a caller wants a model to read. `providerOptions` in them are options of the model call
 * and need the same grant; without it, `providerMetadata` and similar fields that return with a history are dropped.
 * Files must be inline or on a host in `allowedFileHosts`.
 */
export async function admitContents<Value>(
  { app, caller }: Pick<Call, "app" | "caller">,
  contents: Value,
): Promise<Value> {
  const hosts = new Set<string>();
  const admitted = admit(contents, { granted: caller.has("run-options"), hosts }) as Value;
  if (hosts.size > 0) await app.fileHosts.check(hosts);
  return admitted;
}

interface Admission {
  granted: boolean;
  hosts: Set<string>;
}

function admit(value: unknown, admission: Admission): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => admit(item, admission));
  if (typeof value !== "object" || value === null) return value;
  const { type } = value as { type?: unknown };
  const isFile = typeof type === "string" && FILE_TYPES.test(type);
  const admitted: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (key === "providerOptions" && !admission.granted && item !== undefined)
      throw new AgentError("forbidden", `"providerOptions" of a message need the grant "run-options".`);
    if (PROVIDER_KEYS.has(key) && !admission.granted) continue;
    if (isFile && FILE_KEYS.includes(key)) noteHosts(item, admission.hosts);
    admitted[key] = isData(key, item) ? item : admit(item, admission);
  }
  return admitted;
}

function isData(key: string, item: unknown): boolean {
  if (OPAQUE.has(key)) return true;
  return ANSWERS.has(key) && (item as { type?: unknown } | null)?.type !== "content";
}

/** A file is base64 or a URL; specification v4 also allows `{ type: "url", url }`. */
function noteHosts(file: unknown, hosts: Set<string>): void {
  if (typeof file === "object" && file !== null)
    return FILE_KEYS.forEach((key) => noteHosts((file as Record<string, unknown>)[key], hosts));
  // Base64 has no colon.
  if (typeof file !== "string" || !file.slice(0, 100).includes(":") || /^data:/i.test(file)) return;
  const url = file.length <= MAX_URL && URL.canParse(file) ? new URL(file) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw new AgentError(
      "invalid-argument",
      `A file is base64, a data URL or an http(s) URL, got "${file.slice(0, 50)}".`,
    );
  hosts.add(url.hostname);
}
