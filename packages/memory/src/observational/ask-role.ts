import { AgentError } from "@selvedge/core/errors";
import type { System } from "@selvedge/core/memory";
import {
  candidateOptions,
  DEFAULT_MODEL_LIMITS,
  modelName,
  type ModelCallOptions,
  type ModelConfig,
  openModelReply,
  resolveModel,
} from "@selvedge/core/model";
import type { OmRoleConfig } from "./om-config.ts";
import type { OmUsage } from "./om-options.ts";
import type { RoleRequest } from "./role-prompts.ts";

export interface RoleAnswer {
  text: string;
  model: string;
  usage: OmUsage;
  providerMetadata: Record<string, unknown> | undefined;
}

/** Nobody waits for the work, but it must come to an end. */
const LIMITS = { firstChunkMs: 120_000, totalMs: 600_000 };

/** One answer of the observer or the reflector. Retries are the job's business: they have to survive this process. */
export async function askRole(
  model: ModelConfig,
  request: RoleRequest,
  role: Pick<OmRoleConfig, "modelSettings" | "providerOptions">,
  { system, abortSignal, schema }: { system: System; abortSignal: AbortSignal; schema?: object | undefined },
): Promise<RoleAnswer> {
  const { temperature, maxOutputTokens } = role.modelSettings;
  const call: ModelCallOptions = {
    prompt: [
      { role: "system", content: request.system },
      {
        role: "user",
        content: [
          { type: "text", text: request.prompt },
          ...request.attachments.map(({ data, mimeType, filename }) => ({
            type: "file" as const,
            data,
            mediaType: mimeType,
            ...(filename !== undefined && { filename }),
          })),
        ],
      },
    ] as ModelCallOptions["prompt"],
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(schema && { responseFormat: { type: "json" as const, schema: schema as never } }),
    ...(role.providerOptions && { providerOptions: role.providerOptions }),
  };
  const reply = await openModelReply(
    await resolveModel(model),
    (candidate) => candidateOptions(call, candidate),
    { limits: { ...DEFAULT_MODEL_LIMITS, ...LIMITS }, maxRetries: 0, system, abortSignal },
  );
  const name = modelName(reply.candidate.model);
  let text = "";
  let finished = false;
  let usage: OmUsage = {};
  let providerMetadata: Record<string, unknown> | undefined;
  try {
    await reply.each((part) => {
      if (part.type === "text-delta") text += part.delta;
      else if (part.type === "finish") {
        finished = true;
        const inputTokens = part.usage?.inputTokens?.total;
        const outputTokens = part.usage?.outputTokens?.total;
        usage = { inputTokens, outputTokens, totalTokens: (inputTokens ?? 0) + (outputTokens ?? 0) };
        providerMetadata = part.providerMetadata;
      } else if (part.type === "error")
        throw new AgentError("model-failed", `${name} failed during its reply.`, { cause: part.error });
    });
  } finally {
    reply.cancel();
  }
  if (finished) return { text, model: name, usage, providerMetadata };
  throw new AgentError("model-incomplete", `The reply from ${name} was cut off.`);
}
