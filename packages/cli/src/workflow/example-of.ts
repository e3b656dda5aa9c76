import { isObject } from "@selvedge/protocol";
import { shellWord } from "./shell-word.ts";

const MAX_DEPTH = 5;

/** JSON that a schema accepts, as an argument for a shell: its defaults, and for the rest a value of the right type. */
export function exampleOf(schema: unknown): string {
  return shellWord(JSON.stringify(valueFor(schema, 0) ?? {}));
}

function valueFor(schema: unknown, depth: number): unknown {
  if (!isObject(schema) || depth > MAX_DEPTH) return undefined;
  const { type, enum: known, const: only, default: usual, examples, anyOf, oneOf } = schema;
  const given = [usual, only, listed(examples), listed(known)].find((value) => value !== undefined);
  if (given !== undefined) return given;
  if (isObject(schema["properties"])) return objectFor(schema, depth);
  switch (Array.isArray(type) ? (type[0] as unknown) : type) {
    case "string":
      return "…";
    case "number":
    case "integer":
      return schema["minimum"] ?? 1;
    case "boolean":
      return true;
    case "array":
      return [valueFor(schema["items"], depth + 1)].filter((item) => item !== undefined);
    case "null":
      return null;
    default:
      return valueFor(listed(anyOf) ?? listed(oneOf), depth + 1);
  }
}

function objectFor(schema: Record<string, unknown>, depth: number): object {
  const properties = schema["properties"] as Record<string, unknown>;
  const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
  const shown = Object.keys(properties).filter((name) => required.includes(name));
  return Object.fromEntries(shown.map((name) => [name, valueFor(properties[name], depth + 1) ?? null]));
}

function listed(value: unknown): unknown {
  return Array.isArray(value) ? (value[0] as unknown) : undefined;
}
