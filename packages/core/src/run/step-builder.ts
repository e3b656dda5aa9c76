import type {
  AgentChunk,
  FinishReason,
  MessagePart,
  ProviderMetadata,
  ReasoningMessagePart,
  TextMessagePart,
  ToolCallPayload,
  ToolInvocation,
} from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import { roughSize, toJson } from "../json.ts";
import type { ModelPart } from "../model/model.ts";
import { inputError } from "../tool/check-payload.ts";
import type { CheckedCall } from "../tool/execute-tool.ts";
import { limitResult } from "../tool/limit-result.ts";
import { invocationsOf, readParts, reasoningOf, textOf } from "./read-parts.ts";
import type { RunLimits } from "./run-options.ts";
import type { StepResult } from "../processor/step-result.ts";
import { NO_USAGE, toUsage } from "./usage.ts";

const MAX_DATA_BYTES = 1 << 20;
/** How much is shown of arguments that are too long. */
const SHOWN_INPUT = 1000;
/** What a part takes beside its text. */
const MARKUP = 100;

/** Collects what a step writes, chunk by chunk, in the order it was streamed. Work per chunk does not grow. */
export class StepBuilder {
  parts: MessagePart[] = [];
  readonly calls: ToolCallPayload[] = [];
  finishReason: FinishReason = "unknown";
  /** False until the model said it was done: a reply that just stops is not a reply. */
  finished = false;
  /** True once the parts stand in the message list. */
  listed = false;
  /** True once the step was handed to the conversation and the store, whether that went well or not. */
  stored = false;
  readonly #open = new Map<string, TextMessagePart | ReasoningMessagePart>();
  readonly #invocations = new Map<string, ToolInvocation>();
  /** Calls whose arguments were over the limit, with what the model is told. */
  #tooLong: Map<string, string> | undefined;
  readonly #result: StepResult;

  readonly stepNumber: number;

  constructor(stepNumber: number, model: string) {
    this.stepNumber = stepNumber;
    this.parts.push({ type: "step-start", model });
    this.#result = {
      stepNumber,
      text: "",
      reasoning: [],
      reasoningText: undefined,
      files: [],
      sources: [],
      toolCalls: [],
      toolResults: [],
      finishReason: "unknown",
      usage: NO_USAGE,
      warnings: [],
      request: {},
      response: {},
      providerMetadata: undefined,
      content: this.parts,
    };
  }

  /** A step that was stored before its calls were answered. */
  static resume(
    stepNumber: number,
    parts: MessagePart[],
    usage: StepResult["usage"] = NO_USAGE,
  ): StepBuilder {
    const step = new StepBuilder(stepNumber, "");
    step.#result.usage = usage;
    step.adopt(parts);
    step.finished = true;
    step.finishReason = "tool-calls";
    for (const { toolCallId, toolName, args } of step.openCalls()) {
      const call = { toolCallId, toolName, args };
      step.calls.push(call);
      step.#result.toolCalls.push({ ...call, payload: call });
    }
    return step;
  }

  get text(): string {
    return textOf(this.parts);
  }

  get usage(): StepResult["usage"] {
    return this.#result.usage;
  }

  get providerMetadata(): ProviderMetadata | undefined {
    return this.#result.providerMetadata;
  }

  /** True once the step holds something worth storing. */
  get hasContent(): boolean {
    return this.parts.some(
      (part) => part.type !== "step-start" && (part.type !== "text" || part.text !== ""),
    );
  }

  /** Parts of the reply that are about the call, not in it. */
  takeMeta(part: ModelPart): void {
    if (part.type === "stream-start") {
      if (part.warnings?.length > 0) this.#result.warnings = toJson(part.warnings) as unknown[];
    } else if (part.type === "finish") {
      this.finished = true;
      this.finishReason = part.finishReason.unified === "interrupted" ? "other" : part.finishReason.unified;
      this.#result.usage = toUsage(part.usage);
      if (part.providerMetadata)
        this.#result.providerMetadata = toJson(part.providerMetadata) as ProviderMetadata;
    }
  }

  setExchange(
    request: { body?: unknown } | undefined,
    response: { headers?: Record<string, string> } | undefined,
  ): void {
    if (request) this.#result.request = request;
    if (response?.headers) this.#result.response.headers = response.headers;
  }

  /** A call as it came, or with only the beginning of its arguments where those are too long for a tool. */
  limitCall(part: ModelPart, { toolInputBytes: maxBytes, toolCalls }: RunLimits): ModelPart {
    if (toolCalls > 0 && this.calls.length >= toolCalls)
      throw new AgentError(
        "limit-exceeded",
        `The reply has more than ${toolCalls} tool calls. None of them was made. Raise \`limits.toolCalls\` if that is normal for the model; 0 switches the limit off.`,
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
      else if (part.type === "reasoning") {
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
    switch (chunk.type) {
      case "text-delta":
        this.#textPart(chunk.payload.id).text += chunk.payload.text;
        break;
      case "text-start":
        withMeta(this.#textPart(chunk.payload.id), chunk.payload.providerMetadata);
        break;
      case "text-end":
      case "reasoning-end":
        this.#close(chunk.payload.id, chunk.payload.providerMetadata);
        break;
      case "reasoning-start":
        withMeta(this.#reasoningPart(chunk.payload.id), chunk.payload.providerMetadata);
        break;
      case "reasoning-delta": {
        const part = this.#reasoningPart(chunk.payload.id);
        part.reasoning += chunk.payload.text;
        withMeta(part, chunk.payload.providerMetadata);
        break;
      }
      case "tool-call":
        this.#takeCall(chunk.payload);
        break;
      case "tool-call-input-streaming-start":
      case "tool-call-delta":
      case "tool-call-input-streaming-end":
        break; // The call itself has it all.
      default:
        this.#takeRare(chunk);
    }
  }

  #takeRare(chunk: AgentChunk): void {
    switch (chunk.type) {
      case "tool-result":
        // Only the provider's own tools answer inside the reply.
        this.updateCall(chunk.payload.toolCallId, {
          state: "result",
          result: chunk.payload.result,
          ...(chunk.payload.isError && { isError: true }),
        });
        break;
      case "file": {
        this.#result.files.push(chunk.payload);
        const { data, mimeType, filename } = chunk.payload;
        this.parts.push({ type: "file", data, mimeType, ...(filename !== undefined && { filename }) });
        break;
      }
      case "source": {
        this.#result.sources.push(chunk.payload);
        const { providerMetadata, ...source } = chunk.payload;
        this.parts.push(withMeta<MessagePart>({ type: "source", source }, providerMetadata));
        break;
      }
      case "response-metadata":
        Object.assign(this.#result.response, chunk.payload);
        break;
      default:
        if (chunk.type.startsWith("data-") && "data" in chunk && !chunk.transient) {
          const data = limitResult(chunk.data, MAX_DATA_BYTES, chunk.type);
          this.parts.push({ type: chunk.type as `data-${string}`, data });
        }
    }
  }

  /** Records what became of a call. */
  updateCall(toolCallId: string, outcome: Partial<ToolInvocation>): void {
    const invocation = this.#invocations.get(toolCallId);
    if (!invocation) return;
    Object.assign(invocation, outcome);
    if (invocation.state !== "result" && invocation.state !== "output-error") return;
    const payload = {
      toolCallId,
      toolName: invocation.toolName,
      args: invocation.args,
      result: invocation.result,
      ...(invocation.isError && { isError: true }),
      ...(invocation.providerExecuted && { providerExecuted: true }),
    };
    this.#result.toolResults.push({ ...payload, payload });
  }

  /** Goes on with parts that a processor put in the place of these. Calls that are not among them are not made. */
  adopt(parts: MessagePart[]): void {
    this.parts = parts;
    Object.assign(this.#result, readParts(this.#result, parts));
    this.#invocations.clear();
    for (const [toolCallId, call] of invocationsOf(parts)) this.#invocations.set(toolCallId, call);
    const kept = this.calls.flatMap((call) => {
      const invocation = this.#invocations.get(call.toolCallId);
      return invocation ? [{ ...call, args: invocation.args }] : [];
    });
    this.calls.length = 0;
    for (const call of kept) this.calls.push(call);
  }

  invocation(toolCallId: string): ToolInvocation | undefined {
    return this.#invocations.get(toolCallId);
  }

  /** Every call that has no answer yet. */
  openCalls(): ToolInvocation[] {
    return [...this.#invocations.values()].filter(
      (call) => call.state === "call" || call.state === "approval-requested",
    );
  }

  build(): StepResult {
    this.#result.finishReason = this.finishReason;
    this.#result.text = this.text;
    return Object.assign(this.#result, reasoningOf(this.parts));
  }

  #takeCall(call: ToolCallPayload): void {
    if (this.#invocations.has(call.toolCallId)) return; // A provider repeated itself.
    this.calls.push(call);
    this.#result.toolCalls.push({ ...call, payload: call });
    const toolInvocation: ToolInvocation = {
      state: "call",
      toolCallId: call.toolCallId,
      toolName: call.toolName,
      args: call.args,
      ...(call.providerExecuted && { providerExecuted: true }),
    };
    this.#invocations.set(call.toolCallId, toolInvocation);
    this.parts.push(
      withMeta<MessagePart>({ type: "tool-invocation", toolInvocation }, call.providerMetadata),
    );
  }

  #textPart(id: string): TextMessagePart {
    const open = this.#open.get(id);
    if (open?.type === "text") return open;
    const part: TextMessagePart = { type: "text", text: "" };
    this.#open.set(id, part);
    this.parts.push(part);
    return part;
  }

  #reasoningPart(id: string): ReasoningMessagePart {
    const open = this.#open.get(id);
    if (open?.type === "reasoning") return open;
    const part: ReasoningMessagePart = { type: "reasoning", reasoning: "", details: [] };
    this.#open.set(id, part);
    this.parts.push(part);
    return part;
  }

  #close(id: string, providerMetadata: ProviderMetadata | undefined): void {
    const part = this.#open.get(id);
    this.#open.delete(id);
    if (!part) return;
    withMeta(part, providerMetadata);
    if (part.type === "reasoning") part.details = [{ type: "text", text: part.reasoning }];
  }
}

function withMeta<Part extends { providerMetadata?: ProviderMetadata }>(
  part: Part,
  meta: ProviderMetadata | undefined,
): Part {
  if (meta) part.providerMetadata = meta;
  return part;
}
