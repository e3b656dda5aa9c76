import { AgentError, showValue } from "../errors.ts";
import type { Schema } from "../schema/schema.ts";
import type { StepContext } from "./step.ts";

interface WithId {
  readonly id: string;
}

/** What `.map({ … })` accepts for each key. */
export type MapSource =
  | { step: WithId | readonly WithId[]; path: string }
  | { initData: unknown; path: string }
  | { value: unknown; schema?: Schema }
  | { requestContextPath: string; schema?: Schema }
  | { fn: (context: StepContext) => unknown; schema?: Schema };

/** A source for `.map()`: a value in the output of a step, or in the input of the workflow. */
export function mapVariable<const Source extends Extract<MapSource, { path: string }>>(
  source: Source,
): Source {
  return source;
}

/** A mapping from its sources. */
export function mapFrom(sources: Record<string, MapSource>): (context: StepContext) => unknown {
  for (const [key, source] of Object.entries(sources)) checkSource(key, source);
  return (context) => {
    const entries = Object.entries(sources).map(([key, source]) => [key, valueOf(source, context)] as const);
    if (!entries.some(([, value]) => value instanceof Promise)) return Object.fromEntries(entries);
    return Promise.all(entries.map(async ([key, value]) => [key, await value] as const)).then(
      Object.fromEntries,
    );
  };
}

function valueOf(source: MapSource, context: StepContext): unknown {
  if ("fn" in source) return source.fn(context);
  if ("value" in source) return source.value;
  if ("requestContextPath" in source) return at(context.requestContext.all, source.requestContextPath);
  if ("initData" in source) return at(context.getInitData(), source.path);
  // Of several steps, the first that has a result: those of a branch, for instance.
  for (const { id } of [source.step].flat() as WithId[]) {
    const result: unknown = context.getStepResult(id);
    if (result !== null) return at(result, source.path);
  }
  return undefined;
}

/** The value at a path like `a.b.0`; `.` is the whole. */
function at(value: unknown, path: string): unknown {
  if (path === "." || path === "") return value;
  let current = value;
  for (const key of path.split(".")) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Record<string, unknown>)[key];
  }
  return current;
}

function isSource(source: unknown): boolean {
  if (typeof source !== "object" || source === null) return false;
  const { fn, requestContextPath, step, path } = source as Record<string, unknown>;
  if ("fn" in source) return typeof fn === "function";
  if ("value" in source) return true;
  if ("requestContextPath" in source) return typeof requestContextPath === "string";
  if (typeof path !== "string") return false;
  return "initData" in source || [step].flat().every((one) => typeof (one as WithId)?.id === "string");
}

function checkSource(key: string, source: unknown): void {
  if (!isSource(source))
    throw new AgentError(
      "invalid-argument",
      `map() needs a source for "${key}", such as mapVariable({ step, path }) or { value }, got ${showValue(source)}.`,
    );
}
