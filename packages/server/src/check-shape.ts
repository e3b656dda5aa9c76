import { Validator } from "@cfworker/json-schema";
import { AgentError } from "@selvedge/core";
import type { Shape } from "@selvedge/protocol/routes";

export type Check = (value: unknown) => void;

/** Errors that only say that an inner one exists. */
const OUTER = new Set(["properties", "items", "additionalProperties", "anyOf", "$ref"]);
const SHOWN = 5;

/** A check of one part of a request; refuses with the path of what does not fit. */
export function toCheck(part: string, shape: Shape<unknown>): Check {
  let validator: Validator | undefined;
  return (value) => {
    validator ??= new Validator(shape as ConstructorParameters<typeof Validator>[0], "2020-12", false);
    const { valid, errors } = validator.validate(value);
    if (valid) return;
    const inner = errors.filter(({ keyword }) => !OUTER.has(keyword));
    const issues = (inner.length > 0 ? inner : errors).slice(0, SHOWN).map(({ instanceLocation, error }) => ({
      path: [part, ...instanceLocation.split("/").slice(1)].join("."),
      message: error,
    }));
    const list = issues.map(({ path, message }) => `${path}: ${message}`).join(" ");
    throw new AgentError("invalid-argument", list.slice(0, 2000), { details: { issues } });
  };
}

/** Texts of a query as what their shape says they are. */
export function decodeQuery(
  search: URLSearchParams,
  shape: Shape<unknown> | undefined,
): Record<string, unknown> {
  const properties = (shape?.["properties"] ?? {}) as Record<string, { type?: string }>;
  const query: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, text] of search) {
    const type = Object.hasOwn(properties, name) ? properties[name]?.type : undefined;
    query[name] = type === "integer" || type === "number" || type === "boolean" ? fromText(text) : text;
  }
  return { ...query };
}

function fromText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
