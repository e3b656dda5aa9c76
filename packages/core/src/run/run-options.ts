import type { AgentChunk, FinishReason, JSONValue, ProviderMetadata, Usage } from "@selvedge/protocol";
import type { MemoryConfig } from "../memory/memory.ts";
import type { MessagesInput } from "../message/message-input.ts";
import type { ModelMessage } from "../message/model-message.ts";
import type { Instructions } from "../message/system-message.ts";
import type { ModelConfig, ModelLimits, ModelSettings } from "../model/model.ts";
import type { Processor } from "../processor/processor.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { Schema } from "../schema/schema.ts";
import type { Scorers } from "../scorer/score-live.ts";
import type { TelemetrySettings } from "../telemetry/telemetry.ts";
import type { ToolsInput, ToolsetsInput } from "../tool/tool.ts";
import type { ApprovalRule, ToolChoice, ToolLimits } from "../tool/tool-limits.ts";
import type { StepResult, ToolCallView, ToolResultView } from "../processor/step-result.ts";
import type { RunResponse } from "./run-response.ts";
import type { StopCondition } from "./stop-when.ts";
import type { StructuredOutputOptions } from "../model/structured-output.ts";

type Awaitable<T> = T | Promise<T>;

/** The thread a run belongs to. */
export interface RunMemory {
  thread: string | { id: string; title?: string; metadata?: Record<string, unknown> };
  resource?: string;
  options?: MemoryConfig;
  readOnly?: boolean;
}

export interface PrepareStepArgs {
  stepNumber: number;
  steps: StepResult[];
  model: ModelConfig;
  messages: ModelMessage[];
}

/** What `prepareStep` may change for one step. */
export interface PreparedStep {
  model?: ModelConfig;
  tools?: ToolsInput;
  toolChoice?: ToolChoice;
  activeTools?: string[];
  system?: Instructions;
  messages?: ModelMessage[];
  providerOptions?: ProviderMetadata;
  modelSettings?: ModelSettings;
}

/** The argument of `onFinish`: the whole result of the run. */
export interface FinishEvent {
  text: string;
  object: any;
  steps: StepResult[];
  finishReason: FinishReason;
  usage: Usage;
  totalUsage: Usage;
  toolCalls: ToolCallView[];
  toolResults: ToolResultView[];
  reasoningText: string | undefined;
  warnings: unknown[];
  response: RunResponse;
  runId: string;
  error?: unknown;
}

/** Limits of a run. All have defaults; see `DEFAULT_RUN_LIMITS`. */
export interface RunLimits extends ModelLimits, ToolLimits {
  /** Bytes a run may put on its stream; each chunk counts as its content plus 100 bytes. 0 means no limit. */
  runBytes: number;
  /** Milliseconds for one call of a processor, `prepareStep`, `stopWhen` or a callback; 0 means no limit. */
  processorTimeoutMs: number;
}

/** Every option of `stream()` and `generate()`. */
export interface AgentExecutionOptions<Output extends Schema | undefined = any> {
  abortSignal?: AbortSignal;
  /** Added to the prompt, never stored. */
  context?: MessagesInput;
  /** Replaces the agent's own. */
  instructions?: Instructions;
  /** Follows the instructions. */
  system?: Instructions;
  memory?: RunMemory;
  /** @deprecated Use `memory.thread`. */
  threadId?: string;
  /** @deprecated Use `memory.resource`. */
  resourceId?: string;
  /** @deprecated Use `memory.options`. */
  memoryOptions?: MemoryConfig;
  /**
   * The run is a tool of another one: a call that needs a person fails it, because no one could answer. Set by
   * `streamAsTool()`.
   */
  asTool?: boolean;
  /** One step is one model call. Default: 5. */
  maxSteps?: number;
  /** Retries of a rejected model call, before any output. Default: 2. */
  maxRetries?: number;
  stopWhen?: StopCondition | StopCondition[];
  prepareStep?: (args: PrepareStepArgs) => Awaitable<PreparedStep | undefined | void>;
  temperature?: number;
  modelSettings?: ModelSettings;
  /** A model for this call only. */
  model?: ModelConfig;
  providerOptions?: Record<string, Record<string, any>>;
  /** A structured answer only: tools are off. */
  output?: Output;
  /** A structured answer together with tools. */
  experimental_output?: Output;
  structuredOutput?: StructuredOutputOptions<Output>;
  toolChoice?: ToolChoice;
  toolsets?: ToolsetsInput;
  clientTools?: ToolsInput;
  /** Tools the model may see and call. Default: all. */
  activeTools?: string[];
  requireToolApproval?: ApprovalRule;
  /** How many calls of one step run at once. Default: 10. */
  toolCallConcurrency?: number | { limit?: number; strategy?: "available" | "called" };
  inputProcessors?: Processor[];
  outputProcessors?: Processor[];
  maxProcessorRetries?: number;
  /** Score this run instead of the agent's scorers. */
  scorers?: Exclude<Scorers, (...args: never[]) => unknown>;
  /** Adds the input of a scorer for this run to the result, as `scoringData`. */
  returnScorerData?: boolean;
  onFinish?: (event: FinishEvent) => unknown;
  onStepFinish?: (step: StepResult) => unknown;
  onChunk?: (chunk: AgentChunk) => unknown;
  onError?: (event: { error: unknown }) => unknown;
  onAbort?: (event: { steps: StepResult[] }) => unknown;
  runId?: string;
  /**
   * The result of the agent's `profile` function when the run started, for the process that continues it. Set by
   * controllers.
   */
  profile?: Record<string, JSONValue>;
  requestContext?: RequestContext<any>;
  /** The older name of `requestContext`. */
  runtimeContext?: RequestContext<any>;
  telemetry?: TelemetrySettings;
  /** Has no effect, and logs a warning. Answer a suspended call with `resumeStream()`. */
  autoResumeSuspendedTools?: boolean;
  /** `telemetry` under other names: attributes of the run's spans, and what they leave out. */
  tracingOptions?: {
    metadata?: TelemetrySettings["metadata"];
    hideInput?: boolean;
    hideOutput?: boolean;
    [more: string]: unknown;
  };
  limits?: Partial<RunLimits>;
  includeRawChunks?: boolean;
  /** Steps are always stored as they end; accepted for compatibility. */
  savePerStep?: boolean;
  /** Partial answers are always kept; accepted for compatibility. */
  persistPartialOnAbort?: boolean;
}
