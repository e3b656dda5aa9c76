import type { AgentChunk } from "@selvedge/protocol";
import type { ModelCallOptions } from "../model/model.ts";
import { OptionChecks } from "./option-checks.ts";
import type {
  ProcessInputStepArgs,
  ProcessLLMRequestArgs,
  Processor,
  ProcessOutputStreamArgs,
} from "./processor.ts";
import { noteRunLength, type PromptMessage, runStart, unitsOf } from "./prompt-units.ts";
import { withText } from "./text-gate.ts";

export interface TokenLimiterOptions {
  limit: number;
  /** `truncate` (the default) drops the excess; `abort` stops the run with a tripwire. */
  strategy?: "truncate" | "abort";
  /** Whether the limit applies to the whole answer (`cumulative`, the default) or to each chunk (`part`). */
  countMode?: "cumulative" | "part";
  /**
   * Which old messages are left out of the prompt: only those that do not fit (`best-fit`, the default), or everything
   * before the first that does not (`contiguous`).
   */
  trimMode?: "best-fit" | "contiguous";
  /** Has no effect: tokens are estimated. */
  encoding?: unknown;
}

type Tokens = typeof import("tokenx");

/**
 * Keeps the estimated number of tokens under a limit. As an input processor it leaves old messages out of the prompt; a
 * call stays with its result, and the newest message and this run's own messages always stay. As an output processor it
 * ends the text of the answer.
 */
export class TokenLimiter implements Processor {
  readonly id = "token-limiter";
  readonly #limit: number;
  readonly #aborts: boolean;
  readonly #countsParts: boolean;
  readonly #isContiguous: boolean;
  #tokens: Promise<Tokens> | undefined;

  constructor(options: number | TokenLimiterOptions) {
    const check = new OptionChecks("TokenLimiter");
    const given = typeof options === "object" && options !== null ? options : { limit: options };
    const { limit, strategy = "truncate", countMode = "cumulative", trimMode = "best-fit" } = given;
    this.#limit = check.integer("limit", limit, 1);
    this.#aborts = check.oneOf("strategy", strategy, ["truncate", "abort"]) === "abort";
    this.#countsParts = check.oneOf("countMode", countMode, ["cumulative", "part"]) === "part";
    this.#isContiguous = check.oneOf("trimMode", trimMode, ["best-fit", "contiguous"]) === "contiguous";
  }

  getMaxTokens(): number {
    return this.#limit;
  }

  processInputStep(args: ProcessInputStepArgs): void {
    noteRunLength(args);
    args.state["isInput"] = true;
  }

  /** Counts what is sent: other processors may already have removed something. */
  async processLLMRequest({
    request,
    state,
    abort,
  }: ProcessLLMRequestArgs): Promise<ModelCallOptions | undefined> {
    if (!state["isInput"]) return undefined;
    const { estimateTokenCount } = await this.#load();
    const counted = (state["counted"] ??= new Map()) as Map<unknown, number>;
    const countText = (text: string): number => remember(counted, text, () => estimateTokenCount(text));
    const count = (messages: readonly PromptMessage[]): number =>
      messages.reduce((sum, message) => sum + countMessage(message, countText, counted), 0);

    const { prompt } = request;
    const system = prompt.filter(({ role }) => role === "system");
    const start = runStart(prompt, state);
    const own = prompt.slice(start).filter(({ role }) => role !== "system");
    const others = unitsOf(prompt.slice(0, start).filter(({ role }) => role !== "system"));
    let left = this.#limit - count(system);
    if (left < 0) abort(`The system messages alone are over the limit of ${this.#limit} tokens.`);
    left -= count(own);
    if (left < 0) abort(`The steps of this run alone are over the limit of ${this.#limit} tokens.`);

    const kept: PromptMessage[][] = [];
    for (let index = others.length - 1; index >= 0; index--) {
      const unit = others[index]!;
      const size = count(unit);
      const isNewest = index === others.length - 1;
      if (size <= left || isNewest) {
        kept.unshift(unit);
        left -= size;
      } else if (this.#isContiguous) break;
    }
    if (this.#aborts && (kept.length < others.length || left < 0))
      abort(`The prompt is over the limit of ${this.#limit} tokens.`);
    if (kept.length === others.length) return undefined;
    return { ...request, prompt: [...system, ...kept.flat(), ...own] };
  }

  async processOutputStream({
    part,
    state,
    abort,
    writer,
  }: ProcessOutputStreamArgs): Promise<AgentChunk | null> {
    if (part.type !== "text-delta") return part;
    const { estimateTokenCount, sliceByTokens } = await this.#load();
    const used = this.#countsParts ? 0 : ((state["used"] as number | undefined) ?? 0);
    const total = used + estimateTokenCount(part.payload.text);
    state["used"] = total;
    if (total <= this.#limit) return part;
    if (this.#aborts) abort(`The answer is over the limit of ${this.#limit} tokens.`);
    if (!state["told"]) {
      state["told"] = true;
      const data = { limit: this.#limit, processorId: this.id };
      await writer.custom({ type: "data-token-limit-reached", data, transient: true });
    }
    if (used >= this.#limit) return null;
    return withText(part, sliceByTokens(part.payload.text, 0, this.#limit - used));
  }

  #load(): Promise<Tokens> {
    return (this.#tokens ??= import("tokenx"));
  }
}

/** The cost of a message beyond its text. */
const MESSAGE_OVERHEAD = 4;
const IMAGE_TOKENS = 1000;
const BYTES_PER_FILE_TOKEN = 100;

function countMessage(
  { content }: PromptMessage,
  countText: (text: string) => number,
  counted: Map<unknown, number>,
): number {
  if (typeof content === "string") return MESSAGE_OVERHEAD + countText(content);
  const json = (value: unknown): number =>
    remember(counted, value, () => countText(JSON.stringify(value) ?? ""));
  return content.reduce((sum, part) => {
    if (part.type === "text" || part.type === "reasoning") return sum + countText(part.text);
    if (part.type === "tool-call") return sum + countText(part.toolName) + json(part.input);
    if (part.type === "tool-result")
      return sum + countText(part.toolName) + ("value" in part.output ? json(part.output.value) : 0);
    if (part.type === "file") return sum + fileTokens(part);
    return sum;
  }, MESSAGE_OVERHEAD);
}

function fileTokens({ mediaType, data }: { mediaType: string; data: unknown }): number {
  if (mediaType.startsWith("image")) return IMAGE_TOKENS;
  const content = (data as { data?: unknown })?.data;
  const bytes = typeof content === "string" || content instanceof Uint8Array ? content.length : 0;
  return Math.max(IMAGE_TOKENS, Math.ceil(bytes / BYTES_PER_FILE_TOKEN));
}

function remember(counted: Map<unknown, number>, key: unknown, count: () => number): number {
  let tokens = counted.get(key);
  if (tokens === undefined) counted.set(key, (tokens = count()));
  return tokens;
}
