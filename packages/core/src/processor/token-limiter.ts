import type { AgentChunk, MessagePart, StoredMessage } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import type { ProcessInputStepArgs, Processor, ProcessOutputStreamArgs } from "./processor.ts";

export interface TokenLimiterOptions {
  limit: number;
  /** `truncate` (the default) leaves out what is too much; `abort` stops the run with a tripwire. */
  strategy?: "truncate" | "abort";
}

type Tokens = typeof import("tokenx");

/**
 * Keeps the number of tokens under a limit, by estimate. Among the input processors it takes the oldest messages out of
 * the prompt, whole, so that a tool call stays with its result; the newest message and the answer under way always stay.
 * Among the output processors it ends the text of the answer.
 */
export class TokenLimiter implements Processor {
  readonly id = "token-limiter";
  readonly #limit: number;
  readonly #aborts: boolean;
  #tokens: Promise<Tokens> | undefined;

  constructor(options: number | TokenLimiterOptions) {
    const { limit, strategy } =
      typeof options === "number" ? { limit: options, strategy: undefined } : options;
    if (!Number.isInteger(limit) || limit <= 0) {
      throw new AgentError(
        "invalid-argument",
        `The limit of TokenLimiter must be a positive integer, got ${showValue(limit)}.`,
      );
    }
    this.#limit = limit;
    this.#aborts = strategy === "abort";
  }

  async processInputStep({ messageList, systemMessages, state, abort }: ProcessInputStepArgs): Promise<void> {
    const { estimateTokenCount } = await this.#load();
    const counted = ((state["counted"] as WeakMap<MessagePart, number>) ??= new WeakMap());
    const count = (message: StoredMessage): number => {
      let total = MESSAGE_OVERHEAD;
      for (const part of message.content.parts) {
        // Only text under way still grows, and a finished step has none.
        let tokens = counted.get(part);
        if (tokens === undefined) counted.set(part, (tokens = estimateTokenCount(promptText(part))));
        total += tokens;
      }
      return total;
    };
    let left = this.#limit;
    for (const message of systemMessages) left -= MESSAGE_OVERHEAD + estimateTokenCount(message.content);
    const responses = new Set(messageList.get.response.db());
    for (const message of responses) left -= count(message);
    const others = messageList.get.all.db().filter((message) => !responses.has(message));
    let kept = others.length;
    while (kept > 0) {
      left -= count(others[kept - 1]!);
      if (left < 0 && kept < others.length) break;
      kept--;
    }
    const dropped = others.slice(0, kept);
    if (this.#aborts && (dropped.length > 0 || left < 0)) {
      abort(`The prompt is over the limit of ${this.#limit} tokens.`);
    }
    if (dropped.length > 0) messageList.removeByIds(dropped.map((message) => message.id));
  }

  async processOutputStream({ part, state, abort }: ProcessOutputStreamArgs): Promise<AgentChunk | null> {
    if (part.type !== "text-delta") return part;
    const { estimateTokenCount, sliceByTokens } = await this.#load();
    const used = (state["used"] as number | undefined) ?? 0;
    const total = used + estimateTokenCount(part.payload.text);
    state["used"] = total;
    if (total <= this.#limit) return part;
    if (this.#aborts) abort(`The answer is over the limit of ${this.#limit} tokens.`);
    if (used >= this.#limit) return null;
    return {
      ...part,
      payload: { ...part.payload, text: sliceByTokens(part.payload.text, 0, this.#limit - used) },
    };
  }

  #load(): Promise<Tokens> {
    return (this.#tokens ??= import("tokenx"));
  }
}

/** What a message costs beyond its text. */
const MESSAGE_OVERHEAD = 4;

function promptText(part: MessagePart): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "reasoning":
      return part.reasoning;
    case "tool-invocation": {
      const { toolName, args, result, modelOutput } = part.toolInvocation;
      return `${toolName}${JSON.stringify(args) ?? ""}${JSON.stringify(modelOutput ?? result) ?? ""}`;
    }
    default:
      return "";
  }
}
