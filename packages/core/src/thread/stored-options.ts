import type { JSONValue } from "@selvedge/protocol";
import { RequestContext } from "../request-context/request-context.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";

/** The options of a run that another process can go on with: everything that is JSON. */
export type StoredOptions = Record<string, JSONValue>;

/** Functions, signals and tools of a call stay with the process that made it. */
const STORED = [
  "maxSteps",
  "maxRetries",
  "temperature",
  "modelSettings",
  "model",
  "providerOptions",
  "toolChoice",
  "activeTools",
  "instructions",
  "system",
  "context",
  "requireToolApproval",
  "toolCallConcurrency",
  "limits",
  "memoryOptions",
  "maxProcessorRetries",
  "output",
  "experimental_output",
  "structuredOutput",
  "includeRawChunks",
  "clientTools",
] as const;

export function storeOptions(options: AgentExecutionOptions | undefined): StoredOptions {
  const stored: StoredOptions = {};
  if (!options) return stored;
  for (const name of STORED) {
    const value = plainJson(options[name]);
    if (value !== undefined) stored[name] = value;
  }
  // Who goes on elsewhere cannot ask the function, so it asks the person.
  if (typeof options.requireToolApproval === "function") stored["requireToolApproval"] = true;
  const memoryOptions = plainJson(options.memory?.options);
  if (memoryOptions !== undefined) stored["memoryOptions"] = memoryOptions;
  const context = options.requestContext ?? options.runtimeContext;
  if (context) {
    const values: Record<string, JSONValue> = {};
    for (const [key, value] of context.entries()) {
      const json = plainJson(value);
      if (json !== undefined) values[key] = json;
    }
    if (Object.keys(values).length > 0) stored["requestContext"] = values;
  }
  return stored;
}

export function reviveOptions(stored: StoredOptions | undefined): AgentExecutionOptions {
  if (!stored) return {};
  const { requestContext, ...options } = stored;
  return {
    ...(options as AgentExecutionOptions),
    ...(requestContext !== undefined && {
      requestContext: new RequestContext(requestContext as Record<string, unknown>),
    }),
  };
}

/** A value that survives JSON as it is, or `undefined`. */
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
