import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelCandidate, ModelPart, ModelReply } from "../model.ts";
import { openModelReply, type OpenModelReplySettings } from "../open-model-reply.ts";
import { virtualSystem } from "@selvedge/testing";

export const LIMITS = { firstChunkMs: 1_000, chunkMs: 500, totalMs: 10_000, replyBytes: 1 << 20 };

/** A reply whose parts can be read one by one. */
type ReadableReply = ModelReply & { read(): Promise<ModelPart | undefined> };

/** Opens a reply of models without candidate settings. */
export async function open(
  models: LanguageModelV4 | ReadonlyArray<LanguageModelV4 | ModelCandidate>,
  settings: Partial<OpenModelReplySettings> = {},
): Promise<ReadableReply> {
  const list = Array.isArray(models) ? models : [models];
  const reply = await openModelReply(
    list.map((entry: LanguageModelV4 | ModelCandidate) => ("model" in entry ? entry : { model: entry })),
    () => ({ prompt: [{ role: "user", content: [{ type: "text", text: "hi" }] }] }),
    { limits: LIMITS, maxRetries: 0, system: virtualSystem(), ...settings },
  );
  return Object.assign(reply, { read: readerOf(reply) });
}

function readerOf(reply: ModelReply): ReadableReply["read"] {
  let asked = Promise.withResolvers<ModelPart>();
  let goOn = (): void => {};
  let ended: Promise<undefined> | undefined;
  return () => {
    asked = Promise.withResolvers();
    const take = (part: ModelPart) => {
      asked.resolve(part);
      return new Promise<void>((resolve) => void (goOn = resolve));
    };
    if (ended) goOn();
    else ended = reply.each(take).then(() => undefined);
    return Promise.race([asked.promise, ended]);
  };
}

export async function readAll(reply: ModelReply): Promise<ModelPart[]> {
  const parts: ModelPart[] = [];
  await reply.each((part) => void parts.push(part));
  return parts;
}

export function textOf(parts: readonly ModelPart[]): string {
  return parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join("");
}

/** How a promise ended, or that it has not. */
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
