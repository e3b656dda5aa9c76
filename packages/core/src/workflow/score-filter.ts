import { isObject } from "@selvedge/protocol";
import { compilePredicate } from "./predicate.ts";

/** Whether values meet a predicate whose paths lead into them, such as `requestContext.tier`. */
export function meetsFilter(filter: unknown, values: Record<string, unknown>): boolean {
  const nothing = () => undefined;
  return compilePredicate(
    below(filter),
    "filter",
  )({ inputData: undefined, state: values, getInitData: nothing, getStepResult: nothing });
}

/** Predicates read the state of a run: the values are put there. */
function below(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(below);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      key === "path" && typeof one === "string"
        ? `state.${one.replace(/^\$\{(.*)\}$/, "$1").trim()}`
        : below(one),
    ]),
  );
}
