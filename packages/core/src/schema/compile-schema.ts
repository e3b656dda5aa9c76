import { isObject } from "@selvedge/protocol";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { AgentError, showValue } from "../errors.ts";
import { convertZod, isZod } from "./convert-zod.ts";
import { quickCheck } from "./quick-check.ts";
import type { JsonSchema, Schema, SchemaIssue, Validation } from "./schema.ts";

/** A schema in the two forms the runtime needs. Both are created on first use and cached. */
export interface CompiledSchema {
  /** For the model. */
  readonly jsonSchema: JsonSchema;
  validate(value: unknown): Promise<Validation<unknown>> | Validation<unknown>;
}

interface JsonSchemaConverter {
  input(options: { target: string }): Record<string, unknown>;
}

/** An AI SDK `jsonSchema()` wrapper. */
interface WrappedJsonSchema {
  jsonSchema: JsonSchema | PromiseLike<JsonSchema>;
  validate?: (value: unknown) => unknown;
}

export function compileSchema(schema: Schema): CompiledSchema {
  if (isStandard(schema)) return compileStandard(schema);
  if (isWrapped(schema)) return compilePlain(schema.jsonSchema as JsonSchema);
  // zod before 3.24 is not a Standard Schema and would pass for a JSON Schema without rules.
  if (isZod(schema)) return compileOlderZod(schema as unknown as OlderZod);
  if (isObject(schema)) return compilePlain(schema as JsonSchema);
  throw new AgentError(
    "invalid-schema",
    `Expected a Standard Schema or a JSON Schema object, got ${showValue(schema)}.`,
  );
}

function compileStandard(schema: StandardSchemaV1): CompiledSchema {
  const standard = schema["~standard"] as StandardSchemaV1.Props & { jsonSchema?: JsonSchemaConverter };
  let json: JsonSchema | undefined;
  return {
    get jsonSchema() {
      if (json) return json;
      checkConvertible(schema);
      try {
        json = standard.jsonSchema?.input({ target: "draft-07" }) ?? convertZod(schema as object);
      } catch (cause) {
        throw new AgentError(
          "invalid-schema",
          `This ${standard.vendor} schema has no JSON Schema form: ${String(cause)}`,
          { cause },
        );
      }
      return json;
    },
    validate(value) {
      const result = standard.validate(value);
      return result instanceof Promise ? result.then(fromStandard) : fromStandard(result);
    },
  };
}

/** zod before 3.24. */
interface OlderZod {
  safeParseAsync(
    value: unknown,
  ): Promise<{ success: true; data: unknown } | { success: false; error: { issues: SchemaIssue[] } }>;
}

function compileOlderZod(schema: OlderZod): CompiledSchema {
  let json: JsonSchema | undefined;
  return {
    get jsonSchema() {
      return (json ??= convertZod(schema as object));
    },
    async validate(value) {
      const result = await schema.safeParseAsync(value);
      return result.success
        ? { ok: true, value: result.data }
        : { ok: false, issues: result.error.issues.map(({ path, message }) => ({ path, message })) };
    },
  };
}

/** Refuses a schema that can never be shown to a model. */
export function checkConvertible(schema: unknown, place = ""): void {
  if (!isStandard(schema as Schema) || isZod(schema)) return;
  const standard = (schema as StandardSchemaV1)["~standard"] as { vendor: string; jsonSchema?: unknown };
  if (!standard.jsonSchema) throw missingConverter(standard.vendor, place);
}

function compilePlain(jsonSchema: JsonSchema): CompiledSchema {
  let loading: Promise<(value: unknown) => Validation<unknown>> | undefined;
  let loaded: ((value: unknown) => Validation<unknown>) | undefined;
  let fits: ((value: unknown) => boolean) | undefined;
  return {
    jsonSchema,
    validate: (value) => {
      if (loaded) return fits?.(value) ? { ok: true, value } : loaded(value);
      // The general validator is always created: it reports errors in the schema.
      loading ??= plainValidator(jsonSchema);
      return loading.then((validator) => {
        fits = quickCheck(jsonSchema);
        return (loaded = validator)(value);
      });
    },
  };
}

const MISSING = "Required, but nothing was given";

// Loaded when the first plain JSON Schema is used; most tools have a Standard Schema.
async function plainValidator(jsonSchema: JsonSchema): Promise<(value: unknown) => Validation<unknown>> {
  const { Validator } = await import("@cfworker/json-schema");
  const validator = usable(
    () => new Validator(jsonSchema as ConstructorParameters<typeof Validator>[0], "2020-12", false),
  ) as InstanceType<typeof Validator>;
  return (value) => {
    const result = usable(() => validator.validate(value));
    if (typeof result === "string")
      return { ok: false, issues: [{ path: [], message: value === undefined ? MISSING : result }] };
    if (result.valid) return { ok: true, value };
    // The outer errors only report that an inner one failed.
    const leaves = result.errors.filter((error) => !["properties", "items", "$ref"].includes(error.keyword));
    return {
      ok: false,
      issues: (leaves.length > 0 ? leaves : result.errors).map((error) => ({
        path: error.instanceLocation.split("/").slice(1),
        message: error.keyword === "false" ? "There is no such property." : error.error,
      })),
    };
  };
}

/**
 * The validator throws on an error in the schema: when it is created, or with the first value that reaches it. It also
 * throws for a value JSON cannot represent; that is not the schema's fault, so it is returned.
 */
function usable<Result>(use: () => Result): Result | string {
  try {
    return use();
  } catch (cause) {
    const [reason = ""] = (cause instanceof Error ? cause.message : String(cause)).split("\n");
    if (reason.startsWith("Instances of ")) return reason;
    throw new AgentError("invalid-schema", `This JSON Schema cannot be used: ${reason.slice(0, 150)}`, {
      cause,
    });
  }
}

function fromStandard(result: StandardSchemaV1.Result<unknown>): Validation<unknown> {
  if (!result.issues) return { ok: true, value: result.value };
  return { ok: false, issues: result.issues.map(toIssue) };
}

function toIssue(issue: StandardSchemaV1.Issue): SchemaIssue {
  // A path may be a library-specific array; ours is a plain one.
  const path = Array.from(issue.path ?? [], (segment) => {
    const key = typeof segment === "object" ? segment.key : segment;
    return typeof key === "number" ? key : String(key);
  });
  return { path, message: issue.message };
}

function isStandard(schema: Schema): schema is StandardSchemaV1 {
  return (
    (typeof schema === "object" || typeof schema === "function") && schema !== null && "~standard" in schema
  );
}

function isWrapped(schema: unknown): schema is WrappedJsonSchema {
  const wrapped = schema as Partial<WrappedJsonSchema> | null;
  return typeof wrapped?.jsonSchema === "object" && wrapped.jsonSchema !== null && "validate" in wrapped;
}

function missingConverter(vendor: string, place: string): AgentError {
  const remedy =
    vendor === "valibot"
      ? "Wrap it with toStandardJsonSchema() of @valibot/to-json-schema."
      : "Use a version that implements Standard JSON Schema, or pass a plain JSON Schema.";
  return new AgentError(
    "invalid-schema",
    `${place}A model needs a JSON Schema, but this ${vendor} schema cannot be converted to one. ${remedy}`,
  );
}
