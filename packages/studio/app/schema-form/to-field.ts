export type JsonSchema = Record<string, unknown>;

interface FieldBase {
  title?: string;
  description?: string;
  /** The value a fresh form shows. */
  initial: unknown;
}

/** What a form shows for a schema. What has no control of its own is written as JSON. */
export type Field = FieldBase &
  (
    | {
        kind: "text";
        format?: string;
        minLength?: number;
        maxLength?: number;
        pattern?: string;
        long: boolean;
      }
    | { kind: "number"; step: number | "any"; minimum?: number; maximum?: number }
    | { kind: "boolean" }
    | { kind: "choice"; choices: readonly unknown[] }
    | { kind: "object"; properties: { name: string; field: Field; required: boolean }[] }
    | { kind: "list"; item: Field }
    | { kind: "json" }
  );

const MAX_DEPTH = 6;
const LONG_TEXT = 200;

export function toField(
  schema: JsonSchema | undefined,
  root: JsonSchema | undefined = schema,
  depth = 0,
): Field {
  const resolved = withoutNull(resolve(schema ?? {}, root ?? {}));
  const base = {
    ...(typeof resolved["title"] === "string" && { title: resolved["title"] }),
    ...(typeof resolved["description"] === "string" && { description: resolved["description"] }),
  };
  const given = resolved["default"];
  const choices = resolved["enum"] ?? ("const" in resolved ? [resolved["const"]] : undefined);
  if (Array.isArray(choices) && choices.length > 0) {
    return {
      ...base,
      kind: "choice",
      choices,
      initial: given ?? (choices.length === 1 ? choices[0] : undefined),
    };
  }
  if (depth > MAX_DEPTH) return { ...base, kind: "json", initial: given };
  switch (resolved["type"]) {
    case "string":
      return { ...base, kind: "text", ...textLimits(resolved), initial: given ?? "" };
    case "integer":
    case "number":
      return { ...base, kind: "number", ...numberLimits(resolved), initial: given };
    case "boolean":
      return { ...base, kind: "boolean", initial: given ?? false };
    case "array":
      return {
        ...base,
        kind: "list",
        item: toField(asSchema(resolved["items"]), root, depth + 1),
        initial: given ?? [],
      };
    case "object": {
      if (!isSchema(resolved["properties"])) return { ...base, kind: "json", initial: given ?? {} };
      const required = new Set(Array.isArray(resolved["required"]) ? resolved["required"] : []);
      const properties = Object.entries(resolved["properties"]).map(([name, child]) => ({
        name,
        field: toField(asSchema(child), root, depth + 1),
        required: required.has(name),
      }));
      return { ...base, kind: "object", properties, initial: given ?? initialObject(properties) };
    }
    default:
      return { ...base, kind: "json", initial: given };
  }
}

/** The value as it is sent: optional fields that were left empty are left out. */
export function toInput(field: Field, value: unknown): unknown {
  if (field.kind === "list") {
    return Array.isArray(value) ? value.map((item) => toInput(field.item, item)) : value;
  }
  if (field.kind !== "object" || !isSchema(value)) return value;
  const input: Record<string, unknown> = {};
  for (const { name, field: child, required } of field.properties) {
    const entry = toInput(child, value[name]);
    if (required ? entry !== undefined : !isBlank(entry)) input[name] = entry;
  }
  return input;
}

function initialObject(properties: { name: string; field: Field }[]): Record<string, unknown> {
  return Object.fromEntries(properties.map(({ name, field }) => [name, field.initial]));
}

function isBlank(value: unknown): boolean {
  if (value === undefined || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isSchema(value) && Object.keys(value).length === 0;
}

function textLimits(schema: JsonSchema): Omit<Extract<Field, { kind: "text" }>, keyof FieldBase | "kind"> {
  const { format, minLength, maxLength, pattern } = schema;
  return {
    ...(typeof format === "string" && { format }),
    ...(typeof minLength === "number" && { minLength }),
    ...(typeof maxLength === "number" && { maxLength }),
    ...(typeof pattern === "string" && { pattern }),
    long: format === undefined && (typeof maxLength !== "number" || maxLength > LONG_TEXT),
  };
}

function numberLimits(
  schema: JsonSchema,
): Omit<Extract<Field, { kind: "number" }>, keyof FieldBase | "kind"> {
  const { minimum, maximum, multipleOf } = schema;
  const whole = schema["type"] === "integer";
  return {
    step: typeof multipleOf === "number" ? multipleOf : whole ? 1 : "any",
    ...(typeof minimum === "number" && { minimum }),
    ...(typeof maximum === "number" && { maximum }),
  };
}

/** `T | null` is an optional T. Any other union stays as it is. */
function withoutNull(schema: JsonSchema): JsonSchema {
  const { type, anyOf, ...rest } = schema;
  if (Array.isArray(type)) {
    const types = type.filter((name) => name !== "null");
    return types.length === 1 ? { ...schema, type: types[0] } : { ...schema, type: undefined };
  }
  if (Array.isArray(anyOf)) {
    const others = anyOf.filter((option) => asSchema(option)?.["type"] !== "null");
    const only = others.length === 1 ? asSchema(others[0]) : undefined;
    if (only) return { ...only, ...rest };
  }
  return schema;
}

function resolve(schema: JsonSchema, root: JsonSchema, hops = 0): JsonSchema {
  const { $ref, ...rest } = schema;
  if (typeof $ref !== "string" || hops > MAX_DEPTH) return schema;
  const found = $ref.startsWith("#")
    ? $ref
        .slice(1)
        .split("/")
        .filter(Boolean)
        .reduce<unknown>((at, part) => asSchema(at)?.[part.replaceAll("~1", "/").replaceAll("~0", "~")], root)
    : undefined;
  return isSchema(found) ? { ...resolve(found, root, hops + 1), ...rest } : rest;
}

function asSchema(value: unknown): JsonSchema | undefined {
  return isSchema(value) ? value : undefined;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
