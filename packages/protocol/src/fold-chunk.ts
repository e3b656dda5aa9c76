import { ignoreChunk, isDataChunk, isMemoryChunk } from "./chunk-kind.ts";
import type { AgentChunk, ChunkPayloads, ToolCallPayload } from "./chunk.ts";
import { errorMessage, toolErrorCode } from "./error-message.ts";
import type { ProviderMetadata } from "./json.ts";
import type {
  MessagePart,
  ReasoningMessagePart,
  TextMessagePart,
  ToolInvocation,
  ToolInvocationPart,
} from "./message.ts";

/** The prompt of a call that waits for a person. */
export type Question =
  | ({ requiresApproval: true } & ChunkPayloads["tool-call-approval"])
  | ({ requiresApproval: false } & ChunkPayloads["tool-call-suspended"]);

/**
 * One message of an agent while its chunks arrive. Calls and blocks are those of the newest step, because providers
 * reuse ids. It is plain data: a structured clone is a snapshot that another reader can continue from.
 */
export interface Answer {
  /** As stored in the message, in stream order. Changed in place: copy what you return. */
  readonly parts: MessagePart[];
  /** Where the newest step starts in `parts`. */
  step: number;
  /** Whether that step is still being written. */
  isOpen: boolean;
  /** Text in progress: the index of its part, by block id. */
  readonly texts: Map<string, number>;
  readonly reasonings: Map<string, number>;
  /** The indexes of the calls. */
  readonly calls: Map<string, number>;
  /** The calls that wait for a person. */
  readonly questions: Map<string, Question>;
}

/** Which part a chunk changed or added: its index; `"several"`, which may mean that parts were removed; or none. */
export type Changed = number | "several" | undefined;

/** An answer to fold chunks into: a new one, or one with some stored steps. */
export function answerFrom(parts: readonly MessagePart[] = []): Answer {
  const answer: Answer = {
    parts: [...parts],
    step: lastStep(parts),
    isOpen: false,
    texts: new Map(),
    reasonings: new Map(),
    calls: new Map(),
    questions: new Map(),
  };
  placeCalls(answer);
  return answer;
}

/**
 * Adds a chunk to an answer. What a run stores and what its readers show both come from this function, so they cannot
 * differ. It changes only the answer, and costs the same for the first chunk and the last.
 *
 * Only the store has some things: what a tool shows the model instead of its result (`modelOutput`), and what
 * processors of a whole step or answer change after streaming.
 */
export function foldChunk(answer: Answer, chunk: AgentChunk): Changed {
  switch (chunk.type) {
    case "text-delta": {
      const { id, text, providerMetadata } = chunk.payload;
      const at = answer.texts.get(id) ?? openText(answer, id);
      const part = answer.parts[at] as TextMessagePart;
      part.text += text;
      if (providerMetadata) part.providerMetadata = providerMetadata;
      return at;
    }
    case "text-start": {
      const at = answer.texts.get(chunk.payload.id) ?? openText(answer, chunk.payload.id);
      return describe(answer, at, chunk.payload.providerMetadata);
    }
    case "text-end": {
      const at = answer.texts.get(chunk.payload.id);
      answer.texts.delete(chunk.payload.id);
      return describe(answer, at, chunk.payload.providerMetadata);
    }
    case "reasoning-delta": {
      const { id, text, providerMetadata } = chunk.payload;
      const at = answer.reasonings.get(id) ?? openReasoning(answer, id);
      (answer.parts[at] as ReasoningMessagePart).reasoning += text;
      return describe(answer, at, providerMetadata);
    }
    case "reasoning-start": {
      const at = answer.reasonings.get(chunk.payload.id) ?? openReasoning(answer, chunk.payload.id);
      return describe(answer, at, chunk.payload.providerMetadata);
    }
    case "reasoning-end": {
      const at = answer.reasonings.get(chunk.payload.id);
      answer.reasonings.delete(chunk.payload.id);
      if (at === undefined) return undefined;
      const part = answer.parts[at] as ReasoningMessagePart;
      part.details = [{ type: "text", text: part.reasoning }];
      return describe(answer, at, chunk.payload.providerMetadata);
    }
    case "source": {
      const { providerMetadata, ...source } = chunk.payload;
      return addPart(answer, { type: "source", source }, providerMetadata);
    }
    case "file": {
      const { data, mimeType, filename, reasoning, providerMetadata } = chunk.payload;
      const named = { ...(filename !== undefined && { filename }), ...(reasoning && { reasoning }) };
      return addPart(answer, { type: "file", data, mimeType, ...named }, providerMetadata);
    }
    case "tool-call-input-streaming-start": {
      const { toolCallId, toolName, providerExecuted } = chunk.payload;
      if (answer.calls.has(toolCallId)) return undefined;
      const state = "partial-call";
      return addCall(answer, state, {
        toolCallId,
        toolName,
        args: "",
        ...(providerExecuted && { providerExecuted }),
      });
    }
    case "tool-call-delta": {
      const call = callOf(answer, chunk.payload.toolCallId);
      if (call?.state !== "partial-call") return undefined;
      call.args += chunk.payload.argsTextDelta;
      return answer.calls.get(call.toolCallId);
    }
    case "tool-call":
      return takeCall(answer, chunk.payload);
    case "tool-call-approval": {
      const { toolCallId } = chunk.payload;
      answer.questions.set(toolCallId, { ...chunk.payload, requiresApproval: true });
      return changeCall(answer, toolCallId, { state: "approval-requested", approval: { id: toolCallId } });
    }
    case "tool-call-suspended":
      answer.questions.set(chunk.payload.toolCallId, { ...chunk.payload, requiresApproval: false });
      return answer.calls.get(chunk.payload.toolCallId);
    case "tool-call-decided":
      answer.questions.delete(chunk.payload.toolCallId);
      return answer.calls.get(chunk.payload.toolCallId);
    case "tool-result": {
      const { toolCallId, result, isError, providerMetadata } = chunk.payload;
      return settle(answer, toolCallId, {
        state: "result",
        result,
        ...(isError && { isError }),
        ...(providerMetadata && { resultProviderMetadata: providerMetadata }),
      });
    }
    case "tool-error": {
      const { toolCallId, error } = chunk.payload;
      const errorCode = toolErrorCode(error);
      return settle(answer, toolCallId, {
        state: "output-error",
        result: errorMessage(error),
        isError: true,
        ...(errorCode && { errorCode }),
      });
    }
    case "tool-output-denied": {
      const { toolCallId, approval } = chunk.payload;
      return settle(answer, toolCallId, { state: "output-denied", approval });
    }
    case "step-start":
      return beginStep(answer, chunk.payload.model);
    case "step-finish":
      // Nothing of a repeated step is stored.
      if (chunk.payload.stepResult.reason === "retry") return dropStep(answer);
      answer.isOpen = false;
      return dropPartialCalls(answer);
    case "tripwire":
      return dropStep(answer);
    case "abort":
      return breakOff(answer, "The run was aborted before this call was answered.");
    case "error":
      return breakOff(answer, "The run failed before this call was answered.");
    case "tool-call-input-streaming-end":
    case "start":
    case "finish":
      return undefined;
    default:
      if (isDataChunk(chunk)) {
        const { type, data, transient } = chunk;
        return transient || isMemoryChunk(chunk) ? undefined : addPart(answer, { type, data }, undefined);
      }
      ignoreChunk<"progress" | "other">(chunk);
  }
}

/** Discards the newest step unless it ended: nothing of it is stored. */
export function dropStep(answer: Answer): Changed {
  if (!answer.isOpen) return undefined;
  answer.isOpen = false;
  answer.parts.length = answer.step;
  answer.step = lastStep(answer.parts);
  clearStep(answer);
  placeCalls(answer);
  return "several";
}

/** Discards calls whose arguments started to arrive, once it is clear that the calls will not. */
export function dropPartialCalls(answer: Answer): Changed {
  const { parts, step } = answer;
  if (!hasPartialCall(answer)) return undefined;
  const kept = parts.slice(step).filter((part) => !isPartial(part));
  parts.length = step;
  for (const part of kept) parts.push(part);
  clearStep(answer);
  placeCalls(answer);
  return "several";
}

/** A call of the newest step. */
export function callOf(answer: Answer, toolCallId: string): ToolInvocation | undefined {
  const at = answer.calls.get(toolCallId);
  return at === undefined ? undefined : (answer.parts[at] as ToolInvocationPart).toolInvocation;
}

/** The calls of the newest step without an outcome. */
export function openCalls(answer: Answer): ToolInvocation[] {
  return [...answer.calls.keys()].map((id) => callOf(answer, id)!).filter(isUnanswered);
}

function beginStep(answer: Answer, model: string | undefined): Changed {
  // Its process died before it could store the step: the step is repeated.
  const dropped = dropStep(answer);
  clearStep(answer);
  empty(answer.questions);
  answer.isOpen = true;
  answer.step = answer.parts.push({ type: "step-start", ...(model !== undefined && { model }) }) - 1;
  return dropped ?? answer.step;
}

/** The run ended in the middle: every call gets an outcome, and an empty step is not stored. */
function breakOff(answer: Answer, result: string): Changed {
  // Between steps nothing is discarded, unless a call of the last one was waiting.
  if (!answer.isOpen && answer.questions.size === 0) return undefined;
  const dropped = dropPartialCalls(answer);
  const open = openCalls(answer);
  for (const call of open) Object.assign(call, { state: "output-error", result, isError: true });
  empty(answer.questions);
  if (answer.isOpen && !answer.parts.slice(answer.step).some(saysSomething)) return dropStep(answer);
  answer.isOpen = false;
  return dropped ?? (open.length > 0 ? "several" : undefined);
}

function takeCall(answer: Answer, payload: ToolCallPayload): Changed {
  const { toolCallId, toolName, args, providerExecuted, providerMetadata } = payload;
  const call = { toolCallId, toolName, args, ...(providerExecuted && { providerExecuted }) };
  const known = callOf(answer, call.toolCallId);
  if (!known) return addCall(answer, "call", call, providerMetadata);
  // A provider repeated itself.
  if (known.state !== "partial-call") return undefined;
  const at = answer.calls.get(call.toolCallId);
  Object.assign(known, { state: "call", ...call });
  return describe(answer, at, providerMetadata);
}

function addCall(
  answer: Answer,
  state: "partial-call" | "call",
  call: Pick<ToolInvocation, "toolCallId" | "toolName" | "args" | "providerExecuted">,
  providerMetadata?: ProviderMetadata,
): number {
  const at = addPart(
    answer,
    { type: "tool-invocation", toolInvocation: { state, ...call } },
    providerMetadata,
  );
  answer.calls.set(call.toolCallId, at);
  return at;
}

/** The last outcome counts: a tool that was running when its process died may have run again. */
function settle(answer: Answer, toolCallId: string, outcome: Partial<ToolInvocation>): Changed {
  const call = callOf(answer, toolCallId);
  answer.questions.delete(toolCallId);
  if (!call) return undefined;
  delete call.isError;
  delete call.errorCode;
  return changeCall(answer, toolCallId, outcome);
}

function changeCall(answer: Answer, toolCallId: string, change: Partial<ToolInvocation>): Changed {
  const call = callOf(answer, toolCallId);
  if (!call) return undefined;
  Object.assign(call, change);
  return answer.calls.get(toolCallId);
}

function openText(answer: Answer, id: string): number {
  const at = answer.parts.push({ type: "text", text: "" }) - 1;
  answer.texts.set(id, at);
  return at;
}

function openReasoning(answer: Answer, id: string): number {
  const at = answer.parts.push({ type: "reasoning", reasoning: "", details: [] }) - 1;
  answer.reasonings.set(id, at);
  return at;
}

function addPart(answer: Answer, part: MessagePart, providerMetadata: ProviderMetadata | undefined): number {
  if (providerMetadata) part.providerMetadata = providerMetadata;
  return answer.parts.push(part) - 1;
}

function describe(answer: Answer, at: number | undefined, meta: ProviderMetadata | undefined): Changed {
  if (meta && at !== undefined) answer.parts[at]!.providerMetadata = meta;
  return at;
}

function clearStep(answer: Answer): void {
  empty(answer.texts);
  empty(answer.reasonings);
  empty(answer.calls);
}

/** To clear a map is to allocate a table, even if it is empty, as it is at the start of every step of a run. */
function empty(map: Map<string, unknown>): void {
  if (map.size > 0) map.clear();
}

function lastStep(parts: readonly MessagePart[]): number {
  return Math.max(
    0,
    parts.findLastIndex(({ type }) => type === "step-start"),
  );
}

function placeCalls({ parts, calls, step }: Answer): void {
  for (let at = step; at < parts.length; at++) {
    const part = parts[at]!;
    if (part.type === "tool-invocation") calls.set(part.toolInvocation.toolCallId, at);
  }
}

function hasPartialCall({ parts, calls }: Answer): boolean {
  for (const at of calls.values()) if (isPartial(parts[at]!)) return true;
  return false;
}

function isPartial(part: MessagePart): boolean {
  return part.type === "tool-invocation" && part.toolInvocation.state === "partial-call";
}

function isUnanswered({ state }: ToolInvocation): boolean {
  return state === "call" || state === "approval-requested";
}

function saysSomething(part: MessagePart): boolean {
  return part.type !== "step-start" && (part.type !== "text" || part.text !== "");
}
