import { isObject } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { isText, OPTION_RULES } from "../run/option-rules.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import { checkMetadata } from "../storage/check-id.ts";
import { encodeJson } from "../storage/row-codec.ts";

/** Refuses options that would only fail later, with the value and what was expected. */
export function checkOptions(
  options: AgentExecutionOptions | undefined,
  unknown?: (name: string) => void,
): void {
  if (options === undefined) return;
  if (!isObject(options as unknown)) throw bad("options", "an object", options);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const known = Object.hasOwn(OPTION_RULES, name);
    if (!known) unknown?.(name);
    const check = known ? OPTION_RULES[name as keyof typeof OPTION_RULES].check : undefined;
    if (check && !check[1](value)) throw bad(name, check[0], value);
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
  const { title, metadata } = thread;
  if (title !== undefined && typeof title !== "string") throw bad("memory.thread.title", "a string", title);
  if (metadata !== undefined)
    encodeJson("memory.thread.metadata", checkMetadata("memory.thread.metadata", metadata));
}

function bad(name: string, expected: string, value: unknown): AgentError {
  const details = { option: name };
  return new AgentError("invalid-argument", `${name} must be ${expected}, got ${showValue(value)}.`, {
    details,
  });
}
