import type { FinishReason, Usage } from "@selvedge/protocol";
import type { AgentChunk } from "@selvedge/protocol";
import { dataFrame } from "../sse/frames.ts";
import { RunCollector, type Steps } from "./run-collector.ts";

type Json = Record<string, unknown>;

const REASONS: { [Reason in FinishReason]?: string } = {
  length: "length",
  "content-filter": "content_filter",
  "tool-calls": "tool_calls",
};

/** A run as an OpenAI chat completion, whole or streamed. */
export class ChatCompletion {
  readonly #run = new RunCollector();
  readonly #base: Json;
  readonly #includeUsage: boolean;
  #begun = false;

  constructor(options: { id: string; model: string; created: number; includeUsage: boolean }) {
    const { id, model, created } = options;
    this.#base = { id: `chatcmpl-${id}`, created, model };
    this.#includeUsage = options.includeUsage;
  }

  get failure(): unknown {
    return this.#run.failure;
  }

  /** The frames for one chunk of the run. */
  frames(chunk: AgentChunk): string {
    const before = this.#run.calls.length;
    this.#run.add(chunk);
    let text = "";
    if (!this.#begun) {
      this.#begun = true;
      text += this.#piece({ role: "assistant", content: "" });
    }
    if (chunk.type === "text-delta") text += this.#piece({ content: chunk.payload.text });
    if (this.#run.isOver) {
      // Which calls are left to the client is known at the end.
      for (const [index, call] of this.#run.calls.slice(before).entries())
        text += this.#piece({ tool_calls: [{ index, ...toToolCall(call) }] });
      if (chunk.type === "error") return text + dataFrame({ error: errorObject(this.#run.failure) });
      text += this.#piece({}, this.#reason);
      if (this.#includeUsage)
        text += dataFrame({
          ...this.#base,
          object: "chat.completion.chunk",
          choices: [],
          usage: toUsage(this.#run.usage),
        });
    }
    return text;
  }

  whole(): Json {
    const { calls, text, usage } = this.#run;
    const message = {
      role: "assistant",
      content: text === "" && calls.length > 0 ? null : text,
      refusal: null,
      ...(calls.length > 0 && { tool_calls: calls.map(toToolCall) }),
    };
    return {
      ...this.#base,
      object: "chat.completion",
      choices: [{ index: 0, message, logprobs: null, finish_reason: this.#reason }],
      usage: toUsage(usage),
    };
  }

  add(chunk: AgentChunk): void {
    this.#run.add(chunk);
  }

  settle(steps: Steps): void {
    this.#run.settle(steps);
  }

  get #reason(): string {
    if (this.#run.calls.length > 0) return "tool_calls";
    return REASONS[this.#run.reason] ?? "stop";
  }

  #piece(delta: Json, finishReason: string | null = null): string {
    return dataFrame({
      ...this.#base,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
    });
  }
}

export function errorObject(error: unknown): Json {
  const { message, code } = Object(error) as { message?: unknown; code?: unknown };
  return {
    message: typeof message === "string" ? message : "The run failed.",
    type: "server_error",
    code: typeof code === "string" ? code : null,
    param: null,
  };
}

function toToolCall({
  toolCallId,
  toolName,
  args,
}: {
  toolCallId: string;
  toolName: string;
  args: unknown;
}): Json {
  return {
    id: toolCallId,
    type: "function",
    function: { name: toolName, arguments: JSON.stringify(args ?? {}) },
  };
}

function toUsage(usage: Usage | undefined): Json {
  const { inputTokens = 0, outputTokens = 0, totalTokens } = usage ?? {};
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: totalTokens ?? inputTokens + outputTokens,
  };
}
