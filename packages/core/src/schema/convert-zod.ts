import type { JsonSchema } from "./schema.ts";

/** A zod schema of any version, as far as it matters here. */
interface AnyZod {
  _zod?: unknown;
  _def?: { typeName?: unknown };
}

/** Whether this is a schema of zod 3 or 4, including releases that are not Standard Schemas. */
export function isZod(schema: unknown): schema is AnyZod {
  const { _zod, _def } = Object(schema) as AnyZod;
  return _zod !== undefined || typeof _def?.typeName === "string";
}

/** Converts a schema of a zod that cannot do it itself: zod 3, and zod 4 before 4.2. */
export function convertZod(schema: AnyZod): JsonSchema {
  const { $schema: _, ...json } = schema._zod === undefined ? convertZod3(schema) : convertZod4(schema);
  return json;
}

function convertZod3(schema: AnyZod): JsonSchema {
  const { zodToJsonSchema } = load("zod-to-json-schema") as {
    zodToJsonSchema(schema: AnyZod, options: object): JsonSchema;
  };
  return zodToJsonSchema(schema, { $refStrategy: "root", effectStrategy: "input" });
}

function convertZod4(schema: AnyZod): JsonSchema {
  const { toJSONSchema } = load("zod/v4/core") as {
    toJSONSchema(schema: AnyZod, options: object): JsonSchema;
  };
  return toJSONSchema(schema, { target: "draft-7", io: "input" });
}

// Synchronously, because a schema is converted where it is first used; and only then, because most never are.
function load(name: string): unknown {
  const { createRequire } = process.getBuiltinModule("node:module");
  return createRequire(import.meta.url)(name);
}
