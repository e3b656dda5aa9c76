import { AgentError, showValue } from "../errors.ts";

/** Programs without types pass anything. */
export function checkList<List extends readonly unknown[]>(place: string, value: List): List {
  if (Array.isArray(value)) return value;
  throw new AgentError("invalid-argument", `${place} needs a list, got ${showValue(value)}.`);
}

export function checkOptions<Options extends object>(place: string, value: Options): Options {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new AgentError(
    "invalid-argument",
    `The options of ${place} must be an object, got ${showValue(value)}.`,
  );
}
