import type { Processor } from "./processor.ts";

export type Hook = Exclude<
  keyof Processor,
  "id" | "name" | "description" | "stateId" | "structuredOutput" | "processDataParts"
>;

/** Every hook, with the list a processor must be in for it to run. */
export const HOOKS: Readonly<Record<Hook, "input" | "output" | "either">> = {
  processInput: "input",
  processInputStep: "input",
  computeStateSignal: "input",
  processLLMRequest: "either",
  processOutputStream: "output",
  processLLMResponse: "either",
  processOutputStep: "output",
  processToolResult: "either",
  processOutputResult: "output",
  processAPIError: "either",
};

/** Returns a value for each hook. */
export function forEachHook<Value>(toValue: (hook: Hook) => Value): Record<Hook, Value> {
  const entries = (Object.keys(HOOKS) as Hook[]).map((hook) => [hook, toValue(hook)]);
  return Object.fromEntries(entries) as Record<Hook, Value>;
}
