import { type JsonSchema, asSchema, isSchema, plainSchema } from "./plain-schema.ts";

export type { JsonSchema } from "./plain-schema.ts";

interface FieldBase {
  title?: string;
  description?: string;
  /** `null` is a value, and what an empty entry means where something is required. */
  nullable?: true;
  /** The value a fresh form shows. */
  initial: unknown;
}

interface Property {
  name: string;
  field: Field;
  required: boolean;
}

/** What a form shows for a schema. What has no control of its own is written as JSON. */
export type Field = FieldBase &
  (
    | {
        kind: "text";
        input: "text" | "email" | "url" | "date" | "long";
        /** What a text of this kind looks like, where the browser has no entry for it. */
        example?: string;
        minLength?: number;
        maxLength?: number;
        pattern?: string;
      }
    | { kind: "number"; step: number | "any"; minimum?: number; maximum?: number }
    | { kind: "boolean" }
    | { kind: "choice"; choices: readonly unknown[] }
    | { kind: "object"; properties: Property[] }
    | { kind: "list"; item: Field; minItems: number; maxItems?: number }
    | { kind: "variant"; options: { label: string; field: Field }[] }
    | { kind: "json" }
  );

type Rest<Kind extends Field["kind"]> = Omit<Extract<Field, { kind: Kind }>, keyof FieldBase | "kind">;

const MAX_DEPTH = 6;
const MAX_OPTIONS = 12;
const LONG_TEXT = 200;
/** More would be a wall of empty entries. */
const MAX_INITIAL_ITEMS = 5;
const INPUTS: Readonly<Record<string, "email" | "url" | "date">> = {
  email: "email",
  uri: "url",
  date: "date",
};
const EXAMPLES: Readonly<Record<string, string>> = {
  "date-time": "2026-01-31T12:00:00Z",
  time: "12:00:00",
  duration: "PT15M",
  uuid: "00000000-0000-4000-8000-000000000000",
  ipv4: "192.0.2.1",
};

export function toField(
  schema: JsonSchema | undefined,
  root: JsonSchema | undefined = schema,
  depth = 0,
): Field {
  const { nullable, schema: plain } = plainSchema(schema ?? {}, root ?? {});
  const base = {
    ...(typeof plain["title"] === "string" && { title: plain["title"] }),
    ...(typeof plain["description"] === "string" && { description: plain["description"] }),
    ...(nullable && { nullable: true as const }),
  };
  const given = plain["default"];
  const choices = plain["enum"] ?? ("const" in plain ? [plain["const"]] : undefined);
  if (Array.isArray(choices) && choices.length > 0) {
    const only = choices.length === 1 ? choices[0] : undefined;
    return { ...base, kind: "choice", choices, initial: given ?? only };
  }
  if (depth > MAX_DEPTH) return { ...base, kind: "json", initial: given };
  const alternatives = plain["oneOf"] ?? plain["anyOf"];
  if (Array.isArray(alternatives) && alternatives.length <= MAX_OPTIONS) {
    const options = alternatives.map((option, index) => {
      const field = toField(asSchema(option), root, depth + 1);
      return { label: field.title ?? labelOf(field, index), field };
    });
    return { ...base, kind: "variant", options, initial: given ?? options[0]?.field.initial };
  }
  switch (plain["type"]) {
    case "string":
      return { ...base, kind: "text", ...textLimits(plain), initial: given ?? "" };
    case "integer":
    case "number":
      return { ...base, kind: "number", ...numberLimits(plain), initial: given };
    case "boolean":
      return { ...base, kind: "boolean", initial: given };
    case "array": {
      // Places with meanings of their own are no list of equals.
      if (!isSchema(plain["items"])) return { ...base, kind: "json", initial: given };
      const item = toField(plain["items"], root, depth + 1);
      const limits = listLimits(plain);
      const count = Math.min(limits.minItems, MAX_INITIAL_ITEMS);
      const initial = given ?? Array.from({ length: count }, () => item.initial);
      return { ...base, kind: "list", item, ...limits, initial };
    }
    case "object": {
      if (!isSchema(plain["properties"])) return { ...base, kind: "json", initial: given };
      const required = new Set(Array.isArray(plain["required"]) ? plain["required"] : []);
      const properties = Object.entries(plain["properties"]).map(([name, child]) => ({
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

/** Whether a field may be left out as a whole, and so begins absent. */
export function isOptionalGroup(field: Field, required: boolean): boolean {
  if (required) return false;
  if (field.kind === "variant") return true;
  return field.kind === "object" && field.properties.length > 0;
}

/** The option of a variant that a value is of; the first one when it is of none. */
export function optionOf(field: Extract<Field, { kind: "variant" }>, value: unknown): number {
  return Math.max(
    0,
    field.options.findIndex((option) => fits(option.field, value)),
  );
}

/** The value as it is sent: optional fields that were left empty are left out. */
export function toInput(field: Field, value: unknown): unknown {
  switch (field.kind) {
    case "list":
      return Array.isArray(value) ? value.map((item) => toInput(field.item, item)) : value;
    case "variant":
      return toInput(field.options[optionOf(field, value)]!.field, value);
    case "object": {
      if (!isSchema(value)) return value;
      const input: Record<string, unknown> = {};
      for (const { name, field: child, required } of field.properties) {
        const entry = toInput(child, value[name]);
        if (!required && isBlank(entry)) continue;
        if (required && child.nullable && isBlank(entry)) input[name] = null;
        else if (required && child.kind === "boolean") input[name] = entry ?? false;
        else if (entry !== undefined) input[name] = entry;
      }
      return input;
    }
    default:
      return value;
  }
}

/** By what tells the options apart: a constant property, or the kind of value. */
function fits(field: Field, value: unknown): boolean {
  switch (field.kind) {
    case "object":
      return (
        isSchema(value) &&
        field.properties.every(
          ({ name, field: child }) =>
            child.kind !== "choice" || value[name] === undefined || child.choices.includes(value[name]),
        ) &&
        Object.keys(value).every((key) => field.properties.some(({ name }) => name === key))
      );
    case "choice":
      return field.choices.includes(value);
    case "text":
      return typeof value === "string";
    case "number":
      return typeof value === "number";
    case "boolean":
      return typeof value === "boolean";
    case "list":
      return Array.isArray(value);
    case "variant":
      return field.options.some((option) => fits(option.field, value));
    case "json":
      return value !== undefined;
  }
}

function labelOf(field: Field, index: number): string {
  if (field.kind === "object") {
    const constant = field.properties.find(
      ({ field: child }) => child.kind === "choice" && child.choices.length === 1,
    );
    if (constant?.field.kind === "choice") return `${constant.name}: ${String(constant.field.choices[0])}`;
    return field.properties.map(({ name }) => name).join(", ") || `option ${index + 1}`;
  }
  if (field.kind === "choice") return field.choices.map(String).join(", ");
  return {
    text: "text",
    number: "number",
    boolean: "yes or no",
    list: "list",
    variant: "other",
    json: "JSON",
  }[field.kind];
}

function initialObject(properties: Property[]): Record<string, unknown> {
  const entries = properties.map(({ name, field, required }): [string, unknown] => {
    if (isOptionalGroup(field, required)) return [name, undefined];
    // An optional list does not begin with the items that it must have once it is there.
    if (field.kind === "list" && !required && field.minItems > 0) return [name, []];
    return [name, field.initial];
  });
  return Object.fromEntries(entries);
}

function isBlank(value: unknown): boolean {
  if (value === undefined || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isSchema(value) && Object.keys(value).length === 0;
}

function textLimits(schema: JsonSchema): Rest<"text"> {
  const { format, minLength, maxLength, pattern } = schema;
  const known = typeof format === "string" ? INPUTS[format] : undefined;
  const isLong = format === undefined && (typeof maxLength !== "number" || maxLength > LONG_TEXT);
  const example = typeof format === "string" ? EXAMPLES[format] : undefined;
  const whole = typeof pattern === "string" && !isLong && !known ? toWholePattern(pattern) : undefined;
  return {
    input: known ?? (isLong ? "long" : "text"),
    ...(example !== undefined && { example }),
    ...(typeof minLength === "number" && { minLength }),
    ...(typeof maxLength === "number" && { maxLength }),
    ...(whole !== undefined && { pattern: whole }),
  };
}

/** A form's pattern is for the whole text, a schema's for any part of it. One that a browser cannot read is left to the server. */
function toWholePattern(pattern: string): string | undefined {
  const whole = `.*(?:${pattern}).*`;
  try {
    return new RegExp(whole, "v").source === "" ? undefined : whole;
  } catch {
    return undefined;
  }
}

function numberLimits(schema: JsonSchema): Rest<"number"> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const isWhole = schema["type"] === "integer";
  const least = typeof exclusiveMinimum === "number" && isWhole ? exclusiveMinimum + 1 : minimum;
  const most = typeof exclusiveMaximum === "number" && isWhole ? exclusiveMaximum - 1 : maximum;
  return {
    step: typeof multipleOf === "number" ? multipleOf : isWhole ? 1 : "any",
    ...(typeof least === "number" && Math.abs(least) < Number.MAX_SAFE_INTEGER && { minimum: least }),
    ...(typeof most === "number" && Math.abs(most) < Number.MAX_SAFE_INTEGER && { maximum: most }),
  };
}

function listLimits({ minItems, maxItems }: JsonSchema): { minItems: number; maxItems?: number } {
  return {
    minItems: typeof minItems === "number" ? minItems : 0,
    ...(typeof maxItems === "number" && { maxItems }),
  };
}
