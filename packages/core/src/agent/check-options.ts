import { AgentError, showValue } from "../errors.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import { checkMetadata } from "../storage/check-id.ts";
import { encodeJson } from "../storage/row-codec.ts";

type Fits = (value: unknown) => boolean;

/** What an option must be, in words and as a test. Options that are not here are checked by what reads them. */
const RULES: { [Name in keyof AgentExecutionOptions]?: [expected: string, fits: Fits] } = {
  maxSteps: ["a positive integer", isPositive],
  maxRetries: ["a whole number, 0 or more", isCount],
  maxProcessorRetries: ["a whole number, 0 or more", isCount],
  temperature: ["a number", isNumber],
  runId: ["a non-empty string", isText],
  threadId: ["a non-empty string", isText],
  resourceId: ["a non-empty string", isText],
  memory: ["{ thread, resource }", isObject],
  memoryOptions: ["an object", isObject],
  modelSettings: ["an object", isObject],
  providerOptions: ["an object by provider", isObject],
  telemetry: ["an object", isObject],
  limits: [
    "an object of numbers, 0 or more",
    (value) => isObject(value) && Object.values(value as object).every(isLimit),
  ],
  toolsets: ["an object of toolsets by name", isObject],
  clientTools: [
    "an object of tools by name",
    (value) => isObject(value) && Object.values(value as object).every(isObject),
  ],
  activeTools: [
    "an array of tool names",
    (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
  ],
  abortSignal: ["an AbortSignal", isSignal],
  toolChoice: [`"auto", "none", "required" or { type: "tool", toolName }`, isToolChoice],
  toolCallConcurrency: ["a positive integer", isConcurrency],
  requireToolApproval: [
    "a boolean or a function",
    (value) => typeof value === "boolean" || isFunction(value),
  ],
  stopWhen: [
    "a function or an array of functions",
    (value) => (Array.isArray(value) ? value.every(isFunction) : isFunction(value)),
  ],
  structuredOutput: ["{ schema }", isStructuredOutput],
  requestContext: ["a RequestContext", isContext],
  runtimeContext: ["a RequestContext", isContext],
  inputProcessors: ["an array of processors", isProcessors],
  outputProcessors: ["an array of processors", isProcessors],
  prepareStep: ["a function", isFunction],
  onFinish: ["a function", isFunction],
  onStepFinish: ["a function", isFunction],
  onChunk: ["a function", isFunction],
  onError: ["a function", isFunction],
  onAbort: ["a function", isFunction],
};

/** Refuses options that would only fail later, with the value and what was expected. */
export function checkOptions(options: AgentExecutionOptions | undefined): void {
  if (options === undefined) return;
  if (!isObject(options)) throw bad("options", "an object", options);
  for (const name of Object.keys(options) as (keyof AgentExecutionOptions)[]) {
    const value: unknown = options[name];
    const rule = value === undefined || !Object.hasOwn(RULES, name) ? undefined : RULES[name];
    if (rule && !rule[1](value)) throw bad(name, rule[0], value);
  }
  checkThread(options.memory?.thread);
  const schemas = (["output", "experimental_output", "structuredOutput"] as const).filter(
    (name) => options[name] !== undefined,
  );
  if (schemas.length > 1)
    throw new AgentError("invalid-argument", `Pass only one of ${schemas.join(" and ")}.`);
}

/** Names of values that may be stored. */
export function checkDurableContextKeys(keys: unknown): void {
  const fits = Array.isArray(keys) && keys.every(isText);
  if (keys !== undefined && !fits) throw bad("durableContextKeys", "an array of keys", keys);
}

function checkThread(thread: unknown): void {
  if (!isObject(thread)) return;
  const { title, metadata } = thread as { title?: unknown; metadata?: unknown };
  if (title !== undefined && typeof title !== "string") throw bad("memory.thread.title", "a string", title);
  if (metadata !== undefined)
    encodeJson("memory.thread.metadata", checkMetadata("memory.thread.metadata", metadata));
}

/** Processors from wherever they came: a list of objects with an id. */
export function isProcessors(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.every((item) => isObject(item) && typeof (item as { id?: unknown }).id === "string")
  );
}

function bad(name: string, expected: string, value: unknown): AgentError {
  const details = { option: name };
  return new AgentError("invalid-argument", `${name} must be ${expected}, got ${showValue(value)}.`, {
    details,
  });
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
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

function isLimit(value: unknown): boolean {
  return value === undefined || (isNumber(value) && (value as number) >= 0);
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
  return isPositive(isObject(value) ? ((value as { limit?: unknown }).limit ?? 1) : value);
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
