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

export interface AbortOptions<Metadata = unknown> {
  /** Request that the step is retried with `reason` as feedback, within `maxProcessorRetries`. */
  retry?: boolean;
  metadata?: Metadata;
}

/** The arguments of every hook. `Metadata` is what the processor passes to `abort`. */
export interface ProcessorContext<Metadata = unknown> {
  /** Stops the run with a tripwire. Never returns. */
  abort(reason?: string, options?: AbortOptions<Metadata>): never;
  requestContext: RequestContext;
  runtimeContext: RequestContext;
  agent: { id: string; name: string } | undefined;
  abortSignal: AbortSignal;
  retryCount: number;
  threadId: string | undefined;
  resourceId: string | undefined;
  runId: string;
  /** Belongs to this processor and run; shared by all its hooks. */
  state: Record<string, unknown>;
  /** Puts an app-defined `data-*` chunk on the stream. */
  writer: {
    custom(chunk: Pick<DataChunk, "type" | "data"> & { transient?: boolean; id?: string }): Promise<void>;
  };
  /**
   * Adds context to the conversation, by default as a `<system-reminder>`. It is stored, the model reads it next, and
   * subscribers see it in its place once the promise resolves.
   */
  sendSignal(signal: SignalInput): Promise<CreatedAgentSignal>;
  /**
   * Updates a state lane of the thread, unless the model already reads exactly that. During a step, the update is sent
   * when the step ends. Without a thread there are no lanes, and nothing happens.
   */
  sendStateSignal(state: StateSignalInput): Promise<void>;
  /** Lets work continue after the answer; the host waits for it when it closes. */
  waitUntil(work: Promise<unknown>): void;
  /** Named stored values of the thread. Absent if the run is not stored. */
  threadState: ToolThreadState | undefined;
  logger: Logger;
  /** The run's clock, timers and ids. */
  system: System;
  /** Starts a span inside the run's; no effect if telemetry is off. */
  startSpan(name: string, attributes: Record<string, unknown>): OpenSpan | undefined;
}

export interface ProcessInputArgs<Metadata = unknown> extends ProcessorContext<Metadata> {
  messages: StoredMessage[];
  messageList: MessageList;
  systemMessages: SystemMessage[];
}

export interface ProcessInputStepArgs<Metadata = unknown> extends ProcessInputArgs<Metadata> {
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
  /** Closes the assistant message, so that what follows is stored as a new one. Returns the new id. */
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
  /** The list that the hook was given; changes to it already apply. */
  messageList?: MessageList;
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
  /** As stored: the producer's own, with `state: { id, threadId, cacheKey, version, mode }`, `value` and `delta`. */
  metadata: Record<string, any>;
  createdAt: Date;
}

/** A lane's stored state, also under the names used in the thread's metadata. */
export interface StateTracking extends Lane {
  currentCacheKey: string;
  currentMode: StateMode;
  lastSnapshotSignalId: string | undefined;
}

/** The result of `computeStateSignal`: the state of its lane, for the model to read. */
export type ComputedState = Omit<StateSignalInput, "id"> & { id?: string };

export interface ComputeStateSignalArgs<Metadata = unknown> extends ProcessInputArgs<Metadata> {
  stepNumber: number;
  steps: StepResult[];
  /** State signals of all lanes that the model will read. */
  activeStateSignals: StateSignal[];
  /** What the model will read of this lane. */
  contextWindow: { hasSnapshot: boolean };
  /** The newest snapshot of this lane, from the store if the window no longer has it. */
  lastSnapshot: StateSignal | undefined;
  deltasSinceSnapshot: StateSignal[];
  tracking: StateTracking | undefined;
}

export interface ProcessLLMRequestArgs<Metadata = unknown> extends ProcessorContext<Metadata> {
  stepNumber: number;
  request: ModelCallOptions;
  /** The first model that is called. */
  model: { provider: string; modelId: string };
}

/** A ready reply from a processor. The model is not called. */
export interface ReadyResponse {
  /** The chunks of the reply, as passed to `processLLMResponse`. */
  chunks: AgentChunk[];
  finishReason: FinishReason;
  providerMetadata?: ProviderMetadata | undefined;
}

export interface ProcessOutputStreamArgs<Metadata = unknown> extends ProcessorContext<Metadata> {
  part: AgentChunk;
  /** The chunks of this run that have passed. A live view: it costs nothing per chunk. */
  streamParts: readonly AgentChunk[];
  /**
   * Puts chunks on the stream at this processor's place when no chunk is in transit: later processors see them. `take`
   * is called at that moment. No effect once the step is over.
   */
  release(take: () => AgentChunk[]): void;
}

export interface ProcessLLMResponseArgs<Metadata = unknown> extends ProcessorContext<Metadata> {
  stepNumber: number;
  /** The reply as received, before `processOutputStream`. */
  chunks: AgentChunk[];
  /** Whether a processor had it ready. */
  fromCache: boolean;
  text: string;
  toolCalls: ToolCallPayload[];
  finishReason: FinishReason;
  usage: Usage;
  providerMetadata: ProviderMetadata | undefined;
}

export interface ProcessOutputStepArgs<Metadata = unknown> extends ProcessInputArgs<Metadata> {
  stepNumber: number;
  steps: StepResult[];
  text: string;
  toolCalls: ToolCallPayload[];
  finishReason: FinishReason;
  usage: Usage;
  providerMetadata: ProviderMetadata | undefined;
}

export interface ProcessToolResultArgs<Metadata = unknown> extends ProcessorContext<Metadata> {
  toolCallId: string;
  toolName: string;
  args: unknown;
  result: unknown;
  isError: boolean;
}

export interface ProcessOutputResultArgs<Metadata = unknown> extends ProcessInputArgs<Metadata> {
  result: { text: string; usage: Usage; finishReason: FinishReason; steps: StepResult[] };
}

export interface ProcessAPIErrorArgs<Metadata = unknown> extends ProcessorContext<Metadata> {
  error: unknown;
  stepNumber: number;
  messageList: MessageList;
}

type Awaitable<T> = T | Promise<T>;

/**
 * A set of hooks around a step. They run in this order:
 *
 *     processInput (once)
 *     each step:  processInputStep → computeStateSignal → processLLMRequest → model
 *                 → processOutputStream (each chunk; null drops it, a list puts several in its place) → processLLMResponse
 *                 → processOutputStep → tools → processToolResult (each result)
 *     processOutputResult (once); processAPIError when the model call was rejected
 */
export interface Processor<Id extends string = string, Metadata = unknown> {
  readonly id: Id;
  readonly name?: string;
  readonly description?: string | undefined;
  /** The lane of `computeStateSignal`. Default: the processor's id. */
  readonly stateId?: string;
  /** Turns the run's answer into an object, unless the call asks for another. */
  readonly structuredOutput?: StructuredOutputOptions;
  /** Pass `data-*` chunks to `processOutputStream` too. */
  readonly processDataParts?: boolean;
  processInput?(args: ProcessInputArgs<Metadata>): Awaitable<ProcessInputResult>;
  processInputStep?(
    args: ProcessInputStepArgs<Metadata>,
  ): Awaitable<MessageList | StoredMessage[] | StepOverrides | undefined | void>;
  /** Once per step, after `processInputStep`. Return nothing if nothing changed. */
  computeStateSignal?(args: ComputeStateSignalArgs<Metadata>): Awaitable<ComputedState | undefined | void>;
  processLLMRequest?(
    args: ProcessLLMRequestArgs<Metadata>,
  ): Awaitable<ModelCallOptions | { response: ReadyResponse } | undefined | void>;
  processOutputStream?(
    args: ProcessOutputStreamArgs<Metadata>,
  ): Awaitable<AgentChunk | AgentChunk[] | null | undefined | void>;
  processLLMResponse?(args: ProcessLLMResponseArgs<Metadata>): Awaitable<void>;
  processOutputStep?(args: ProcessOutputStepArgs<Metadata>): Awaitable<ProcessInputResult>;
  processToolResult?(
    args: ProcessToolResultArgs<Metadata>,
  ): Awaitable<{ result: unknown } | undefined | void>;
  processOutputResult?(args: ProcessOutputResultArgs<Metadata>): Awaitable<ProcessInputResult>;
  processAPIError?(args: ProcessAPIErrorArgs<Metadata>): Awaitable<{ retry: boolean } | undefined | void>;
}
