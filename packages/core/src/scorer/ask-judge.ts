import type { Usage } from "@selvedge/protocol";
import { AgentError, errorMessage } from "../errors.ts";
import { askModelWithUsage, type ModelAnswer } from "../model/ask-model.ts";
import type { ModelConfig } from "../model/model.ts";
import { ObjectFormat } from "../model/structured-output.ts";
import type { Schema } from "../schema/schema.ts";
import { realSystem } from "../system.ts";

/** The model that answers the prompts of a scorer. */
export interface ScorerJudge {
  model: ModelConfig;
  instructions: string;
  /** Describe the answer in the prompt, for models without a JSON mode. */
  jsonPromptInjection?: boolean | "system" | "inline" | "auto";
}

/** One question to a judge, with what became of it. */
export interface JudgeExecution {
  status: "success" | "failed";
  prompt: string;
  judgeModelId?: string;
  judgeProvider?: string;
  /** How often the judge was asked. */
  attemptCount: number;
  modelCallCount: number;
  durationMs: number;
  output?: unknown;
  /** The text of the last answer. */
  rawOutput?: string;
  usage?: Usage;
  error?: string;
}

/** An answer that does not fit is asked for once more, with what was wrong. */
const ATTEMPTS = 2;

/**
 * The judge's answer: a text, or a value that fits the schema. `note` is called once, with what happened, also if this
 * rejects.
 */
export async function askJudge(
  scorer: string,
  judge: Partial<ScorerJudge>,
  prompt: string,
  schema: Schema | undefined,
  note: (execution: JudgeExecution) => void,
): Promise<unknown> {
  const { model } = judge;
  if (!model)
    throw new AgentError(
      "invalid-argument",
      `Scorer "${scorer}" asks a model, but has none. Pass judge: { model, instructions }.`,
    );
  const startedAt = realSystem.now();
  const asked: JudgeExecution = {
    status: "failed",
    prompt,
    attemptCount: 0,
    modelCallCount: 0,
    durationMs: 0,
  };
  const ask: Ask = async (options) => {
    asked.attemptCount++;
    asked.modelCallCount++;
    const { instructions } = judge;
    const answer = await askModelWithUsage(model, {
      ...(instructions && { system: instructions }),
      ...options,
    });
    const [provider, ...id] = answer.model.split("/");
    Object.assign(asked, {
      ...(id.length > 0 && { judgeProvider: provider }),
      judgeModelId: id.join("/") || answer.model,
      rawOutput: answer.text,
      usage: sum(asked.usage, answer.usage),
    });
    return answer.text;
  };
  try {
    const output = schema ? await askForValue(ask, judge, prompt, schema) : await ask({ prompt });
    note({ ...asked, status: "success", output, durationMs: realSystem.now() - startedAt });
    return output;
  } catch (error) {
    note({ ...asked, error: errorMessage(error), durationMs: realSystem.now() - startedAt });
    throw error;
  }
}

type Ask = (options: Omit<Parameters<typeof askModelWithUsage>[1], "system">) => Promise<string>;

async function askForValue(
  ask: Ask,
  { jsonPromptInjection }: Partial<ScorerJudge>,
  prompt: string,
  schema: Schema,
): Promise<unknown> {
  const isInjected = jsonPromptInjection !== undefined && !["auto", false].includes(jsonPromptInjection);
  const format = new ObjectFormat({ schema }, true);
  let question = isInjected ? `${prompt}\n\n${format.prompt}` : prompt;
  for (let attempt = 1; ; attempt++) {
    const text = await ask({
      prompt: question,
      ...(!isInjected && { responseFormat: { type: "json", schema: format.jsonSchema as never } }),
    });
    try {
      return await format.parse(text);
    } catch (error) {
      if (attempt === ATTEMPTS || !AgentError.is(error)) throw error;
      question = `${prompt}\n\n${format.prompt}\n\nYour last answer was not usable: ${error.message}`;
    }
  }
}

function sum(before: Usage | undefined, usage: ModelAnswer["usage"]): Usage {
  if (!before) return usage;
  const total: Record<string, unknown> = { ...before };
  for (const [name, count] of Object.entries(usage))
    total[name] = typeof count === "number" ? Number(total[name] ?? 0) + count : count;
  return total as unknown as Usage;
}
