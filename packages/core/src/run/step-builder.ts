import {
  type AgentChunk,
  type Answer,
  answerFrom,
  callOf,
  dropPartialCalls,
  type FinishReason,
  foldChunk,
  type MessagePart,
  openCalls,
  type PayloadChunk,
  type ProviderMetadata,
  type ToolCallPayload,
  type ToolInvocation,
} from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import { roughSize, toJson } from "../json.ts";
import type { ModelPart } from "../model/model.ts";
import { inputError } from "../tool/check-payload.ts";
import type { CheckedCall } from "../tool/execute-tool.ts";
import { readParts, textOf } from "./read-parts.ts";
import type { RunLimits } from "./run-options.ts";
import type { StepResult } from "../processor/step-result.ts";
import { NO_USAGE, toUsage } from "../model/usage.ts";

/** How much is shown of arguments that are too long. */
const SHOWN_INPUT = 1000;
/** What a part takes beside its text. */
const MARKUP = 100;

/** Collects what a step writes: its parts, by the fold that every reader of the stream uses, and facts about the reply. */
export class StepBuilder {
  readonly stepNumber: number;
  calls: ToolCallPayload[] = [];
  finishReason: FinishReason = "unknown";
  usage: StepResult["usage"] = NO_USAGE;
  providerMetadata: ProviderMetadata | undefined;
  /** False until the model said it was done: a reply that just stops is not a reply. */
  finished = false;
  /** True once the parts stand in the message list. */
  listed = false;
  /** True once the step was handed to the conversation and the store, whether that went well or not. */
  stored = false;
  #answer: Answer;
  /** The calls with a result, in the order in which the results came. */
  #answered: string[] = [];
  /** Calls whose arguments exceeded the limit, with the message for the model. */
  #tooLong: Map<string, string> | undefined;
  #warnings: unknown[] = [];
  #request: StepResult["request"] = {};
  readonly #response: StepResult["response"] = {};

  private constructor(stepNumber: number, answer: Answer) {
    this.stepNumber = stepNumber;
    this.#answer = answer;
  }

  static begin(stepNumber: number, start: PayloadChunk<"step-start">): StepBuilder {
    const step = new StepBuilder(stepNumber, answerFrom());
    foldChunk(step.#answer, start);
    return step;
  }

  /** A step that was stored before its calls were answered. */
  static resume(
    stepNumber: number,
    parts: MessagePart[],
    usage: StepBuilder["usage"] = NO_USAGE,
  ): StepBuilder {
    const step = new StepBuilder(stepNumber, { ...answerFrom(parts), isOpen: true });
    step.usage = usage;
    step.finished = true;
    step.finishReason = "tool-calls";
    for (const { toolCallId, toolName, args } of step.openCalls())
      step.calls.push({ toolCallId, toolName, args });
    return step;
  }

  get parts(): MessagePart[] {
    return this.#answer.parts;
  }

  get text(): string {
    return textOf(this.parts);
  }

  /** Parts of the reply that are about the call, not in it. */
  takeMeta(part: ModelPart): void {
    if (part.type === "stream-start") {
      if (part.warnings?.length > 0) this.#warnings = toJson(part.warnings) as unknown[];
    } else if (part.type === "finish") {
      const { unified } = part.finishReason;
      this.usage = toUsage(part.usage);
      const metadata = part.providerMetadata && (toJson(part.providerMetadata) as ProviderMetadata);
      this.finish(unified === "interrupted" ? "other" : unified, metadata);
    }
  }

  /** The reply is whole. */
  finish(reason: FinishReason, metadata: ProviderMetadata | undefined): void {
    this.finished = true;
    this.finishReason = reason;
    if (metadata) this.providerMetadata = metadata;
    dropPartialCalls(this.#answer);
  }

  setExchange(
    request: { body?: unknown } | undefined,
    response: { headers?: Record<string, string> } | undefined,
  ): void {
    if (request) this.#request = request;
    if (response?.headers) this.#response.headers = response.headers;
  }

  /** A call as it came, or with only the beginning of its arguments where those are too long for a tool. */
  limitCall(part: ModelPart, { toolInputBytes: maxBytes, toolCalls }: RunLimits): ModelPart {
    if (toolCalls > 0 && this.calls.length >= toolCalls)
      throw new AgentError(
        "limit-exceeded",
        `The reply has more than ${toolCalls} tool calls. None of them was made. Raise \`limits.toolCalls\` if that is normal for the model; 0 disables the limit.`,
        { details: { limit: "toolCalls", calls: toolCalls } },
      );
    if (part.type !== "tool-call" || part.input.length <= maxBytes) return part;
    (this.#tooLong ??= new Map()).set(
      part.toolCallId,
      `The input of tool "${part.toolName}" has ${part.input.length} bytes; the limit is ${maxBytes} (limits.toolInputBytes). The tool was not called. Call it with a smaller input.`,
    );
    return { ...part, input: JSON.stringify(`${part.input.slice(0, SHOWN_INPUT)}…`) };
  }

  tooLong(call: ToolCallPayload): CheckedCall | undefined {
    const message = this.#tooLong?.get(call.toolCallId);
    return message === undefined
      ? undefined
      : { call, outcome: { kind: "result", isError: true, result: inputError(message) } };
  }

  /** Keeps no more than the beginning, of a reply that was too long to be one. */
  cut(length: number): void {
    let left = length;
    const kept = this.parts.filter((part) => {
      if (part.type === "text") part.text = part.text.slice(0, left).toWellFormed();
      else if (part.type === "reasoning" && part.reasoning.length > left) {
        part.reasoning = part.reasoning.slice(0, left).toWellFormed();
        part.details = [{ type: "text", text: part.reasoning }];
      }
      const size = roughSize(part, left);
      if (part.type !== "step-start" && (left === 0 || size > left + MARKUP)) return false;
      left = Math.max(0, left - size - MARKUP);
      return true;
    });
    this.adopt(kept);
  }

  /** Takes in a chunk as it was after the processors had seen it. */
  take(chunk: AgentChunk): void {
    const changed = foldChunk(this.#answer, chunk);
    if (chunk.type === "text-delta") return;
    if (chunk.type === "tool-call") {
      if (changed !== undefined) this.calls.push(chunk.payload);
    } else if (chunk.type === "tool-result" || chunk.type === "tool-error") {
      if (changed !== undefined) this.#answered.push(chunk.payload.toolCallId);
    } else if (chunk.type === "response-metadata") Object.assign(this.#response, chunk.payload);
  }

  /** Ends the step early, with the chunk that says why. Returns whether there is anything to store. */
  breakOff(chunk: PayloadChunk<"abort" | "error">): boolean {
    for (const { toolCallId } of this.openCalls()) this.#answered.push(toolCallId);
    foldChunk(this.#answer, chunk);
    return this.parts.length > 0;
  }

  /** Adds what only the store knows about a call: what the model and the transcript are shown in its place. */
  annotate(toolCallId: string, more: Pick<ToolInvocation, "modelOutput" | "transcript"> | undefined): void {
    Object.assign(this.invocation(toolCallId) ?? {}, more);
  }

  /** Continues with the parts that a processor returned instead. Calls that are not among them are not made. */
  adopt(parts: MessagePart[]): void {
    const { isOpen } = this.#answer;
    this.#answer = { ...answerFrom(parts), isOpen };
    this.calls = this.calls.flatMap((call) => {
      const invocation = this.invocation(call.toolCallId);
      return invocation ? [{ ...call, args: invocation.args }] : [];
    });
  }

  invocation(toolCallId: string): ToolInvocation | undefined {
    return callOf(this.#answer, toolCallId);
  }

  /** Every call that has no answer yet. */
  openCalls(): ToolInvocation[] {
    return openCalls(this.#answer);
  }

  build(): StepResult {
    const { stepNumber, finishReason, usage, providerMetadata } = this;
    return {
      ...readParts(this.parts, this.calls, this.#answered),
      stepNumber,
      finishReason,
      usage,
      warnings: this.#warnings,
      request: this.#request,
      response: this.#response,
      providerMetadata,
    };
  }
}
