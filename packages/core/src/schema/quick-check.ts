import type { JsonSchema } from "./schema.ts";

type Check = (value: unknown) => boolean;

/** Keywords that do not affect validation. */
const ANNOTATIONS = new Set([
  "$schema",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
]);

const TYPES: Record<string, Check> = {
  string: (value) => typeof value === "string",
  number: (value) => Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};

/**
 * A fast check for the plain schemas that most tools have. `true` means the value is valid; `false` means this check
 * cannot tell. Returns `undefined` for a schema with other keywords.
 */
export function quickCheck(schema: unknown): Check | undefined {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return undefined;
  const { type, properties, required, additionalProperties, items, ...others } = schema as JsonSchema;
  if (Object.keys(others).some((keyword) => !ANNOTATIONS.has(keyword))) return undefined;
  if (type === "object")
    return items === undefined ? objectCheck(properties, required, additionalProperties) : undefined;
  if (properties !== undefined || required !== undefined || additionalProperties !== undefined)
    return undefined;
  if (type === "array") return arrayCheck(items);
  return typeof type === "string" && items === undefined && Object.hasOwn(TYPES, type)
    ? TYPES[type]
    : undefined;
}

function objectCheck(properties: unknown, required: unknown, additional: unknown): Check | undefined {
  if (additional !== undefined && typeof additional !== "boolean") return undefined;
  const checks = new Map<string, Check>();
  for (const [name, property] of Object.entries((properties ?? {}) as Record<string, unknown>)) {
    const check = quickCheck(property);
    if (!check) return undefined;
    checks.set(name, check);
  }
  const needed = Array.isArray(required) ? (required as string[]) : [];
  return (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
    for (const name of needed) if (!Object.hasOwn(value, name)) return false;
    for (const name of Object.keys(value)) {
      const check = checks.get(name);
      if (check ? !check((value as Record<string, unknown>)[name]) : additional === false) return false;
    }
    return true;
  };
}

function arrayCheck(items: unknown): Check | undefined {
  if (items === undefined) return Array.isArray;
  const check = quickCheck(items);
  return check && ((value) => Array.isArray(value) && value.every(check));
}
