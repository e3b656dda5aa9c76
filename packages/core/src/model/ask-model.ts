import type { FileMessagePart, ProviderMetadata, Usage } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import { filePart } from "../message/user-content.ts";
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
import { NO_USAGE, toUsage } from "./usage.ts";

export interface AskModelOptions extends ModelSettings {
  system?: string;
  prompt: string;
  /** Files that go with the prompt. */
  attachments?: readonly FileMessagePart[];
  abortSignal?: AbortSignal | undefined;
  providerOptions?: ModelCallOptions["providerOptions"];
  /** Requests JSON, in the model's own format. */
  responseFormat?: ModelCallOptions["responseFormat"];
  limits?: Partial<ModelLimits>;
  clock?: System;
}

export interface ModelAnswer {
  text: string;
  usage: Usage;
  providerMetadata?: ProviderMetadata | undefined;
  /** The model that answered, as `provider/model`. */
  model: string;
}

/** Asks for one text answer, without tools or memory: for titles and the like. Retries and falls back like a run. */
export async function askModel(config: ModelConfig, options: AskModelOptions): Promise<string> {
  return (await askModelWithUsage(config, options)).text;
}

/** The same, with what it cost. */
export async function askModelWithUsage(config: ModelConfig, options: AskModelOptions): Promise<ModelAnswer> {
  const { system, prompt, attachments = [], abortSignal, providerOptions, responseFormat, ...more } = options;
  const { limits, clock, ...settings } = more;
  const call: ModelCallOptions = {
    prompt: [
      ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
      { role: "user", content: [{ type: "text", text: prompt }, ...attachments.map(filePart)] },
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
  const answer: ModelAnswer = { text: "", usage: NO_USAGE, model: modelName(reply.candidate.model) };
  let finished = false;
  try {
    await reply.each((part) => {
      if (part.type === "text-delta") answer.text += part.delta;
      else if (part.type === "finish") {
        finished = true;
        answer.usage = toUsage(part.usage);
        answer.providerMetadata = part.providerMetadata as ProviderMetadata | undefined;
      } else if (part.type === "error") throw failed(reply.candidate, part.error);
    });
  } finally {
    reply.cancel();
  }
  if (finished) return answer;
  throw new AgentError("model-incomplete", `The reply from ${answer.model} was cut off.`);
}

function failed(candidate: ModelCandidate, cause: unknown): AgentError {
  const reason = failureReason(cause, candidate);
  return new AgentError("model-failed", `${modelName(candidate.model)} failed during its reply: ${reason}`, {
    cause,
  });
}
