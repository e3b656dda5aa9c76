import { isObject } from "@selvedge/protocol";
import { dereference, type Schema } from "@cfworker/json-schema";
import { AgentError } from "@selvedge/core";

type Json = Record<string, unknown>;
type Rule = { fits(value: unknown): boolean; expected: string };

const TYPES: ReadonlySet<unknown> = new Set([
  "null",
  "boolean",
  "object",
  "array",
  "number",
  "string",
  "integer",
]);

const isSchema = (value: unknown): boolean => isObject(value) || typeof value === "boolean";
const isText = (value: unknown): value is string => typeof value === "string";
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

const SCHEMA: Rule = { fits: isSchema, expected: "a schema" };
const SCHEMAS: Rule = {
  fits: (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema),
  expected: "a list of schemas",
};
const SCHEMAS_BY_NAME: Rule = {
  fits: (value) => isObject(value) && Object.values(value).every(isSchema),
  expected: "an object of schemas",
};
const TEXT: Rule = { fits: isText, expected: "a string" };
const NUMBER: Rule = { fits: Number.isFinite, expected: "a number" };
const COUNT: Rule = {
  fits: (value) => Number.isInteger(value) && (value as number) >= 0,
  expected: "a whole number from 0",
};

const RULES: ReadonlyMap<string, Rule> = new Map([
  ["type", { fits: isType, expected: `one of ${[...TYPES].join(", ")}, or a list of them` }],
  ["enum", { fits: Array.isArray, expected: "a list" }],
  ["required", { fits: isTexts, expected: "a list of names" }],
  ["pattern", { fits: isPattern, expected: "a regular expression" }],
  ["items", { fits: (value) => isSchema(value) || SCHEMAS.fits(value), expected: "a schema" }],
  [
    "multipleOf",
    { fits: (value) => NUMBER.fits(value) && (value as number) > 0, expected: "a number above 0" },
  ],
  [
    "patternProperties",
    {
      fits: (value) => SCHEMAS_BY_NAME.fits(value) && Object.keys(value as Json).every(isPattern),
      expected: "an object of schemas by regular expressions",
    },
  ],
  ...rules(SCHEMAS, "allOf", "anyOf", "oneOf", "prefixItems"),
  ...rules(SCHEMAS_BY_NAME, "$defs", "definitions", "properties", "dependentSchemas"),
  ...rules(
    SCHEMA,
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
  ),
  ...rules(TEXT, "$anchor", "$id", "$ref", "$schema", "description", "format", "title"),
  ...rules(NUMBER, "maximum", "minimum"),
  ...rules(COUNT, "maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"),
]);

/** Keywords whose subschemas apply to the same value: a cycle of them never ends. */
const SAME_VALUE = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"] as const;

const MOST_LINKS = 200;

/**
 * Refuses a caller's JSON Schema if it is invalid, with the location of the mistake, before any work starts. `what`
 * names the schema in the error.
 */
export function checkCallerSchema(what: string, schema: unknown): void {
  const refuse = (place: string, why: string): never => {
    throw new AgentError("invalid-schema", `The JSON Schema of ${what} is not valid: ${place} ${why}`);
  };
  if (!isObject(schema)) return refuse("it", "must be an object.");
  // The internals of schema library objects look like this.
  if (
    Object.hasOwn(schema, "~standard") ||
    (Object.hasOwn(schema, "jsonSchema") && Object.hasOwn(schema, "validate"))
  )
    return refuse("it", "must be plain JSON Schema.");
  const all: { place: string; schema: Json }[] = [{ place: "#", schema }];
  // Grows while it is traversed.
  for (const { place, schema: part } of all)
    for (const [keyword, value] of Object.entries(part)) {
      const rule = RULES.get(keyword);
      if (!rule) continue;
      const here = `${place}/${keyword}`;
      if (!rule.fits(value)) refuse(here, `must be ${rule.expected}, got ${shown(value)}.`);
      for (const [name, child] of childrenOf(keyword, value))
        if (isObject(child))
          all.push({ place: name === undefined ? here : `${here}/${name}`, schema: child });
    }
  checkReferences(schema, all, refuse);
}

function checkReferences(
  root: Json,
  all: readonly { place: string; schema: Json }[],
  refuse: (place: string, why: string) => never,
): void {
  const lookup = resolved(root, refuse);
  const targetOf = ({ $ref, __absolute_ref__: absolute }: Json): unknown =>
    $ref === undefined ? undefined : lookup[(absolute ?? $ref) as string];
  const places = new Map<unknown, string>(all.map(({ place, schema }) => [schema, place]));
  for (const { place, schema } of all)
    if (schema["$ref"] !== undefined && targetOf(schema) === undefined)
      refuse(`${place}/$ref`, `leads nowhere: ${shown(schema["$ref"])}.`);
  const done = new Set<unknown>();
  const path = new Set<unknown>();
  const follow = (schema: unknown): void => {
    if (!isObject(schema) || done.has(schema)) return;
    if (path.has(schema)) refuse(places.get(schema) ?? "it", "refers to itself without end.");
    if (path.size > MOST_LINKS) refuse("it", `has more than ${MOST_LINKS} references in a row.`);
    path.add(schema);
    follow(targetOf(schema));
    for (const keyword of SAME_VALUE)
      for (const [, child] of childrenOf(keyword, schema[keyword])) follow(child);
    path.delete(schema);
    done.add(schema);
  };
  for (const { schema } of all) follow(schema);
}

/** The targets of references, by address. */
function resolved(root: Json, refuse: (place: string, why: string) => never): Record<string, unknown> {
  try {
    return dereference(root as Schema);
  } catch (error) {
    return refuse("it", `has an $id or a $ref that is not usable: ${(error as Error).message}`);
  }
}

/** The subschemas in a keyword's value. */
function childrenOf(keyword: string, value: unknown): [string | undefined, unknown][] {
  const rule = RULES.get(keyword);
  if (Array.isArray(value)) return rule === SCHEMAS || keyword === "items" ? Object.entries(value) : [];
  if (rule === SCHEMAS_BY_NAME || keyword === "patternProperties")
    return Object.entries(Object(value) as Json);
  return rule === SCHEMA || keyword === "items" ? [[undefined, value]] : [];
}

function rules(rule: Rule, ...keywords: string[]): [string, Rule][] {
  return keywords.map((keyword) => [keyword, rule]);
}

function isType(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 && value.every((type) => TYPES.has(type)) : TYPES.has(value);
}

function isPattern(value: unknown): boolean {
  try {
    return isText(value) && new RegExp(value, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
