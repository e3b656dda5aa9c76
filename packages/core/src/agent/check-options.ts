import { AgentError } from "../errors.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";

/** Refuses options that would only fail later, with the value and what was expected. */
export function checkOptions(options: AgentExecutionOptions): void {
  if (typeof options !== "object" || options === null) throw bad("options", "an object", options);
  check(options, "maxSteps", "a positive integer", (value) => Number.isInteger(value) && (value as number) > 0);
  check(options, "maxRetries", "a whole number, 0 or more", isCount);
  check(options, "maxProcessorRetries", "a whole number, 0 or more", isCount);
  check(options, "temperature", "a number", (value) => typeof value === "number" && !Number.isNaN(value));
  check(options, "runId", "a non-empty string", (value) => typeof value === "string" && value !== "");
  check(options, "activeTools", "an array of tool names", (value) => Array.isArray(value));
  check(options, "abortSignal", "an AbortSignal", (value) => typeof (value as AbortSignal)?.addEventListener === "function");
  check(options, "toolChoice", `"auto", "none", "required" or { type: "tool", toolName }`, isToolChoice);
  check(options, "toolCallConcurrency", "a positive integer", isConcurrency);
  for (const name of ["onFinish", "onStepFinish", "onChunk", "onError", "onAbort", "prepareStep"] as const) {
    check(options, name, "a function", (value) => typeof value === "function");
  }
  for (const name of ["requestContext", "runtimeContext"] as const) {
    check(options, name, "a RequestContext", (value) => typeof (value as { get?: unknown })?.get === "function");
  }
  const schemas = (["output", "experimental_output", "structuredOutput"] as const).filter((name) => options[name] !== undefined);
  if (schemas.length > 1) throw new AgentError("invalid-argument", `Give one of ${schemas.join(" and ")}, not several.`);
  if (options.structuredOutput !== undefined && !options.structuredOutput?.schema) {
    throw bad("structuredOutput", "{ schema }", options.structuredOutput);
  }
}

function check(options: AgentExecutionOptions, name: keyof AgentExecutionOptions, expected: string, fits: (value: unknown) => boolean): void {
  const value = options[name];
  if (value !== undefined && !fits(value)) throw bad(name, expected, value);
}

function bad(name: string, expected: string, value: unknown): AgentError {
  let shown: string;
  try {
    shown = JSON.stringify(value) ?? String(value);
  } catch {
    shown = String(value);
  }
  return new AgentError("invalid-argument", `${name} must be ${expected}, got ${shown}.`, { details: { option: name } });
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}

function isConcurrency(value: unknown): boolean {
  const limit = typeof value === "object" ? ((value as { limit?: unknown } | null)?.limit ?? 1) : value;
  return Number.isInteger(limit) && (limit as number) > 0;
}

function isToolChoice(value: unknown): boolean {
  if (value === "auto" || value === "none" || value === "required") return true;
  const tool = value as { type?: unknown; toolName?: unknown } | null;
  return tool?.type === "tool" && typeof tool.toolName === "string";
}
