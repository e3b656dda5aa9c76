import { AgentError } from "../errors.ts";
import { type CompiledSchema, compileSchema } from "../schema/compile-schema.ts";
import type { Schema, SchemaIssue, Validation } from "../schema/schema.ts";
import { showIssues } from "../schema/show-issues.ts";

/** In the details of the error: the name that programs for this API know it by. */
export const SCHEMA_MISMATCH = "WORKFLOW_SCHEMA_VALIDATION_FAILED";

/** The schemas of a workflow, compiled on first use. */
export class SchemaCache {
  readonly #compiled = new WeakMap<object, CompiledSchema>();

  /** Parses a value. Throws `invalid-argument` with every issue. Asynchronous only if the schema is. */
  check(schema: Schema | undefined, value: unknown, what: string): unknown {
    if (schema === undefined) return value;
    let compiled = this.#compiled.get(schema);
    if (!compiled) this.#compiled.set(schema, (compiled = compileSchema(schema)));
    const checked = compiled.validate(value);
    return checked instanceof Promise ? checked.then((late) => valueOf(late, what)) : valueOf(checked, what);
  }

  /** Checks some keys of an object. What the schema says about others does not count: they may be set later. */
  async checkKeys(
    schema: Schema | undefined,
    value: object,
    keys: readonly string[],
    what: string,
  ): Promise<void> {
    try {
      await this.check(schema, value, what);
    } catch (error) {
      if (!AgentError.is(error, "invalid-argument")) throw error;
      const issues = (error.details?.["issues"] ?? []) as SchemaIssue[];
      const own = issues.filter(({ path }) => keys.includes(String(path[0])));
      if (own.length > 0) throw mismatch(own, what);
    }
  }
}

function valueOf(checked: Validation<unknown>, what: string): unknown {
  if (checked.ok) return checked.value;
  throw mismatch(checked.issues, what);
}

function mismatch(issues: SchemaIssue[], what: string): AgentError {
  return new AgentError("invalid-argument", `Invalid ${what}: ${showIssues(issues, "value")}`, {
    details: { id: SCHEMA_MISMATCH, issues },
  });
}
