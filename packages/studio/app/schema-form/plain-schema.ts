export type JsonSchema = Record<string, unknown>;

const MAX_HOPS = 6;

/** A schema without references, parts to be put together, and `null` among its types. */
export function plainSchema(schema: JsonSchema, root: JsonSchema): { schema: JsonSchema; nullable: boolean } {
  return withoutNull(joinParts(resolve(schema, root), root), root);
}

/** `T | null` is a T that may be null. Any other union stays as it is. */
function withoutNull(schema: JsonSchema, root: JsonSchema): { schema: JsonSchema; nullable: boolean } {
  const { type, enum: choices } = schema;
  if (Array.isArray(type)) {
    const types = type.filter((name) => name !== "null");
    const nullable = types.length < type.length;
    const values = Array.isArray(choices) ? { enum: choices.filter((choice) => choice !== null) } : {};
    if (types.length === 1) return { schema: { ...schema, type: types[0], ...values }, nullable };
    const { type: _, ...rest } = schema;
    return { schema: { ...rest, anyOf: types.map((name) => ({ type: name })) }, nullable };
  }
  for (const key of ["anyOf", "oneOf"]) {
    const options = schema[key];
    if (!Array.isArray(options)) continue;
    const others = options.filter((option) => asSchema(option)?.["type"] !== "null");
    const nullable = others.length < options.length;
    const { [key]: _, ...rest } = schema;
    const only = others.length === 1 ? asSchema(others[0]) : undefined;
    if (only) return { schema: { ...joinParts(resolve(only, root), root), ...rest }, nullable };
    return { schema: { ...rest, [key]: others }, nullable };
  }
  return { schema, nullable: false };
}

/** `allOf` objects as one object. */
function joinParts(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const { allOf, ...rest } = schema;
  if (!Array.isArray(allOf) || allOf.length === 0) return schema;
  const parts = [rest, ...allOf.map((part) => resolve(asSchema(part) ?? {}, root))];
  const joined: JsonSchema = Object.assign({}, ...parts.toReversed());
  const properties = Object.assign({}, ...parts.map((part) => asSchema(part["properties"])));
  const required = parts.flatMap((part) => (Array.isArray(part["required"]) ? part["required"] : []));
  if (Object.keys(properties).length === 0) return joined;
  return { ...joined, type: "object", properties, required };
}

function resolve(schema: JsonSchema, root: JsonSchema, hops = 0): JsonSchema {
  const { $ref, ...rest } = schema;
  if (typeof $ref !== "string" || hops > MAX_HOPS) return schema;
  const found = $ref.startsWith("#")
    ? $ref
        .slice(1)
        .split("/")
        .filter(Boolean)
        .reduce<unknown>((at, part) => asSchema(at)?.[part.replaceAll("~1", "/").replaceAll("~0", "~")], root)
    : undefined;
  return isSchema(found) ? { ...resolve(found, root, hops + 1), ...rest } : rest;
}

export function asSchema(value: unknown): JsonSchema | undefined {
  return isSchema(value) ? value : undefined;
}

export function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
