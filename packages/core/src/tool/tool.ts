import type { StoredMessage, ToolArgument } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { InferInput, InferOutput, Schema } from "../schema/schema.ts";
import { checkConvertible } from "../schema/compile-schema.ts";
import type { Domain } from "../storage/domain.ts";
import type { Write } from "../storage/storage.ts";
import { defaultLogger } from "../logger.ts";
import { warnUnknownOptions } from "../unknown-options.ts";
import { directCall } from "./direct-call.ts";
import { TOOL_OPTIONS } from "./tool-option-names.ts";
import type { ToolPermission } from "./tool-limits.ts";
import type { ToolTransform } from "./transform.ts";

/** Where a call comes from. */
export interface ToolCallOrigin {
  requestContext: RequestContext;
  /** The older name of `requestContext`. */
  runtimeContext: RequestContext;
  /** The host of the agent. */
  mastra?: any;
  threadId?: string | undefined;
  resourceId?: string | undefined;
  runId?: string | undefined;
}

/** The fields of `execute`'s first argument, besides those of the input. */
export interface ToolExecutionContext<Input = unknown> extends ToolCallOrigin {
  /** The parsed input. */
  context: Input;
}

/** Writes progress to the stream while the tool runs. */
export interface ToolWriter {
  write(output: unknown): Promise<void>;
  custom(chunk: { type: `data-${string}`; data: unknown; transient?: boolean; id?: string }): Promise<void>;
}

export interface ElicitationPort {
  sendRequest(request: {
    message: string;
    requestedSchema: Record<string, unknown>;
  }): Promise<{ action: "accept" | "decline" | "cancel"; content?: any }>;
}

/** Named values of the call's thread, such as a task list. They are stored and visible to others. */
export interface ToolThreadState {
  get(type: string): Promise<unknown>;
  /** Updates a value on top of concurrent changes: `change` may be called more than once. Returns the new value. */
  update(type: string, change: (value: unknown) => unknown): Promise<unknown>;
  /** Tables in the thread's store. Their rows go with the thread if `thread_id` is the partition. */
  domain<Store>(domain: Domain<Store>): Promise<Store>;
}

/** The second argument of `execute`. */
export interface ToolExecutionOptions extends ToolCallOrigin {
  abortSignal: AbortSignal;
  toolCallId: string;
  messages: StoredMessage[];
  writer: ToolWriter;
  /** The older name of `writer`. */
  writableStream: ToolWriter;
  /**
   * Suspends the run until it is answered. Stop working after calling it. `resumeSchema` is for this answer; default: the
   * tool's.
   */
  suspend(payload?: unknown, options?: { resumeSchema?: Schema | undefined }): Promise<void>;
  /** The answer, if the call was suspended before. */
  resumeData?: any;
  /** The payload passed to `suspend()`, if the call was suspended before. */
  suspendData?: any;
  /** Stays the same when the call is retried after a crash: pass it to services that accept an idempotency key. */
  idempotencyKey: string;
  /** The `Workspace` of the agent. */
  workspace?: any;
  /** The browser of the agent. */
  browser?: any;
  /** How many milliseconds the call may take; 0 means no limit. */
  timeoutMs?: number;
  /**
   * Stores a small JSON value with the call before it resolves. If the process dies, the call runs again with it as
   * `progress`. Does nothing if the run is not stored. Writes `alongside` go in the same commit.
   */
  saveProgress(value: unknown, alongside?: readonly Write[]): Promise<void>;
  /** What an earlier attempt of this call saved last. */
  progress?: any;
  /** Absent if the run is not stored. */
  threadState?: ToolThreadState | undefined;
  /** The conversation before this step is already stored. */
  flushMessages?(): Promise<void>;
  /** Asks the person behind an MCP client. Rejects outside an MCP call. */
  elicitation: ElicitationPort;
  /** What the MCP transport knows about the caller. */
  extra?: {
    authInfo?: {
      token: string;
      clientId: string;
      scopes: string[];
      expiresAt?: number;
      extra?: Record<string, unknown>;
    };
    sessionId?: string;
    signal?: AbortSignal;
    requestId?: string | number;
    [key: string]: any;
  };
  /** Present when an agent made the call. */
  agent?: {
    agentId: string;
    threadId?: string | undefined;
    resourceId?: string | undefined;
  } & Pick<ToolExecutionOptions, "toolCallId" | "messages" | "writableStream" | "suspend" | "resumeData">;
  /** Present when an MCP client made the call. */
  mcp?: Pick<ToolExecutionOptions, "elicitation" | "extra">;
  [key: string]: any;
}

type Awaitable<T> = T | Promise<T>;

export interface ToolDefinition<
  InputSchema extends Schema | undefined,
  OutputSchema extends Schema | undefined,
> {
  id: string;
  description: string;
  inputSchema?: InputSchema;
  outputSchema?: OutputSchema;
  suspendSchema?: Schema;
  resumeSchema?: Schema;
  /**
   * Requires approval for each call, or for those the function selects; if it throws, approval is required. The function
   * can also return a decision with a reason, which the person who is asked sees.
   */
  requireApproval?:
    | boolean
    | ((
        input: ToolInput<InputSchema>,
        context: { requestContext: RequestContext },
      ) => Awaitable<boolean | ToolPermission>);
  /**
   * It may run again after a crash: running it twice with one idempotency key is harmless, or it checks `progress` before
   * it acts.
   */
  idempotent?: boolean;
  /** For the rules of sessions, if the controller has no `toolCategoryResolver`. */
  category?: "read" | "edit" | "execute" | null;
  /** Milliseconds a call may take; 0 means no limit. Default: the run's `toolTimeoutMs`. */
  timeoutMs?: number;
  transform?: ToolTransform;
  /** How an MCP server presents the tool, besides its name, description and schemas. */
  mcp?: {
    title?: string;
    annotations?: {
      title?: string;
      readOnlyHint?: boolean;
      destructiveHint?: boolean;
      idempotentHint?: boolean;
      openWorldHint?: boolean;
    };
    icons?: { src: string; mimeType?: string; sizes?: string[] }[];
    _meta?: Record<string, unknown>;
  };
  /** What the model sees instead of the result. */
  toModelOutput?(output: ToolOutput<OutputSchema>, call?: { toolCallId: string; input: unknown }): unknown;
  /** `({ city }, context)` and `({ context: { city } }, options)` both work. */
  execute?(
    input: ToolArgument<ToolInput<InputSchema>, ToolExecutionContext<ToolInput<InputSchema>>>,
    context: ToolExecutionOptions,
  ): Awaitable<OutputSchema extends Schema ? InferInput<OutputSchema> : unknown>;
  onInputStart?(args: { toolCallId: string }): Awaitable<void>;
  onInputDelta?(args: { toolCallId: string; inputTextDelta: string }): Awaitable<void>;
  onInputAvailable?(args: { toolCallId: string; input: unknown }): Awaitable<void>;
  onOutput?(args: { toolCallId: string; toolName: string; output: unknown }): Awaitable<void>;
  /** The host of the agent. */
  mastra?: any;
}

export type ToolInput<S> = S extends Schema ? InferOutput<S> : any;
export type ToolOutput<S> = S extends Schema ? InferOutput<S> : any;

/** Types an `execute` function exactly as `createTool` inferred it, for direct calls. */
export type ToolCall<Input, Output> = (
  call?: Input | ({ context?: Input } & Partial<ToolCallOrigin>),
  options?: Partial<ToolExecutionOptions>,
) => Promise<Output>;

/** A function an agent may call. Create one with `createTool`. */
export class Tool<
  InputSchema extends Schema | undefined = any,
  OutputSchema extends Schema | undefined = any,
> {
  readonly id: string;
  readonly description: string;
  readonly inputSchema: InputSchema;
  readonly outputSchema: OutputSchema;
  readonly definition: ToolDefinition<InputSchema, OutputSchema>;
  /**
   * Runs the tool outside an agent: validates the input, runs, validates the output. Invalid input returns a
   * `ToolInputError`. Absent for tools that the client executes.
   */
  readonly execute: ToolCall<ToolInput<InputSchema>, ToolOutput<OutputSchema>>;

  constructor(definition: ToolDefinition<InputSchema, OutputSchema>) {
    this.id = definition.id;
    this.description = definition.description;
    this.inputSchema = definition.inputSchema as InputSchema;
    this.outputSchema = definition.outputSchema as OutputSchema;
    this.definition = definition;
    this.execute = (definition.execute ? directCall(definition) : undefined) as typeof this.execute;
  }
}

/** Anything accepted as a tool: ours, or an AI SDK tool (`{ description, inputSchema, execute }`). */
export type ToolLike =
  | Tool<any, any>
  | {
      id?: string;
      description?: string;
      inputSchema?: any;
      parameters?: any;
      outputSchema?: any;
      execute?: (...args: any[]) => any;
      [key: string]: any;
    };

export type ToolsInput = Record<string, ToolLike>;
export type ToolsetsInput = Record<string, ToolsInput>;

/** Defines a tool. The types of `context` and the result are inferred from the schemas. */
export function createTool<
  const InputSchema extends Schema | undefined = undefined,
  const OutputSchema extends Schema | undefined = undefined,
>(definition: ToolDefinition<InputSchema, OutputSchema>): Tool<InputSchema, OutputSchema> {
  if (typeof definition?.id !== "string" || definition.id === "") {
    throw new AgentError("invalid-argument", `A tool needs an id, got ${showValue(definition?.id)}.`);
  }
  checkConvertible(definition.inputSchema, `Tool "${definition.id}": `);
  warnUnknownOptions(`Tool "${definition.id}"`, definition, TOOL_OPTIONS, defaultLogger);
  return new Tool(definition);
}
