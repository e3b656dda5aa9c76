import { pathToFileURL } from "node:url";
import type { Mastra } from "@selvedge/core";
import { AgentError } from "@selvedge/core/errors";

/** The host that a module exports as `mastra` or by default. */
export async function loadMastra(entry: string): Promise<Mastra> {
  const module = (await import(pathToFileURL(entry).href)) as Record<string, unknown>;
  const found = module["mastra"] ?? module["default"];
  if (isMastra(found)) return found;
  const names = Object.keys(module).join(", ") || "nothing";
  throw new AgentError(
    "invalid-argument",
    `${entry} exports ${names}. Export the host: export const mastra = new Mastra({ agents, storage }).`,
  );
}

/** By its shape, because the project may have its own copy of the package. */
function isMastra(value: unknown): value is Mastra {
  const methods = ["getAgent", "getStorage", "close"];
  return (
    typeof value === "object" &&
    value !== null &&
    methods.every((name) => typeof (value as Record<string, unknown>)[name] === "function")
  );
}
