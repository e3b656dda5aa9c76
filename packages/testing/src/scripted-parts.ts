import type {
  LanguageModelV4File,
  LanguageModelV4FinishReason,
  LanguageModelV4Source,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";

export interface ScriptedToolCall {
  toolName: string;
  /** A value, or the exact text the model sends, which need not be JSON. */
  input: unknown;
  /** `call-<call>-<position>`, counted from 1, when absent. */
  toolCallId?: string;
}

export interface ScriptedUsage {
  inputTokens?: number;
  outputTokens?: number;
  reasoningTokens?: number;
  cachedInputTokens?: number;
}

/** One reply of a scripted model. Counts of parts include `stream-start`, the first part of every reply. */
export interface ScriptedReply {
  /** A list gives one delta per entry. */
  text?: string | readonly string[];
  reasoning?: string | readonly string[];
  toolCalls?: readonly ScriptedToolCall[];
  /** Sent as JSON text, as a model does for structured output. */
  object?: unknown;
  files?: ReadonlyArray<{ mediaType: string; data: Uint8Array | string }>;
  sources?: ReadonlyArray<{ url: string; title?: string; id?: string }>;
  finishReason?: LanguageModelV4FinishReason["unified"];
  usage?: ScriptedUsage;
  /** Raw parts instead of all of the above. */
  parts?: readonly LanguageModelV4StreamPart[];
  /** The call rejects with this; with `errorAfter` the stream breaks with it. */
  error?: unknown;
  /** Breaks the stream after so many parts. */
  errorAfter?: number;
  /** Ends the stream after so many parts, without an error and without `finish`. */
  cutAfter?: number;
  /** Never answers, or falls silent after so many parts. */
  hang?: boolean | { after: number };
  /** Before the call answers. */
  delayMs?: number;
  /** Before each part. */
  chunkDelayMs?: number;
}

/** The stream parts of a reply to call number `index` (from 0). */
export function toParts(reply: ScriptedReply, index: number): LanguageModelV4StreamPart[] {
  if (reply.parts) return [...reply.parts];
  const parts: LanguageModelV4StreamPart[] = [{ type: "stream-start", warnings: [] }];
  if (reply.reasoning !== undefined) pushBlock(parts, "reasoning", deltas(reply.reasoning));
  const text = reply.object === undefined ? reply.text : JSON.stringify(reply.object);
  if (text !== undefined) pushBlock(parts, "text", deltas(text));
  for (const [n, source] of (reply.sources ?? []).entries()) {
    parts.push({
      type: "source",
      sourceType: "url",
      id: `source-${n + 1}`,
      ...source,
    } satisfies LanguageModelV4Source);
  }
  for (const { mediaType, data } of reply.files ?? []) {
    parts.push({ type: "file", mediaType, data: { type: "data", data } } satisfies LanguageModelV4File);
  }
  for (const [n, call] of (reply.toolCalls ?? []).entries()) {
    pushToolCall(parts, call, call.toolCallId ?? `call-${index + 1}-${n + 1}`);
  }
  const unified = reply.finishReason ?? (reply.toolCalls?.length ? "tool-calls" : "stop");
  parts.push({ type: "finish", finishReason: { unified, raw: unified }, usage: toUsage(reply.usage) });
  return parts;
}

function deltas(text: string | readonly string[]): readonly string[] {
  return typeof text === "string" ? [text] : text;
}

function pushBlock(
  parts: LanguageModelV4StreamPart[],
  kind: "text" | "reasoning",
  pieces: readonly string[],
): void {
  const id = `${kind}-1`;
  parts.push({ type: `${kind}-start`, id });
  for (const delta of pieces) parts.push({ type: `${kind}-delta`, id, delta });
  parts.push({ type: `${kind}-end`, id });
}

function pushToolCall(parts: LanguageModelV4StreamPart[], call: ScriptedToolCall, id: string): void {
  const { toolName } = call;
  const input = typeof call.input === "string" ? call.input : JSON.stringify(call.input ?? {});
  parts.push({ type: "tool-input-start", id, toolName });
  parts.push({ type: "tool-input-delta", id, delta: input });
  parts.push({ type: "tool-input-end", id });
  parts.push({ type: "tool-call", toolCallId: id, toolName, input });
}

function toUsage(usage: ScriptedUsage = {}): LanguageModelV4Usage {
  const { inputTokens = 10, outputTokens = 5, reasoningTokens, cachedInputTokens } = usage;
  return {
    inputTokens: {
      total: inputTokens,
      noCache: inputTokens - (cachedInputTokens ?? 0),
      cacheRead: cachedInputTokens,
      cacheWrite: undefined,
    },
    outputTokens: {
      total: outputTokens,
      text: outputTokens - (reasoningTokens ?? 0),
      reasoning: reasoningTokens,
    },
  };
}
