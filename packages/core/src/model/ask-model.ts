import { AgentError } from "../errors.ts";
import { realSystem, type System } from "../system.ts";
import { applySettings, candidateOptions } from "./candidate-options.ts";
import { failureReason } from "./failure-reason.ts";
import { modelName } from "./model-name.ts";
import {
  DEFAULT_MODEL_LIMITS,
  type ModelCallOptions,
  type ModelCandidate,
  type ModelConfig,
  type ModelLimits,
  type ModelSettings,
} from "./model.ts";
import { openModelReply } from "./open-model-reply.ts";
import { resolveModel } from "./resolve-model.ts";

export interface AskModelOptions extends ModelSettings {
  system?: string;
  prompt: string;
  abortSignal?: AbortSignal | undefined;
  providerOptions?: ModelCallOptions["providerOptions"];
  /** Requests JSON, in the model's own format. */
  responseFormat?: ModelCallOptions["responseFormat"];
  limits?: Partial<ModelLimits>;
  clock?: System;
}

/** Asks for one text answer, without tools or memory: for titles and the like. Retries and falls back like a run. */
export async function askModel(config: ModelConfig, options: AskModelOptions): Promise<string> {
  const { system, prompt, abortSignal, providerOptions, responseFormat, limits, clock, ...settings } =
    options;
  const call: ModelCallOptions = {
    prompt: [
      ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
      { role: "user", content: [{ type: "text", text: prompt }] },
    ],
    ...(providerOptions && { providerOptions }),
    ...(responseFormat && { responseFormat }),
  };
  applySettings(call, settings);
  const reply = await openModelReply(
    await resolveModel(config),
    (candidate) => candidateOptions(call, candidate),
    {
      limits: { ...DEFAULT_MODEL_LIMITS, ...limits },
      maxRetries: settings.maxRetries ?? 2,
      system: clock ?? realSystem,
      abortSignal,
    },
  );
  let text = "";
  let finished = false;
  try {
    await reply.each((part) => {
      if (part.type === "text-delta") text += part.delta;
      else if (part.type === "finish") finished = true;
      else if (part.type === "error") throw failed(reply.candidate, part.error);
    });
  } finally {
    reply.cancel();
  }
  if (finished) return text;
  throw new AgentError("model-incomplete", `The reply from ${modelName(reply.candidate.model)} was cut off.`);
}

function failed(candidate: ModelCandidate, cause: unknown): AgentError {
  const reason = failureReason(cause, candidate);
  return new AgentError("model-failed", `${modelName(candidate.model)} failed during its reply: ${reason}`, {
    cause,
  });
}
