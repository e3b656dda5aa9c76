import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelCandidate, ModelPart, ModelReply } from "../model.ts";
import { openModelReply, type OpenModelReplySettings } from "../open-model-reply.ts";
import { virtualSystem } from "./virtual-system.ts";

export const LIMITS = { firstChunkMs: 1_000, chunkMs: 500, totalMs: 10_000, replyBytes: 1 << 20 };

/** Opens a reply of models that need no candidate settings. */
export function open(
  models: LanguageModelV4 | ReadonlyArray<LanguageModelV4 | ModelCandidate>,
  settings: Partial<OpenModelReplySettings> = {},
): Promise<ModelReply> {
  const list = Array.isArray(models) ? models : [models];
  return openModelReply(
    list.map((entry: LanguageModelV4 | ModelCandidate) => ("model" in entry ? entry : { model: entry })),
    () => ({ prompt: [{ role: "user", content: [{ type: "text", text: "hi" }] }] }),
    { limits: LIMITS, maxRetries: 0, system: virtualSystem(), ...settings },
  );
}

export async function readAll(reply: ModelReply): Promise<ModelPart[]> {
  const parts: ModelPart[] = [];
  for (let part = await reply.read(); part; part = await reply.read()) parts.push(part);
  return parts;
}

export function textOf(parts: readonly ModelPart[]): string {
  return parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join("");
}

/** How a promise ended, also when it has not. */
export function watch(promise: Promise<unknown>): {
  outcome: "pending" | "resolved" | "rejected";
  value: unknown;
} {
  const seen: { outcome: "pending" | "resolved" | "rejected"; value: unknown } = {
    outcome: "pending",
    value: undefined,
  };
  promise.then(
    (value) => Object.assign(seen, { outcome: "resolved", value }),
    (value: unknown) => Object.assign(seen, { outcome: "rejected", value }),
  );
  return seen;
}
