import type { JSONValue } from "@selvedge/protocol";
import { RequestContext, RESOURCE_ID_KEY, THREAD_ID_KEY } from "../request-context/request-context.ts";
import { OPTION_NAMES, OPTION_RULES } from "./option-rules.ts";
import type { AgentExecutionOptions, RunMemory } from "./run-options.ts";

/** The options of a run that another process can continue with: everything that is JSON. */
export type StoredOptions = Record<string, JSONValue>;

/** Keys of possible credentials. They stay in the process. */
const SECRETS =
  /^(?:headers|byok|auth|bearer)$|(?:credentials?|token|authorization|password|passphrase|secret|cookies?|(?:api|access|auth|private|secret)[-_]?key)$/i;

/** Set by a server for a request. The row contains both ids anyway. */
const OWN_KEYS: readonly string[] = [RESOURCE_ID_KEY, THREAD_ID_KEY];

/** Only the request context keys that the app named are stored: request values are often secrets. */
export function storeOptions(
  options: AgentExecutionOptions | undefined,
  durableContextKeys: readonly string[] = [],
): StoredOptions {
  const stored: StoredOptions = {};
  if (!options) return stored;
  for (const name of OPTION_NAMES) {
    const rule = OPTION_RULES[name].stored;
    const value = rule === "json" || rule === "without-secrets" ? plainJson(options[name]) : undefined;
    if (value !== undefined) stored[name] = rule === "json" ? value : withoutSecrets(value);
  }
  const structured = plainJson(options.structuredOutput) as { model?: JSONValue } | undefined;
  if (structured?.model !== undefined) structured.model = withoutSecrets(structured.model);
  if (structured !== undefined) stored["structuredOutput"] = structured as JSONValue;
  // Another process cannot call the function, so it asks the person.
  const approval = options.requireToolApproval;
  if (approval !== undefined) stored["requireToolApproval"] = typeof approval === "function" || approval;
  const memoryOptions = plainJson(options.memory?.options);
  if (memoryOptions !== undefined) stored["memoryOptions"] = withoutSecrets(memoryOptions);
  const thread = plainJson(options.memory?.thread);
  // A name alone adds nothing to the row.
  if (typeof thread === "object") stored["thread"] = thread;
  const context = options.requestContext ?? options.runtimeContext;
  if (context) {
    const values: Record<string, JSONValue> = {};
    for (const key of [...OWN_KEYS, ...durableContextKeys]) {
      const json = plainJson(context.get(key));
      if (json !== undefined) values[key] = json;
    }
    if (Object.keys(values).length > 0) stored["requestContext"] = values;
  }
  return stored;
}

export function reviveOptions(stored: StoredOptions | undefined): AgentExecutionOptions {
  if (!stored) return {};
  const { requestContext, thread, ...options } = stored;
  return {
    ...(options as AgentExecutionOptions),
    ...(thread !== undefined && { memory: { thread: thread as unknown as RunMemory["thread"] } }),
    ...(requestContext !== undefined && {
      requestContext: new RequestContext(requestContext as Record<string, unknown>),
    }),
  };
}

function withoutSecrets(value: JSONValue): JSONValue {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutSecrets);
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) =>
      SECRETS.test(key) ? [] : [[key, withoutSecrets(item as JSONValue)]],
    ),
  );
}

/** A value that survives JSON unchanged, or `undefined`. */
function plainJson(value: unknown): JSONValue | undefined {
  try {
    if (value === undefined || !isPlain(value, 0)) return undefined;
    return JSON.parse(JSON.stringify(value)) as JSONValue;
  } catch {
    return undefined; // A property that throws.
  }
}

const MAX_DEPTH = 20;

function isPlain(value: unknown, depth: number): boolean {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return true;
  if (typeof value !== "object" || depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item) => isPlain(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((item) => item === undefined || isPlain(item, depth + 1));
}
