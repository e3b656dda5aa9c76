import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import { AgentError } from "@selvedge/core/errors";
import { collectContent, lowerParts } from "./scripted-parts-legacy.ts";
import { type ScriptedReply, toParts } from "./scripted-parts.ts";
import { scriptedStream, untilAborted, wait } from "./scripted-stream.ts";

export type { ScriptedReply, ScriptedToolCall, ScriptedUsage } from "./scripted-parts.ts";

/** What a scripted reply may depend on. */
export interface ScriptedCall {
  /** The prompt in the shape of the model's own specification. */
  prompt: LanguageModelV4CallOptions["prompt"];
  tools: LanguageModelV4CallOptions["tools"];
  options: LanguageModelV4CallOptions;
  /** 0 for the first call of this model. */
  index: number;
}

/** Replies in the order of the calls, or a function of each call. */
export type Script =
  | ReadonlyArray<string | ScriptedReply>
  | ((call: ScriptedCall) => string | ScriptedReply | Promise<string | ScriptedReply>);

export interface ScriptedModelOptions {
  provider?: string;
  modelId?: string;
  /** Goes on as if nobody had aborted, like a model that does not listen to its signal. */
  ignoreAbort?: boolean;
  /** Runs on the AI SDK specification of an older provider package. */
  specificationVersion?: "v2" | "v3" | "v4";
}

export type ScriptedModel = LanguageModelV4 & { readonly calls: LanguageModelV4CallOptions[] };
export type ScriptedModelV3 = LanguageModelV3 & { readonly calls: LanguageModelV3CallOptions[] };
export type ScriptedModelV2 = LanguageModelV2 & { readonly calls: LanguageModelV2CallOptions[] };

/**
 * A model that answers from a script, for tests without a network. `calls` holds the options of every call it got.
 * The same script gives the same parts and ids each time.
 */
export function scriptedModel(
  script: Script,
  options: ScriptedModelOptions & { specificationVersion: "v2" },
): ScriptedModelV2;
export function scriptedModel(
  script: Script,
  options: ScriptedModelOptions & { specificationVersion: "v3" },
): ScriptedModelV3;
export function scriptedModel(
  script: Script,
  options?: ScriptedModelOptions & { specificationVersion?: "v4" },
): ScriptedModel;
export function scriptedModel(
  script: Script,
  options: ScriptedModelOptions = {},
): ScriptedModel | ScriptedModelV3 | ScriptedModelV2 {
  const {
    provider = "scripted",
    modelId = "model",
    ignoreAbort = false,
    specificationVersion = "v4",
  } = options;
  const calls: LanguageModelV4CallOptions[] = [];

  async function begin(call: LanguageModelV4CallOptions): Promise<{
    reply: ScriptedReply;
    parts: LanguageModelV4StreamPart[];
    signal: AbortSignal | undefined;
  }> {
    const index = calls.push(call) - 1;
    const signal = ignoreAbort ? undefined : call.abortSignal;
    signal?.throwIfAborted();
    const next = typeof script === "function" ? await script(toCall(call, index)) : script[index];
    if (next === undefined) throw scriptEnded(script.length, index);
    const reply = typeof next === "string" ? { text: next } : next;
    if (reply.delayMs !== undefined) await wait(reply.delayMs, signal);
    if (reply.hang === true) await untilAborted(signal);
    if ("error" in reply && reply.errorAfter === undefined) throw reply.error;
    return { reply, parts: toParts(reply, index), signal };
  }

  const model = {
    specificationVersion,
    provider,
    modelId,
    supportedUrls: {},
    calls,
    async doStream(call: LanguageModelV4CallOptions) {
      const { reply, parts, signal } = await begin(call);
      return { stream: scriptedStream(lowerParts(parts, specificationVersion), reply, signal) };
    },
    async doGenerate(call: LanguageModelV4CallOptions) {
      const { reply, parts, signal } = await begin(call);
      const reader = scriptedStream(parts, reply, signal).getReader();
      const received: LanguageModelV4StreamPart[] = [];
      for (let read = await reader.read(); !read.done; read = await reader.read()) received.push(read.value);
      return collectContent(received, specificationVersion);
    },
  };
  return model as unknown as ScriptedModel;
}

function toCall(options: LanguageModelV4CallOptions, index: number): ScriptedCall {
  return { prompt: options.prompt, tools: options.tools, options, index };
}

function scriptEnded(length: number, index: number): AgentError {
  return new AgentError(
    "invalid-argument",
    `The script of this model has ${length} ${length === 1 ? "reply" : "replies"}, and call number ${index + 1} came. Add a reply, or give a function.`,
  );
}
