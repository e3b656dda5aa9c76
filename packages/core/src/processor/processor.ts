import type {
  AgentChunk,
  DataChunk,
  ProviderMetadata,
  StoredMessage,
  ToolCallPayload,
  Usage,
  FinishReason,
} from "@selvedge/protocol";
import type { MessageList } from "../message/message-list.ts";
import type { SystemMessage } from "../message/system-message.ts";
import type { ModelCallOptions, ModelConfig, ModelSettings } from "../model/model.ts";
import type { Logger } from "../logger.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { System } from "../system.ts";
import type { OpenSpan } from "../telemetry/telemetry.ts";
import type { StepResult } from "./step-result.ts";
import type { StructuredOutputOptions } from "../model/structured-output.ts";
import type { ToolChoice } from "../tool/tool-limits.ts";
import type { CreatedAgentSignal, SignalInput } from "../signal/signal.ts";
import type { Lane, StateMode, StateSignalInput } from "../signal/lane.ts";
import type { ToolsInput, ToolThreadState } from "../tool/tool.ts";

export interface AbortOptions {
  /** Ask for the step to be tried again with `reason` as feedback, within `maxProcessorRetries`. */
  retry?: boolean;
  metadata?: unknown;
}

/** What every hook gets. */
export interface ProcessorContext {
  /** Stops the run with a tripwire. Never returns. */
  abort(reason?: string, options?: AbortOptions): never;
  requestContext: RequestContext;
  runtimeContext: RequestContext;
  agent: { id: string; name: string } | undefined;
  abortSignal: AbortSignal;
  retryCount: number;
  threadId: string | undefined;
  resourceId: string | undefined;
  runId: string;
  /** Belongs to this processor and this run; shared by all its hooks. */
  state: Record<string, unknown>;
  /** Puts an app's own `data-*` chunk on the stream. */
  writer: {
    custom(chunk: Pick<DataChunk, "type" | "data"> & { transient?: boolean; id?: string }): Promise<void>;
  };
  /**
   * Adds context to the conversation, as a `<system-reminder>` unless it says otherwise. It is stored, the model reads
   * it next, and subscribers see it in its place once the promise resolves.
   */
  sendSignal(signal: SignalInput): Promise<CreatedAgentSignal>;
  /**
   * Tells a state lane of the thread, unless the model already reads exactly that. During a step it is told when the
   * step is over. Without a thread there are no lanes, and nothing happens.
   */
  sendStateSignal(state: StateSignalInput): Promise<void>;
  /** Lets work go on beside the answer; the host waits for it when it closes. */
  waitUntil(work: Promise<unknown>): void;
  /** Named values of the thread, which last. Absent where the run is not stored. */
  threadState: ToolThreadState | undefined;
  logger: Logger;
  /** Clock, timers and ids of the run. */
  system: System;
  /** Begins a span inside the run's; nothing where telemetry is off. */
  startSpan(name: string, attributes: Record<string, unknown>): OpenSpan | undefined;
}

export interface ProcessInputArgs extends ProcessorContext {
  messages: StoredMessage[];
  messageList: MessageList;
  systemMessages: SystemMessage[];
}

export interface ProcessInputStepArgs extends ProcessInputArgs {
  stepNumber: number;
  steps: StepResult[];
  model: ModelConfig;
  tools: ToolsInput;
  toolChoice: ToolChoice | undefined;
  activeTools: string[] | undefined;
  providerOptions: ProviderMetadata | undefined;
  modelSettings: ModelSettings | undefined;
  structuredOutput: StructuredOutputOptions | undefined;
  messageId: string;
  /** Closes the assistant message, so that what follows is stored as a new one. Answers the new id. */
  rotateResponseMessageId(): string;
}

export type ProcessInputResult =
  | MessageList
  | StoredMessage[]
  | { messages: StoredMessage[]; systemMessages?: SystemMessage[] }
  | undefined
  | void;

export interface StepOverrides {
  model?: ModelConfig;
  tools?: ToolsInput;
  toolChoice?: ToolChoice;
  activeTools?: string[];
  providerOptions?: ProviderMetadata;
  modelSettings?: ModelSettings;
  structuredOutput?: StructuredOutputOptions;
  messages?: StoredMessage[];
  systemMessages?: SystemMessage[];
}

/** A state signal in a conversation. */
export interface StateSignal {
  id: string;
  laneId: string;
  mode: StateMode;
  cacheKey: string;
  version: number;
  contents: string;
  value?: any;
  delta?: any;
  /** As it is stored: the producer's own, with `state: { id, threadId, cacheKey, version, mode }`, `value` and `delta`. */
  metadata: Record<string, any>;
  createdAt: Date;
}

/** Where a lane stands in the store, also by the names that the thread's metadata has. */
export interface StateTracking extends Lane {
  currentCacheKey: string;
  currentMode: StateMode;
  lastSnapshotSignalId: string | undefined;
}

/** What `computeStateSignal` returns: the state of its lane, for the model to read. */
export type ComputedState = Omit<StateSignalInput, "id"> & { id?: string };

export interface ComputeStateSignalArgs extends ProcessInputArgs {
  stepNumber: number;
  steps: StepResult[];
  /** State signals of all lanes that the model will read. */
  activeStateSignals: StateSignal[];
  /** What the model will read of this lane. */
  contextWindow: { hasSnapshot: boolean };
  /** The newest snapshot of this lane, from the store if the window has lost it. */
  lastSnapshot: StateSignal | undefined;
  deltasSinceSnapshot: StateSignal[];
  tracking: StateTracking | undefined;
}

export interface ProcessLLMRequestArgs extends ProcessorContext {
  stepNumber: number;
  request: ModelCallOptions;
  /** The model that is asked first. */
  model: { provider: string; modelId: string };
}

/** A reply that a processor has ready. The model is not called. */
export interface ReadyResponse {
  /** The chunks of the reply, as `processLLMResponse` got them. */
  chunks: AgentChunk[];
  finishReason: FinishReason;
  providerMetadata?: ProviderMetadata | undefined;
}

export interface ProcessOutputStreamArgs extends ProcessorContext {
  part: AgentChunk;
  /** The chunks of this run that passed so far. A live view: it costs nothing per chunk. */
  streamParts: readonly AgentChunk[];
  /**
   * Puts chunks on the stream when no chunk is on its way, in this processor's place: those after it see them. `take` is
   * called then. Nothing happens once the step is over.
   */
  release(take: () => AgentChunk[]): void;
}

export interface ProcessLLMResponseArgs extends ProcessorContext {
  stepNumber: number;
  /** The reply as it came, before `processOutputStream`. */
  chunks: AgentChunk[];
  /** Whether a processor had it ready. */
  fromCache: boolean;
  text: string;
  toolCalls: ToolCallPayload[];
  finishReason: FinishReason;
  usage: Usage;
  providerMetadata: ProviderMetadata | undefined;
}

export interface ProcessOutputStepArgs extends ProcessInputArgs {
  stepNumber: number;
  steps: StepResult[];
  text: string;
  toolCalls: ToolCallPayload[];
  finishReason: FinishReason;
  usage: Usage;
  providerMetadata: ProviderMetadata | undefined;
}

export interface ProcessToolResultArgs extends ProcessorContext {
  toolCallId: string;
  toolName: string;
  args: unknown;
  result: unknown;
  isError: boolean;
}

export interface ProcessOutputResultArgs extends ProcessInputArgs {
  result: { text: string; usage: Usage; finishReason: FinishReason; steps: StepResult[] };
}

export interface ProcessAPIErrorArgs extends ProcessorContext {
  error: unknown;
  stepNumber: number;
  messageList: MessageList;
}

type Awaitable<T> = T | Promise<T>;

/**
 * A function around a step. Hooks run in this order:
 *
 *     processInput (once)
 *     each step:  processInputStep → computeStateSignal → processLLMRequest → model
 *                 → processOutputStream (each chunk; null drops it, a list puts several in its place) → processLLMResponse
 *                 → processOutputStep → tools → processToolResult (each result)
 *     processOutputResult (once); processAPIError when the model call was rejected
 */
export interface Processor {
  readonly id: string;
  readonly name?: string;
  /** The lane of `computeStateSignal`; the processor's id when absent. */
  readonly stateId?: string;
  /** Has the answer of the run turned into an object, unless the call asks for another. */
  readonly structuredOutput?: StructuredOutputOptions;
  /** Hand `data-*` chunks to `processOutputStream` too. */
  readonly processDataParts?: boolean;
  processInput?(args: ProcessInputArgs): Awaitable<ProcessInputResult>;
  processInputStep?(
    args: ProcessInputStepArgs,
  ): Awaitable<MessageList | StoredMessage[] | StepOverrides | undefined | void>;
  /** Once per step, after `processInputStep`. Return nothing when nothing changed. */
  computeStateSignal?(args: ComputeStateSignalArgs): Awaitable<ComputedState | undefined | void>;
  processLLMRequest?(
    args: ProcessLLMRequestArgs,
  ): Awaitable<ModelCallOptions | { response: ReadyResponse } | undefined | void>;
  processOutputStream?(
    args: ProcessOutputStreamArgs,
  ): Awaitable<AgentChunk | AgentChunk[] | null | undefined | void>;
  processLLMResponse?(args: ProcessLLMResponseArgs): Awaitable<void>;
  processOutputStep?(args: ProcessOutputStepArgs): Awaitable<ProcessInputResult>;
  processToolResult?(args: ProcessToolResultArgs): Awaitable<{ result: unknown } | undefined | void>;
  processOutputResult?(args: ProcessOutputResultArgs): Awaitable<ProcessInputResult>;
  processAPIError?(args: ProcessAPIErrorArgs): Awaitable<{ retry: boolean } | undefined | void>;
}
