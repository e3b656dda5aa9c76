import { isObject } from "@selvedge/protocol";
import type { JsonSchema } from "@selvedge/core/tools";

type Json = Record<string, unknown>;

/**
 * Merges `patch` into `target`, key by key and object by object; `null` deletes a key, a list is replaced whole (RFC
 * 7396).
 */
export function mergePatch(target: unknown, patch: Json): Json {
  const merged: Json = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (REFUSED_KEYS.has(key)) continue;
    if (value === null) delete merged[key];
    else merged[key] = isObject(value) ? mergePatch(merged[key], value) : value;
  }
  return merged;
}

/** The schema of patches to values of `schema`: every key is optional, and `null` is allowed for removable keys. */
export function toPatchSchema(schema: JsonSchema): JsonSchema {
  const { required: _, ...rest } = schema;
  const properties = schema["properties"];
  if (!isObject(properties)) return schema["type"] === "object" ? rest : schema;
  return {
    ...rest,
    properties: Object.fromEntries(
      Object.entries(properties).map(([key, value]) => [
        key,
        { anyOf: [isObject(value) ? toPatchSchema(value) : value, { type: "null" }] },
      ]),
    ),
  };
}

const REFUSED_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);
