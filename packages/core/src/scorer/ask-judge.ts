import { AgentError } from "../errors.ts";
import { askModel } from "../model/ask-model.ts";
import type { ModelConfig } from "../model/model.ts";
import { ObjectFormat } from "../model/structured-output.ts";
import type { Schema } from "../schema/schema.ts";

/** The model that answers the prompts of a scorer. */
export interface ScorerJudge {
  model: ModelConfig;
  instructions: string;
  /** Describe the answer in the prompt, for models without a JSON mode. */
  jsonPromptInjection?: boolean | "system" | "inline" | "auto";
}

/** An answer that does not fit is asked for once more, with what was wrong. */
const ATTEMPTS = 2;

/** The judge's answer: a text, or a value that fits the schema. */
export async function askJudge(
  scorer: string,
  { model, instructions, jsonPromptInjection }: Partial<ScorerJudge>,
  prompt: string,
  schema: Schema | undefined,
): Promise<unknown> {
  if (!model)
    throw new AgentError(
      "invalid-argument",
      `Scorer "${scorer}" asks a model, but has none. Pass judge: { model, instructions }.`,
    );
  if (!schema) return askModel(model, { ...(instructions && { system: instructions }), prompt });
  const isInjected = jsonPromptInjection !== undefined && !["auto", false].includes(jsonPromptInjection);
  const format = new ObjectFormat({ schema }, true);
  let asked = isInjected ? `${prompt}\n\n${format.prompt}` : prompt;
  for (let attempt = 1; ; attempt++) {
    const text = await askModel(model, {
      ...(instructions && { system: instructions }),
      prompt: asked,
      ...(!isInjected && { responseFormat: { type: "json", schema: format.jsonSchema as never } }),
    });
    try {
      return await format.parse(text);
    } catch (error) {
      if (attempt === ATTEMPTS || !AgentError.is(error)) throw error;
      asked = `${prompt}\n\n${format.prompt}\n\nYour last answer was not usable: ${error.message}`;
    }
  }
}
