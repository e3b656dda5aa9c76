import { AgentError, showValue } from "../errors.ts";

/** The options of a call. Refuses what is not an object, so that a missing one is not a fault deep inside. */
export function checkOptions<Options extends object>(call: string, options: Options): Options {
  if (typeof options === "object" && options !== null) return options;
  throw new AgentError(
    "invalid-argument",
    `${call} needs an object with options, got ${showValue(options)}.`,
  );
}
