import { compileSchema, type JsonSchema, type Validation } from "@selvedge/core/tools";

/**
 * A server's input schema: to a model exactly what the server wrote. When input is checked against it, a `null` for a
 * property that is optional and cannot be null counts as absent, since models write it so.
 */
export function wireSchema(schema: JsonSchema): JsonSchema {
  const compiled = compileSchema(schema);
  const standard = {
    version: 1,
    vendor: "selvedge",
    jsonSchema: { input: () => schema, output: () => schema },
    validate: (value: unknown) => {
      const given = dropNulls(schema, value);
      const answer = (checked: Validation<unknown>) =>
        checked.ok ? { value: given } : { issues: checked.issues };
      const checked = compiled.validate(given);
      return checked instanceof Promise ? checked.then(answer) : answer(checked);
    },
  };
  // Not enumerable, so that whoever prints or sends the schema sees the server's words only.
  return Object.defineProperty({ ...schema }, "~standard", { value: standard, enumerable: false });
}

function dropNulls(schema: JsonSchema, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  if (!Object.values(value).includes(null)) return value;
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, { type?: unknown } | undefined>;
    required?: string[];
  };
  const kept = Object.entries(value).filter(([name, given]) => {
    const type = properties[name]?.type;
    return given !== null || typeof type !== "string" || type === "null" || required.includes(name);
  });
  return Object.fromEntries(kept);
}
