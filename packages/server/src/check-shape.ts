import { encodePointer, type OutputUnit, Validator } from "@cfworker/json-schema";
import { AgentError } from "@selvedge/core";

type JsonSchema = Readonly<Record<string, unknown>>;
export type Check = (value: unknown) => void;

/** Errors that only report that an inner error exists. */
const OUTER = new Set(["properties", "items", "additionalProperties", "anyOf", "$ref"]);
const SHOWN = 5;

/** Validates one part of a request; throws with the path of the invalid value. */
export function toCheck(part: string, shape: JsonSchema): Check {
  let validator: Validator | undefined;
  return (value) => {
    validator ??= new Validator(shape as ConstructorParameters<typeof Validator>[0], "2020-12", false);
    const { valid, errors } = validator.validate(value);
    if (valid) return;
    const inner = errors.filter(({ keyword }) => !OUTER.has(keyword));
    const known = knownFields(shape, errors);
    const issues = (inner.length > 0 ? inner : errors)
      .slice(0, SHOWN)
      .map(({ instanceLocation, keyword, error }) => {
        const names = instanceLocation.split("/").slice(1).map(decodePointer);
        const message = keyword === "false" ? unknownField(names, known) : error;
        return { path: [part, ...names].join("."), message };
      });
    const list = issues.map(({ path, message }) => `${path}: ${message}`).join(" ");
    throw new AgentError("invalid-argument", list.slice(0, 2000), { details: { issues } });
  };
}

/** Known fields by object, for objects that contain another one. */
function knownFields(shape: JsonSchema, errors: readonly OutputUnit[]): Map<string, string[]> {
  const known = new Map<string, string[]>();
  for (const { keyword, keywordLocation, instanceLocation } of errors) {
    if (keyword !== "additionalProperties") continue;
    let at: unknown = shape;
    for (const name of keywordLocation.split("/").slice(1, -1)) at = Object(at)[decodePointer(name)];
    const { properties } = Object(at) as { properties?: object };
    known.set(instanceLocation, Object.keys(properties ?? {}));
  }
  return known;
}

function unknownField(names: readonly string[], known: ReadonlyMap<string, string[]>): string {
  const owner = ["#", ...names.slice(0, -1).map(encodePointer)].join("/");
  const fields = known.get(owner) ?? [];
  const words = fields.length === 0 ? "" : ` Known are ${fields.join(", ")}.`;
  return `There is no field ${JSON.stringify(names.at(-1))} here.${words}`;
}

function decodePointer(name: string): string {
  return name.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Converts query strings to the types in their shape. */
export function decodeQuery(search: URLSearchParams, shape: JsonSchema | undefined): Record<string, unknown> {
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
