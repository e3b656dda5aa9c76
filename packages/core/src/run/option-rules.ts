import { isObject } from "@selvedge/protocol";
import type { AgentExecutionOptions } from "./run-options.ts";

type Fits = (value: unknown) => boolean;

/** Everything that must be decided about an option of a run. */
export interface OptionRule {
  /** What it must be, as text and as a test. `undefined`: the code that reads the option validates it. */
  check: readonly [expected: string, fits: Fits] | undefined;
  /** How many levels deep a call's value merges with the agent's default. 0 replaces it, as for a schema or a model. */
  merge: number;
  /**
   * How the option is stored for the process that continues the run: as JSON (other values are dropped), as JSON
   * without possible credentials, by special code in `stored-options.ts`, or not at all.
   */
  stored: "json" | "without-secrets" | "specially" | "never";
  /** Whether an HTTP request may set it: every caller, callers with the grant `run-options`, or no one. */
  wire: "open" | "granted" | "closed";
}

/** The options that something reads. */
type OptionName = Exclude<keyof AgentExecutionOptions, "autoResumeSuspendedTools">;

/** One row per option. An option without a row does not compile. */
export const OPTION_RULES: Readonly<Record<OptionName, OptionRule>> = {
  abortSignal: inProcess(["an AbortSignal", isSignal]),
  context: { check: undefined, merge: 0, stored: "json", wire: "granted" },
  instructions: { check: undefined, merge: 0, stored: "json", wire: "granted" },
  system: { check: undefined, merge: 0, stored: "json", wire: "granted" },
  memory: { check: ["{ thread, resource }", isObject], merge: 3, stored: "specially", wire: "closed" },
  threadId: inProcess(["a non-empty string", isText]),
  resourceId: inProcess(["a non-empty string", isText]),
  memoryOptions: { check: ["an object", isObject], merge: 2, stored: "without-secrets", wire: "closed" },
  asTool: { check: undefined, merge: 0, stored: "json", wire: "closed" },
  maxSteps: { check: ["a positive integer", isPositive], merge: 0, stored: "json", wire: "open" },
  maxRetries: { check: ["a whole number, 0 or more", isCount], merge: 0, stored: "json", wire: "granted" },
  stopWhen: inProcess(["a function or an array of functions", isFunctions]),
  prepareStep: inProcess(["a function", isFunction]),
  temperature: { check: ["a number", isNumber], merge: 0, stored: "json", wire: "granted" },
  modelSettings: { check: ["an object", isObject], merge: 2, stored: "without-secrets", wire: "granted" },
  model: { check: undefined, merge: 0, stored: "without-secrets", wire: "granted" },
  providerOptions: {
    check: ["an object by provider", isObject],
    merge: 3,
    stored: "without-secrets",
    wire: "granted",
  },
  output: { check: undefined, merge: 0, stored: "json", wire: "open" },
  experimental_output: { check: undefined, merge: 0, stored: "json", wire: "closed" },
  structuredOutput: {
    check: ["{ schema }", isStructuredOutput],
    merge: 1,
    stored: "specially",
    wire: "open",
  },
  toolChoice: {
    check: [`"auto", "none", "required" or { type: "tool", toolName }`, isToolChoice],
    merge: 0,
    stored: "json",
    wire: "open",
  },
  toolsets: { check: ["an object of toolsets by name", isObject], merge: 2, stored: "never", wire: "closed" },
  clientTools: { check: ["an object of tools by name", isObjects], merge: 1, stored: "json", wire: "open" },
  activeTools: { check: ["an array of tool names", isStrings], merge: 0, stored: "json", wire: "granted" },
  requireToolApproval: {
    check: ["a boolean or a function", (value) => typeof value === "boolean" || isFunction(value)],
    merge: 0,
    stored: "specially",
    wire: "open",
  },
  toolCallConcurrency: {
    check: ["a positive integer", isConcurrency],
    merge: 0,
    stored: "json",
    wire: "closed",
  },
  inputProcessors: inProcess(["an array of processors", isProcessors]),
  outputProcessors: inProcess(["an array of processors", isProcessors]),
  maxProcessorRetries: {
    check: ["a whole number, 0 or more", isCount],
    merge: 0,
    stored: "json",
    wire: "closed",
  },
  returnScorerData: inProcess(["a boolean", (value) => typeof value === "boolean"]),
  scorers: inProcess(["an object of scorers by name", isObject]),
  onFinish: inProcess(["a function", isFunction]),
  onStepFinish: inProcess(["a function", isFunction]),
  onChunk: inProcess(["a function", isFunction]),
  onError: inProcess(["a function", isFunction]),
  onAbort: inProcess(["a function", isFunction]),
  runId: inProcess(["a non-empty string", isText]),
  profile: { check: ["an object", isObject], merge: 0, stored: "json", wire: "closed" },
  requestContext: { check: ["a RequestContext", isContext], merge: 0, stored: "specially", wire: "granted" },
  runtimeContext: { check: ["a RequestContext", isContext], merge: 0, stored: "specially", wire: "closed" },
  telemetry: { check: ["an object", isObject], merge: 2, stored: "never", wire: "closed" },
  tracingOptions: { check: ["an object", isObject], merge: 2, stored: "never", wire: "closed" },
  limits: { check: ["an object of numbers, 0 or more", isLimits], merge: 1, stored: "json", wire: "closed" },
  includeRawChunks: { check: undefined, merge: 0, stored: "json", wire: "closed" },
  savePerStep: inProcess(undefined),
  persistPartialOnAbort: inProcess(undefined),
};

/** The names of all options, in table order. */
export const OPTION_NAMES: readonly OptionName[] = Object.keys(OPTION_RULES) as OptionName[];

/** The row of an option that only the calling process can use. */
function inProcess(check: OptionRule["check"]): OptionRule {
  return { check, merge: 0, stored: "never", wire: "closed" };
}

/** Processors from any source: a list of objects with an id. */
export function isProcessors(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => isObject(item) && typeof item["id"] === "string");
}

/** A non-empty string. */
export function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isObjects(value: unknown): boolean {
  return isObject(value) && Object.values(value).every(isObject);
}

function isStrings(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isFunctions(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isFunction) : isFunction(value);
}

function isNumber(value: unknown): boolean {
  return typeof value === "number" && !Number.isNaN(value);
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}

function isPositive(value: unknown): boolean {
  return isCount(value) && value !== 0;
}

function isLimits(value: unknown): boolean {
  const isLimit = (item: unknown) => item === undefined || (isNumber(item) && (item as number) >= 0);
  return isObject(value) && Object.values(value).every(isLimit);
}

function isSignal(value: unknown): boolean {
  const signal = value as Partial<AbortSignal> | null;
  return (
    typeof signal?.aborted === "boolean" &&
    isFunction(signal.addEventListener) &&
    isFunction(signal.removeEventListener)
  );
}

function isContext(value: unknown): boolean {
  const context = value as { get?: unknown; toJSON?: unknown; without?: unknown } | null;
  return isFunction(context?.get) && isFunction(context?.toJSON) && isFunction(context?.without);
}

function isConcurrency(value: unknown): boolean {
  return isPositive(isObject(value) ? (value["limit"] ?? 1) : value);
}

function isStructuredOutput(value: unknown): boolean {
  const { schema, errorStrategy } = Object(value) as { schema?: unknown; errorStrategy?: unknown };
  return Boolean(schema) && [undefined, "strict", "warn", "fallback"].includes(errorStrategy as undefined);
}

function isToolChoice(value: unknown): boolean {
  if (value === "auto" || value === "none" || value === "required") return true;
  const tool = value as { type?: unknown; toolName?: unknown } | null;
  return tool?.type === "tool" && typeof tool.toolName === "string";
}
