import { AgentError } from "../errors.ts";
import type { ModelCallOptions, ModelConfig } from "./model.ts";
import { type CompiledSchema, compileSchema } from "../schema/compile-schema.ts";
import type { JsonSchema, Schema } from "../schema/schema.ts";
import { showIssues } from "../schema/show-issues.ts";

export interface StructuredOutputOptions<Output extends Schema | undefined = any> {
  schema: Output;
  /** A second model that turns the text answer into the object. */
  model?: ModelConfig;
  instructions?: string;
  /** What to do with an invalid answer: fail, leave `object` undefined, or use `fallbackValue`. */
  errorStrategy?: "strict" | "warn" | "fallback";
  fallbackValue?: unknown;
  /** Describe the schema in the prompt, for models without a JSON mode. */
  jsonPromptInjection?: boolean;
  /** For the second model. */
  providerOptions?: ModelCallOptions["providerOptions"];
}

/** An expected structured answer: the instructions for the model, and how its text is parsed. */
export class ObjectFormat {
  readonly options: StructuredOutputOptions;
  /** With `output`, the structured answer is the only output: tools are off. */
  readonly exclusive: boolean;
  readonly #schema: CompiledSchema;
  /** Models answer with objects; any other root type is wrapped in one. */
  readonly #wrapped: boolean;

  constructor(options: StructuredOutputOptions, exclusive: boolean) {
    this.options = options;
    this.exclusive = exclusive;
    this.#schema = compileSchema(options.schema);
    const { type, properties } = this.#schema.jsonSchema;
    this.#wrapped = type !== "object" && properties === undefined;
  }

  get isArray(): boolean {
    return this.#schema.jsonSchema["type"] === "array";
  }

  /** The schema the model receives. */
  get jsonSchema(): JsonSchema {
    if (!this.#wrapped) return this.#schema.jsonSchema;
    // References are paths from the root, so their targets stay there.
    const { $schema, $defs, definitions, ...value } = this.#schema.jsonSchema;
    return {
      ...($schema !== undefined && { $schema }),
      type: "object",
      properties: { value },
      required: ["value"],
      additionalProperties: false,
      ...($defs !== undefined && { $defs }),
      ...(definitions !== undefined && { definitions }),
    };
  }

  get prompt(): string {
    const asked = this.options.instructions ? `${this.options.instructions}\n\n` : "";
    return `${asked}Answer with one JSON value that matches this JSON Schema, and nothing else:\n${JSON.stringify(this.jsonSchema)}`;
  }

  unwrap(value: unknown): unknown {
    if (!this.#wrapped || typeof value !== "object" || value === null || Array.isArray(value)) return value;
    // Models that were asked in the AI SDK's way call a list "elements".
    const key = this.isArray && !Object.hasOwn(value, "value") ? "elements" : "value";
    return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
  }

  /** The finished answer, validated against the schema. */
  async parse(text: string): Promise<unknown> {
    let value: unknown;
    try {
      value = this.unwrap(JSON.parse(stripFence(text)));
    } catch (cause) {
      const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
      throw new AgentError(
        "structured-output-invalid",
        `The model did not answer with JSON: ${JSON.stringify(shown)}.`,
        { cause },
      );
    }
    const checked = await this.#schema.validate(value);
    if (checked.ok) return checked.value;
    const list = showIssues(checked.issues, "value");
    throw new AgentError(
      "structured-output-invalid",
      `The model's answer does not match the schema: ${list}`,
      {
        details: { issues: checked.issues, text },
      },
    );
  }
}

/**
 * Reads an object while its JSON is still arriving. Parsing at every chunk would be quadratic in the length of the
 * answer, so after the first kilobytes it waits until the text has grown by a twentieth.
 */
export class PartialObjectReader {
  #text = "";
  #parsedAt = 0;
  #parse: ((text: string) => unknown) | undefined;

  async add(delta: string): Promise<{ value: unknown } | undefined> {
    this.#text += delta;
    if (this.#text.length > EAGER_LENGTH && this.#text.length < this.#parsedAt * GROWTH) return undefined;
    this.#parsedAt = this.#text.length;
    this.#parse ??= (await import("partial-json")).parse;
    try {
      return { value: this.#parse(stripFence(this.#text)) };
    } catch {
      return undefined; // Not JSON yet.
    }
  }
}

const EAGER_LENGTH = 2048;
const GROWTH = 1.05;

function stripFence(text: string): string {
  const trimmed = text.trim();
  if (!trimmed.startsWith("```")) return trimmed;
  const body = trimmed.slice(trimmed.indexOf("\n") + 1);
  return body.endsWith("```") ? body.slice(0, -3) : body;
}
