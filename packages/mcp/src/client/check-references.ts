import type { JsonSchema } from "@selvedge/core/tools";

/** Returns the references that a schema does not contain itself. Other documents are never fetched. */
export function danglingReferences(schema: JsonSchema): string[] {
  const names = new Set<string>(["#"]);
  const references = new Set<string>();
  walk(schema, ({ $id, $anchor, $dynamicAnchor, $ref, $dynamicRef }) => {
    for (const name of [$id, $anchor && `#${$anchor}`, $dynamicAnchor && `#${$dynamicAnchor}`])
      if (name) names.add(name);
    for (const reference of [$ref, $dynamicRef]) if (typeof reference === "string") references.add(reference);
  });
  return [...references].filter((reference) => {
    if (names.has(reference)) return false;
    return !reference.startsWith("#/") || !hasPointer(schema, reference);
  });
}

type Keywords = Partial<Record<"$id" | "$anchor" | "$dynamicAnchor" | "$ref" | "$dynamicRef", string>>;

function walk(value: unknown, visit: (schema: Keywords) => void): void {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) visit(value);
  for (const [key, inner] of Object.entries(value)) if (!LITERALS.has(key)) walk(inner, visit);
}

/** Keywords whose values are data, not schemas. */
const LITERALS = new Set(["const", "enum", "default", "examples"]);

function hasPointer(schema: unknown, reference: string): boolean {
  let at = schema;
  for (const part of reference.slice(2).split("/")) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return false;
    at = (at as Record<string, unknown>)[key];
  }
  return true;
}
