import { compileSchema, type JsonSchema, type Validation } from "@selvedge/core/tools";

/**
 * A server's input schema. The model sees exactly what the server wrote. During validation, `null` for an optional
 * property that cannot be null counts as absent, because models often send it.
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
  // Not enumerable, so that printing or sending the schema shows only the server's text.
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
