import { AgentError } from "../errors.ts";
import type { ModelConfig } from "../model/model.ts";
import type { StructuredOutputOptions } from "../model/structured-output.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import type { Schema } from "../schema/schema.ts";
import { OptionChecks } from "./option-checks.ts";
import type { Processor } from "./processor.ts";

export interface StructuredOutputProcessorOptions extends StructuredOutputOptions {
  schema: Schema;
  /** Turns the answer into the object. */
  model: ModelConfig;
  /** Only `false` is supported. */
  useAgent?: boolean;
}

/** Uses a second model to turn the finished answer into an object: the option `structuredOutput` as a processor. */
export class StructuredOutputProcessor implements Processor {
  readonly id = "structured-output";
  readonly structuredOutput: StructuredOutputOptions;

  constructor(options: StructuredOutputProcessorOptions) {
    const check = new OptionChecks("StructuredOutputProcessor");
    const { useAgent = false, ...structuredOutput } = options ?? {};
    const { schema, model, errorStrategy = "strict" } = structuredOutput;
    if (schema === undefined) check.refuse("schema", schema, "a schema");
    compileSchema(schema);
    if (!model) check.refuse("model", model, "a model");
    check.oneOf("errorStrategy", errorStrategy, ["strict", "warn", "fallback"]);
    if (check.boolean("useAgent", useAgent))
      throw new AgentError(
        "not-supported",
        "`useAgent` of StructuredOutputProcessor is not supported. Leave it out: `model` gets the whole answer.",
      );
    this.structuredOutput = structuredOutput as StructuredOutputOptions;
  }
}
