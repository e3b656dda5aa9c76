import { AgentError, showValue } from "../errors.ts";
import type { CommonOptions } from "./run-requests.ts";

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

/** What the calls that execute a run have in common. */
export function checkRunOptions<Options extends CommonOptions>(place: string, value: Options): Options {
  const { requestContext, outputOptions, outputWriter } = checkOptions(place, value);
  // Another copy of this package may have made it.
  if (requestContext !== undefined && !CONTEXT_METHODS.every((name) => isFunction(requestContext?.[name])))
    throw new AgentError(
      "invalid-argument",
      `requestContext of ${place} must be a RequestContext, got ${showValue(requestContext)}. Pass new RequestContext({ … }).`,
    );
  if (outputOptions !== undefined) checkOptions(`${place}.outputOptions`, outputOptions);
  if (outputWriter !== undefined && !isFunction(outputWriter))
    throw new AgentError(
      "invalid-argument",
      `outputWriter must be a function, got ${showValue(outputWriter)}.`,
    );
  return value;
}

const CONTEXT_METHODS = ["get", "has", "set", "toJSON"] as const;

function isFunction(value: unknown): boolean {
  return typeof value === "function";
}
