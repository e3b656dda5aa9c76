import type { StandardSchemaV1 } from "@standard-schema/spec";

/** A JSON Schema, as a plain object. */
export type JsonSchema = { readonly [key: string]: unknown };

/** Any Standard Schema (zod 4, arktype, valibot through its converter …) or a plain JSON Schema. */
export type Schema<Input = any, Output = any> = StandardSchemaV1<Input, Output> | JsonSchema;

/** The parsed type of a schema. A plain JSON Schema has no static type. */
export type InferOutput<S> = S extends StandardSchemaV1<any, infer Output> ? Output : any;
export type InferInput<S> = S extends StandardSchemaV1<infer Input, any> ? Input : any;

export interface SchemaIssue {
  path: (string | number)[];
  message: string;
}

export type Validation<Value> = { ok: true; value: Value } | { ok: false; issues: SchemaIssue[] };
