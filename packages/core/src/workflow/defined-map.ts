import { isObject } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import type { DefinedSource } from "./definition.ts";
import { mapFrom, type MapSource } from "./map-source.ts";
import { readPath } from "./predicate.ts";
import type { StepContext } from "./step.ts";

// Without "{" inside: many openings without an end would each be read to the end of the text.
const PLACEHOLDER = /\$\{([^{}]*)\}/g;

/** A mapping from its data. Throws `invalid-argument` with the place of what is wrong. */
export function definedMap(mapConfig: unknown, place: string): (context: StepContext) => unknown {
  if (!isObject(mapConfig)) throw bad(place, "must be an object", mapConfig);
  const sources = Object.entries(mapConfig).map(
    ([key, source]) => [key, toSource(source as DefinedSource, `${place}.${key}`)] as const,
  );
  return mapFrom(Object.fromEntries(sources));
}

function toSource(source: DefinedSource, place: string): MapSource {
  if (!isObject(source)) throw bad(place, "must be a source", source);
  if ("template" in source) return { fn: templateOf(source.template, `${place}.template`) };
  if ("value" in source) return { value: source.value };
  if ("requestContextPath" in source)
    return { requestContextPath: checkText(source.requestContextPath, `${place}.requestContextPath`) };
  if ("initData" in source) return { initData: undefined, path: checkText(source.path, `${place}.path`) };
  if (!("step" in source))
    throw bad(place, "needs step, initData, value, requestContextPath or template", source);
  const ids = [source.step].flat();
  for (const [index, id] of ids.entries()) checkText(id, `${place}.step.${index}`);
  return { step: ids.map((id) => ({ id })), path: checkText(source.path, `${place}.path`) };
}

/** Text in which `${path}` stands for a value of the run. A missing value is empty text; an object is refused. */
function templateOf(template: unknown, place: string): (context: StepContext) => string {
  const text = checkText(template, place);
  const reads = new Map(
    [...text.matchAll(PLACEHOLDER)].map(([, path]) => [path!, readPath(path, place)] as const),
  );
  return (context) =>
    text.replaceAll(PLACEHOLDER, (_, path: string) => {
      const value = reads.get(path)!(context);
      if (value === undefined || value === null) return "";
      if (typeof value === "object")
        throw new AgentError("invalid-argument", `${place}: "${path}" is an object. Name a value in it.`);
      return String(value as string | number | boolean | bigint);
    });
}

function checkText(value: unknown, place: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw bad(place, "must be text", value);
}

function bad(place: string, rule: string, value: unknown): AgentError {
  return new AgentError("invalid-argument", `${place} ${rule}, got ${showValue(value)}.`);
}
