import { compileSchema } from "./compile-schema.ts";
import type { Schema, Validation } from "./schema.ts";

/** Parses a value with any accepted schema. */
export async function validate(schema: Schema, value: unknown): Promise<Validation<unknown>> {
  return compileSchema(schema).validate(value);
}
