import { AgentError, showValue } from "../errors.ts";
import type { MastraMemory } from "../memory/memory.ts";
import type { MessagesInput } from "../message/message-input.ts";
import type { Instructions } from "../message/system-message.ts";
import type { LanguageModel, ModelConfig, ModelFallback } from "../model/model.ts";
import { resolveModel } from "../model/resolve-model.ts";
import type { NotificationSignalInput } from "../notification/notification-input.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import { refuseTooDeep } from "../run/current-run.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import type { Schema } from "../schema/schema.ts";
import type { StateSignalInput } from "../signal/lane.ts";
import type { MessageInput, SignalInput } from "../signal/signal.ts";
import type { NotificationDomain } from "../storage/notification-domain.ts";
import type { VersionedNotification } from "../storage/notification-rows.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { Storage } from "../storage/storage.ts";
import { type FullOutput, RunOutput } from "../stream/run-output.ts";
import {
  listSuspendedRuns,
  type ListSuspendedRunsOptions,
  type SuspendedRun,
} from "../thread/inspect/list-suspended-runs.ts";
import type { DecideOptions } from "../thread/threads.ts";
import type { AgentThreadSubscription } from "../thread/threads.ts";
import type { ToolsInput } from "../tool/tool.ts";
import { warnUnknownOptions } from "../unknown-options.ts";
import { AGENT_OPTIONS } from "./agent-option-names.ts";
import type { AgentConfig, AgentGenerateOptions, AgentStreamOptions, EditorConfig } from "./agent-config.ts";
import { AgentEnvironment, type AgentHost, type ContextOptions } from "./agent-environment.ts";
import {
  AgentNotifications,
  type NotificationOptions,
  type SendNotificationResult,
} from "./agent-notifications.ts";
import { AgentRuns, type AnswerCallOptions } from "./agent-runs.ts";
import { checkDecision } from "./check-decision.ts";
import { checkDurableContextKeys } from "./check-options.ts";
import type { DynamicArgument } from "./dynamic.ts";
import { mergeOptions } from "./merge-options.ts";
import type { SendOptions, SendResult, SendStateResult, SendToThreadOptions } from "./send-options.ts";
import { sendToolApproval, type ToolApprovalOptions } from "./send-tool-approval.ts";
import { SignalProviders } from "./signal-providers.ts";
import { ThreadSends } from "./thread-sends.ts";

/**
 * A model with instructions, tools and memory. An agent keeps no conversation: every call is a run, and
 * what lasts is in the thread the call names.
 */
export class Agent<Id extends string = string, Tools extends ToolsInput = ToolsInput> {
  readonly id: Id;
  readonly name: string;
  readonly description: string;
  /** Carried for later work. */
  readonly voice: unknown;
  readonly editor: EditorConfig | undefined;
  readonly #config: AgentConfig<Id, Tools>;
  readonly #environment: AgentEnvironment;
  readonly #runs: AgentRuns;
  readonly #sends: ThreadSends;
  readonly #notifications: AgentNotifications;
  readonly #signals: SignalProviders;

  constructor(config: AgentConfig<Id, Tools>) {
    if (typeof config?.name !== "string" || config.name === "") {
      throw new AgentError("invalid-argument", `An agent needs a name, got ${showValue(config?.name)}.`);
    }
    if (!config.model) {
      throw new AgentError(
        "invalid-argument",
        `Agent "${config.name}" needs a model, such as "openai/gpt-5.5" or an AI SDK model.`,
      );
    }
    checkDurableContextKeys(config.durableContextKeys);
    this.id = (config.id ?? config.name) as Id;
    this.name = config.name;
    this.description = config.description ?? "";
    this.voice = config.voice;
    this.editor = config.editor;
    this.#config = config;
    this.#environment = new AgentEnvironment(this.id, config as unknown as AgentConfig, () => this.#runs);
    this.#runs = new AgentRuns(this.#environment);
    this.#sends = new ThreadSends(this.#environment);
    this.#notifications = new AgentNotifications(this.#environment, config.notifications);
    warnUnknownOptions("new Agent()", config, AGENT_OPTIONS, this.#environment.logger);
    this.#signals = new SignalProviders(config.signals, this, this.#environment);
    if (config.mastra) this.useHost(config.mastra as AgentHost);
  }

  /** The host that the agent is registered with. */
  get host(): AgentHost | undefined {
    return this.#environment.host;
  }

  /** Called by the host the agent is registered with. */
  useHost(host: AgentHost): void {
    this.#environment.useHost(host);
    this.#signals.useHost(host);
  }

  /**
   * Starts a run and immediately returns its streams and promises. The run continues whether or not they are read. Throws
   * only for calls that cannot be started: invalid options, invalid input or an invalid request context.
   */
  async stream<const Output extends Schema | undefined = undefined>(
    messages: MessagesInput,
    options?: AgentExecutionOptions<Output>,
  ): Promise<RunOutput<Output>> {
    return new RunOutput<Output>(await this.#runs.start(messages, options));
  }

  /** Like `stream()`, for a tool of another agent. Unless that waits with it, a call that needs a person fails the run. */
  async streamAsTool(
    messages: MessagesInput,
    options: AgentExecutionOptions,
    mayWait = false,
  ): Promise<RunOutput> {
    refuseTooDeep(this.name);
    return this.stream(messages, { ...options, asTool: !mayWait });
  }

  /** Sends a user message to the active run of a thread, or starts a run. */
  sendMessage(message: MessageInput, options: SendOptions): SendResult {
    return this.#sends.sendMessage(message, options);
  }

  /** Queues a person's message for a separate run after the active one. */
  queueMessage(message: MessageInput, options: SendToThreadOptions): SendResult {
    return this.#sends.queueMessage(message, options);
  }

  /** Sends context from a program. */
  sendSignal(signal: SignalInput, options: SendOptions): SendResult {
    return this.#sends.sendSignal(signal, options);
  }

  /** Sends a thread the current state of something, if it changed. */
  sendStateSignal(state: StateSignalInput, options: SendToThreadOptions): Promise<SendStateResult> {
    return this.#sends.sendStateSignal(state, options);
  }

  /**
   * Puts an external event into the inbox of a thread, and lets the delivery policy decide when the model sees it.
   * When this resolves, the record is durable.
   */
  sendNotificationSignal(
    notification: NotificationSignalInput,
    options: NotificationOptions,
  ): Promise<SendNotificationResult>;
  sendNotificationSignal(
    notifications: NotificationSignalInput[],
    options: NotificationOptions,
  ): Promise<SendNotificationResult[]>;
  async sendNotificationSignal(
    input: NotificationSignalInput | NotificationSignalInput[],
    options: NotificationOptions,
  ): Promise<SendNotificationResult | SendNotificationResult[]> {
    const results = await this.#notifications.send(Array.isArray(input) ? input : [input], options);
    return Array.isArray(input) ? results : results[0]!;
  }

  /** Delivers the records that are due on one thread. Returns how many must wait. Called by the host's dispatcher. */
  deliverNotifications(domain: NotificationDomain, due: readonly VersionedNotification[]): Promise<void> {
    return this.#notifications.deliverDue(domain, due);
  }

  /** Follows a thread, starting with its active run or with the chunk after number `after`. */
  async subscribeToThread(options: {
    resourceId?: string;
    threadId: string;
    after?: number;
  }): Promise<AgentThreadSubscription> {
    const threads = await this.#environment.threads();
    return threads.read(options, options?.after);
  }

  /**
   * Answers a waiting tool call. What the run does next is on the thread's stream. `alongside` gives writes that count
   * together with the answer; it is asked again when another process got in between.
   */
  sendToolApproval(
    options: ToolApprovalOptions,
    alongside?: DecideOptions["alongside"],
  ): Promise<{ accepted: true; runId: string; toolCallId: string }> {
    return sendToolApproval(this.#environment, options, alongside);
  }

  /** Approves a waiting tool call and returns the rest of its run as a stream. */
  approveToolCall(options: AnswerCallOptions): Promise<RunOutput> {
    return this.#answerCall(options, { approved: true, resumeData: options?.resumeData });
  }

  /** Declines a waiting tool call and returns the rest of its run as a stream. */
  declineToolCall(options: AnswerCallOptions & { reason?: string }): Promise<RunOutput> {
    const { reason, ...rest } = options ?? {};
    return this.#answerCall(rest, {
      approved: false,
      ...(reason !== undefined && { declineContext: { reason } }),
    });
  }

  /** Continues a suspended tool call with data and returns the rest of its run as a stream. */
  resumeStream(resumeData: unknown, options: Omit<AnswerCallOptions, "resumeData">): Promise<RunOutput> {
    return this.approveToolCall({ ...options, resumeData } as AnswerCallOptions);
  }

  /** Like `resumeStream()`, and runs to the end. */
  async resumeGenerate(
    resumeData: unknown,
    options: Omit<AnswerCallOptions, "resumeData">,
  ): Promise<FullOutput> {
    return (await this.resumeStream(resumeData, options)).getFullOutput();
  }

  /** Like `approveToolCall()`, and runs to the end. */
  async approveToolCallGenerate(options: AnswerCallOptions): Promise<FullOutput> {
    return (await this.approveToolCall(options)).getFullOutput();
  }

  /** Like `declineToolCall()`, and runs to the end. */
  async declineToolCallGenerate(options: AnswerCallOptions & { reason?: string }): Promise<FullOutput> {
    return (await this.declineToolCall(options)).getFullOutput();
  }

  async listSuspendedRuns(
    options: ListSuspendedRunsOptions = {},
  ): Promise<{ runs: SuspendedRun[]; total: number }> {
    const { storage } = await this.#environment.threads();
    return listSuspendedRuns(storage, this.id, options);
  }

  /** The thread's queue was changed in the store, so the active run checks it before its next step. */
  async mailMayHaveCome(target: { threadId: string; resourceId: string }): Promise<void> {
    (await this.#environment.threads()).mailMayHaveCome(target);
  }

  /** The store of its threads, if it is known without a lookup. */
  get threadStorage(): Storage | undefined {
    const { memory } = this.#config;
    return typeof memory === "function" ? undefined : memory?.storage;
  }

  /** A run waits for those of a thread, so they need no free place among the runs of this process. Returns what ends that. */
  async expect(target: { threadId: string; resourceId: string }): Promise<() => void> {
    return (await this.#environment.threads()).expect(target);
  }

  /** The store of the agent's threads: its memory's store, or an in-process store if it has no memory. */
  async getThreadStorage(): Promise<Storage> {
    const { storage } = await this.#environment.threads();
    await storage.init();
    return storage;
  }

  /** Calls back when a run that this process executed on one of this agent's threads has ended. For the host. */
  onRunEnd(listener: (threadId: string) => void): () => void {
    return this.#runs.onEnd(listener);
  }

  /** Continues runs that other processes left unfinished on this agent's threads. Called by the host. */
  async recover(): Promise<void> {
    const memory = await this.getMemory();
    if (!memory?.storage) return;
    await memory.serve?.(this.#environment.memoryAgent(memory.storage));
    await this.#environment.threadsOf(memory.storage).recover();
  }

  /** Runs to the end and returns the whole result. Throws when the run failed. */
  async generate<const Output extends Schema | undefined = undefined>(
    messages: MessagesInput,
    options?: AgentExecutionOptions<Output>,
  ): Promise<FullOutput<Output>> {
    const output = await this.stream(messages, options);
    return output.getFullOutput();
  }

  /** The same as `stream()`: a run does not end before the work it started. */
  streamUntilIdle<const Output extends Schema | undefined = undefined>(
    messages: MessagesInput,
    options?: AgentExecutionOptions<Output>,
  ): Promise<RunOutput<Output>> {
    return this.stream(messages, options);
  }

  /** @deprecated The older spelling of `stream()`, with `defaultStreamOptionsLegacy` under its options. */
  async streamLegacy<const Output extends Schema | undefined = undefined>(
    messages: MessagesInput,
    options?: AgentStreamOptions<Output>,
  ): Promise<RunOutput<Output>> {
    return this.stream(messages, await this.#withDefaults(this.#config.defaultStreamOptionsLegacy, options));
  }

  /** @deprecated The older spelling of `generate()`, with `defaultGenerateOptionsLegacy` under its options. */
  async generateLegacy<const Output extends Schema | undefined = undefined>(
    messages: MessagesInput,
    options?: AgentGenerateOptions<Output>,
  ): Promise<FullOutput<Output>> {
    return this.generate(
      messages,
      await this.#withDefaults(this.#config.defaultGenerateOptionsLegacy, options),
    );
  }

  /** What the agent is made of, for a controller that works with it. */
  get configuration(): AgentConfig {
    return this.#environment.config;
  }

  get hasMemory(): boolean {
    return this.#config.memory !== undefined;
  }

  getInstructions(options?: ContextOptions): Promise<Instructions> {
    return this.#resolve(this.#config.instructions, options);
  }

  getModel(options?: ContextOptions): Promise<ModelConfig> {
    return this.#resolve(this.#config.model, options);
  }

  /** The list of fallbacks, or `null` if the agent has a single model. */
  async getModelList(requestContext?: RequestContext): Promise<ModelFallback[] | null> {
    const model = await this.getModel(requestContext && { requestContext });
    return Array.isArray(model) ? model : null;
  }

  /** The model object behind the agent's `model` setting: the first of a list. */
  async getLLM(options?: ContextOptions & { model?: DynamicArgument<ModelConfig> }): Promise<{
    getModel(): LanguageModel;
    getModelId(): string;
    getProvider(): string;
  }> {
    const [first] = await resolveModel(await this.#resolve(options?.model ?? this.#config.model, options));
    const { model } = first!;
    return {
      getModel: () => model,
      getModelId: () => model.modelId,
      getProvider: () => model.provider,
    };
  }

  getDescription(): string {
    return this.description;
  }

  async listTools(options?: ContextOptions): Promise<Tools> {
    return this.#config.tools ? this.#resolve(this.#config.tools, options) : ({} as Tools);
  }

  /** The older name of `listTools`. */
  getTools(options?: ContextOptions): Promise<Tools> {
    return this.listTools(options);
  }

  /** The agent's own workspace. Without one, it uses the host's. */
  async getWorkspace(options?: ContextOptions): Promise<Workspace | undefined> {
    return this.#config.workspace && this.#resolve(this.#config.workspace, options);
  }

  async listAgents(options?: ContextOptions): Promise<Record<string, Agent<any, any>>> {
    return this.#config.agents ? this.#resolve(this.#config.agents, options) : {};
  }

  async listWorkflows(options?: ContextOptions): Promise<Record<string, any>> {
    return this.#config.workflows ? this.#resolve(this.#config.workflows, options) : {};
  }

  async listScorers(options?: ContextOptions): Promise<Record<string, any>> {
    return this.#config.scorers
      ? this.#resolve(this.#config.scorers as DynamicArgument<Record<string, any>>, options)
      : {};
  }

  async getMetadata(options?: ContextOptions): Promise<Record<string, unknown>> {
    return this.#config.metadata ? this.#resolve(this.#config.metadata, options) : {};
  }

  getMemory(options?: ContextOptions): Promise<MastraMemory | undefined> {
    return this.#environment.memory(options);
  }

  async getDefaultOptions(options?: ContextOptions): Promise<AgentExecutionOptions> {
    return this.#config.defaultOptions ? this.#resolve(this.#config.defaultOptions, options) : {};
  }

  /** Lets runs on threads end, or hands them to other processes, and waits for background work. The host calls it. */
  async close(): Promise<void> {
    this.#signals.stop();
    await this.#environment.close();
  }

  /** Waits for background work such as titles and indexing. */
  settled(): Promise<void> {
    return this.#environment.settled();
  }

  async #answerCall(
    options: AnswerCallOptions,
    answer: Parameters<typeof checkDecision>[0],
  ): Promise<RunOutput> {
    return new RunOutput(await this.#runs.answer(options ?? {}, checkDecision(answer)));
  }

  #resolve<Value>(argument: DynamicArgument<Value>, options?: ContextOptions): Promise<Value> {
    return this.#environment.resolve(argument, options);
  }

  async #withDefaults<Options extends AgentExecutionOptions<any>>(
    defaults: DynamicArgument<AgentExecutionOptions> | undefined,
    options: Options | undefined,
  ): Promise<Options> {
    const resolved = defaults && (await this.#resolve(defaults, options));
    return mergeOptions(resolved as Options | undefined, options);
  }
}
