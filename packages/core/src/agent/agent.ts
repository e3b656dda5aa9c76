import { AgentError, showValue } from "../errors.ts";
import { defaultLogger, type Logger } from "../logger.ts";
import type { MastraMemory } from "../memory/memory.ts";
import type { MessagesInput } from "../message/message-input.ts";
import type { Instructions } from "../message/system-message.ts";
import type { ModelConfig } from "../model/model.ts";
import type { NotificationSignalInput } from "../notification/notification-input.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { refuseOwnRun, refuseTooDeep } from "../run/current-run.ts";
import { runLoop } from "../run/loop.ts";
import type { Resumption } from "../run/resume.ts";
import { Run } from "../run/run.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import type { Schema } from "../schema/schema.ts";
import type { StateSignalInput } from "../signal/lane.ts";
import type { MessageInput, SignalInput } from "../signal/signal.ts";
import type { NotificationDomain } from "../storage/notification-domain.ts";
import type { VersionedNotification } from "../storage/notification-rows.ts";
import type { Storage } from "../storage/storage.ts";
import { type FullOutput, RunOutput } from "../stream/run-output.ts";
import { realSystem, type System } from "../system.ts";
import type { ListSuspendedRunsOptions, SuspendedRun } from "../thread/inspect/list-suspended-runs.ts";
import type { AgentThreadSubscription } from "../thread/log/subscription.ts";
import type { DecideOptions } from "../thread/journal/decide-call.ts";
import type { LocalThreads } from "../thread/hold/local-threads.ts";
import type { ToolsInput } from "../tool/tool.ts";
import { ToolCompiler } from "../tool/tool-set.ts";
import type { AgentConfig, AgentGenerateOptions, AgentStreamOptions, EditorConfig } from "./agent-config.ts";
import { checkDecision } from "./check-decision.ts";
import { checkDurableContextKeys, checkOptions } from "./check-options.ts";
import { type DynamicArgument, type DynamicContext, resolveDynamic } from "./dynamic.ts";
import { mergeOptions } from "./merge-options.ts";
import { prepareRun, type RunStart } from "./prepare-run.ts";
import {
  AgentNotifications,
  type NotificationOptions,
  type SendNotificationResult,
} from "./agent-notifications.ts";
import { ParkedRuns } from "./parked-runs.ts";
import type { SendOptions, SendResult, SendStateResult, SendToThreadOptions } from "./send-options.ts";
import { SubagentTools } from "./subagent-tools.ts";
import { ThreadApprovals, type ToolApprovalOptions } from "./thread-approvals.ts";
import { AgentRuns, type ThreadsConfig } from "./agent-runs.ts";
import { ThreadSends } from "./thread-sends.ts";
import { ThreadSubscriptions } from "./thread-subscriptions.ts";

/** What an agent needs of the host it is registered with. */
export interface AgentHost {
  readonly logger?: Logger | undefined;
  readonly system?: System | undefined;
  readonly threads?: ThreadsConfig | undefined;
  readonly durableContextKeys?: readonly string[] | undefined;
  getStorage(): MastraMemory["storage"];
}

/** Answers a waiting call and goes on with its run; the other options are for the rest of the run. */
export type AnswerCallOptions = AgentExecutionOptions & {
  runId: string;
  toolCallId?: string;
  resumeData?: unknown;
};

type ContextOptions = { requestContext?: RequestContext<any>; runtimeContext?: RequestContext<any> };

/**
 * A model with instructions, tools and memory. An agent keeps no conversation of its own: every call is a run, and
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
  readonly #compiler = new ToolCompiler();
  readonly #subagents = new SubagentTools();
  readonly #background = new Set<Promise<unknown>>();
  readonly #runs: AgentRuns;
  readonly #sends: ThreadSends;
  readonly #subscriptions: ThreadSubscriptions;
  readonly #approvals: ThreadApprovals;
  readonly #notifications: AgentNotifications;
  readonly #parked = new ParkedRuns();
  #host: AgentHost | undefined;

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
    const environment = () => ({
      system: this.#system,
      logger: this.#logger,
      threads: config.threads ?? this.#host?.threads,
      durableContextKeys: config.durableContextKeys ?? this.#host?.durableContextKeys ?? [],
    });
    this.#runs = new AgentRuns({
      id: this.id,
      environment,
      prepare: (options, start) => this.#prepare([], options, start),
    });
    const threadsHost = {
      id: this.id,
      name: this.name,
      environment,
      memory: () => this.getMemory(),
      runtime: () => this.#runtime(),
    };
    this.#sends = new ThreadSends(threadsHost);
    this.#subscriptions = new ThreadSubscriptions(threadsHost);
    this.#approvals = new ThreadApprovals(threadsHost);
    this.#notifications = new AgentNotifications(threadsHost, config.notifications);
    if (config.mastra) this.useHost(config.mastra as AgentHost);
  }

  /** Called by the host the agent is registered with. */
  useHost(host: AgentHost): void {
    this.#host = host;
    const { memory } = this.#config;
    const storage = host.getStorage();
    if (memory && typeof memory !== "function" && storage) memory.useStorage(storage);
  }

  /**
   * Starts a run and answers at once with its streams and promises. The run goes on by itself, read or not. Throws
   * only for calls that cannot be started: bad options, bad input, a request context that does not fit.
   */
  async stream<const Output extends Schema | undefined = undefined>(
    messages: MessagesInput,
    options?: AgentExecutionOptions<Output>,
  ): Promise<RunOutput<Output>> {
    const run = new Run(await this.#prepare(messages, options));
    void this.#carryOut(run);
    return new RunOutput<Output>(run);
  }

  /** Like `stream()`, for a tool of another agent: a call that needs a person fails the run, as nobody could answer it. */
  async streamAsTool(messages: MessagesInput, options: AgentExecutionOptions): Promise<RunOutput> {
    refuseTooDeep(this.name);
    return this.stream(messages, { ...options, asTool: true });
  }

  /** Sends a person's message: into the active run of a thread, or to open one. */
  sendMessage(message: MessageInput, options: SendOptions): SendResult {
    return this.#sends.sendMessage(message, options);
  }

  /** Sends a person's message for a run of its own, after the active one. */
  queueMessage(message: MessageInput, options: SendToThreadOptions): SendResult {
    return this.#sends.queueMessage(message, options);
  }

  /** Sends context that a system made. */
  sendSignal(signal: SignalInput, options: SendOptions): SendResult {
    return this.#sends.sendSignal(signal, options);
  }

  /** Tells a thread the current state of something, unless it knows. */
  sendStateSignal(state: StateSignalInput, options: SendToThreadOptions): Promise<SendStateResult> {
    return this.#sends.sendStateSignal(state, options);
  }

  /**
   * Puts an external event into the inbox of a thread, and lets the delivery policy decide when the model hears of it.
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

  /** Delivers records that are due on one thread; answers how many have to wait. The host's dispatcher calls it. */
  deliverNotifications(domain: NotificationDomain, due: readonly VersionedNotification[]): Promise<void> {
    return this.#notifications.deliverDue(domain, due);
  }

  /** Follows a thread, from its active run on, or from the chunk after number `after`. */
  subscribeToThread(options: {
    resourceId?: string;
    threadId: string;
    after?: number;
  }): Promise<AgentThreadSubscription> {
    return this.#subscriptions.subscribe(options);
  }

  /**
   * Answers a waiting tool call. What the run does next is on the thread's stream. `alongside` gives writes that count
   * together with the answer; it is asked again when another process got in between.
   */
  sendToolApproval(
    options: ToolApprovalOptions,
    alongside?: DecideOptions["alongside"],
  ): Promise<{ accepted: true; runId: string; toolCallId: string }> {
    return this.#approvals.sendToolApproval(options, alongside);
  }

  /** Approves a waiting tool call and answers the rest of its run as a stream. */
  approveToolCall(options: AnswerCallOptions): Promise<RunOutput> {
    return this.#answerCall(options, { approved: true, resumeData: options?.resumeData });
  }

  /** Declines a waiting tool call and answers the rest of its run as a stream. */
  declineToolCall(options: AnswerCallOptions & { reason?: string }): Promise<RunOutput> {
    const { reason, ...rest } = options ?? {};
    return this.#answerCall(rest, {
      approved: false,
      ...(reason !== undefined && { declineContext: { reason } }),
    });
  }

  listSuspendedRuns(options?: ListSuspendedRunsOptions): Promise<{ runs: SuspendedRun[]; total: number }> {
    return this.#approvals.listSuspendedRuns(options);
  }

  /** Where the agent's threads are: the store of its memory, or one of this process alone where it has none. */
  async getThreadStorage(): Promise<Storage> {
    const { storage } = await this.#runtime();
    await storage.init();
    return storage;
  }

  /** Calls back when a run on one of this agent's threads is over that this process carried out. For the host. */
  onRunEnd(listener: (threadId: string) => void): () => void {
    return this.#runs.onEnd(listener);
  }

  /** Takes up what other processes left unfinished on this agent's threads. The host calls it; a lone agent need not. */
  async recover(): Promise<void> {
    const memory = await this.getMemory();
    if (memory?.storage) await this.#runs.runtime(memory.storage).recover();
  }

  /** Runs to the end and answers everything at once. Throws when the run failed. */
  async generate<const Output extends Schema | undefined = undefined>(
    messages: MessagesInput,
    options?: AgentExecutionOptions<Output>,
  ): Promise<FullOutput<Output>> {
    const output = await this.stream(messages, options);
    return output.getFullOutput();
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
    return this.#config as unknown as AgentConfig;
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

  async listAgents(options?: ContextOptions): Promise<Record<string, Agent<any, any>>> {
    return this.#config.agents ? this.#resolve(this.#config.agents, options) : {};
  }

  async listWorkflows(options?: ContextOptions): Promise<Record<string, any>> {
    return this.#config.workflows ? this.#resolve(this.#config.workflows, options) : {};
  }

  async listScorers(options?: ContextOptions): Promise<Record<string, any>> {
    return this.#config.scorers ? this.#resolve(this.#config.scorers, options) : {};
  }

  async getMetadata(options?: ContextOptions): Promise<Record<string, unknown>> {
    return this.#config.metadata ? this.#resolve(this.#config.metadata, options) : {};
  }

  async getMemory(options?: ContextOptions): Promise<MastraMemory | undefined> {
    return this.#config.memory && this.#resolve(this.#config.memory, options);
  }

  async getDefaultOptions(options?: ContextOptions): Promise<AgentExecutionOptions> {
    return this.#config.defaultOptions ? this.#resolve(this.#config.defaultOptions, options) : {};
  }

  /** Lets runs on threads end, or hands them to other processes, and waits for background work. The host calls it. */
  async close(): Promise<void> {
    await this.#runs.close();
    await this.settled();
  }

  /** Waits for work that goes on beside the answers, such as titles and indexing. */
  async settled(): Promise<void> {
    while (this.#background.size > 0) await Promise.allSettled(this.#background);
  }

  /** Without waiting where the memory is not a function, so that sends can answer at once. */
  #runtime(): LocalThreads | Promise<LocalThreads> {
    const { memory } = this.#config;
    if (typeof memory !== "function") return this.#runs.runtime(memory?.storage);
    return this.getMemory().then((resolved) => this.#runs.runtime(resolved?.storage));
  }

  async #answerCall(
    options: AnswerCallOptions,
    answer: Parameters<typeof checkDecision>[0],
  ): Promise<RunOutput> {
    const { runId, toolCallId, resumeData: _, ...rest } = options ?? {};
    checkOptions(rest);
    const decision = checkDecision(answer);
    if (this.#parked.has(runId)) {
      const goesOn = await this.#parked.answer(runId, toolCallId, decision, async (parked, resumption) => {
        // Its context is among the messages already.
        const {
          threadId: __,
          resourceId: ___,
          memory: ____,
          context: _____,
          ...before
        } = parked.spec.options;
        const run = new Run(await this.#prepare([], { ...before, ...rest, runId }));
        void this.#carryOut(run, resumption);
        return run;
      });
      return new RunOutput(goesOn);
    }
    refuseOwnRun(runId);
    const expected = this.#runs.expect(runId, rest);
    try {
      await this.#approvals.decide(runId, toolCallId, decision);
    } catch (error) {
      expected.forget();
      throw error;
    }
    return new RunOutput(await expected.run);
  }

  async #carryOut(run: Run, resumption?: Resumption): Promise<void> {
    await runLoop(run, resumption);
    if (run.spec.journal) this.#runs.ended(run);
    else if (run.status !== "suspended") this.#parked.drop(run);
  }

  #prepare(
    messages: MessagesInput,
    options: AgentExecutionOptions | undefined,
    start?: RunStart,
  ): ReturnType<typeof prepareRun> {
    return prepareRun(
      {
        agent: this,
        config: this.#config as unknown as AgentConfig,
        mastra: this.#host,
        compiler: this.#compiler,
        subagents: this.#subagents,
        system: this.#system,
        logger: this.#logger,
        waitUntil: (work) => this.#waitUntil(work),
        park: (run, step) => this.#parked.park(run, step),
        joinThread: (storage, target, ticket) => this.#runs.joinThread(storage, target, ticket),
      },
      messages,
      options,
      start,
    );
  }

  get #system(): System {
    return this.#config.system ?? this.#host?.system ?? realSystem;
  }

  get #logger(): Logger {
    return this.#config.logger ?? this.#host?.logger ?? defaultLogger;
  }

  #waitUntil(work: Promise<unknown>): void {
    const tracked = work
      .catch((error: unknown) => this.#logger.warn(`Background work of agent "${this.name}" failed`, error))
      .finally(() => this.#background.delete(tracked));
    this.#background.add(tracked);
  }

  async #resolve<Value>(argument: DynamicArgument<Value>, options: ContextOptions = {}): Promise<Value> {
    return resolveDynamic(argument, this.#context(options));
  }

  async #withDefaults<Options extends AgentExecutionOptions<any>>(
    defaults: DynamicArgument<AgentExecutionOptions> | undefined,
    options: Options | undefined,
  ): Promise<Options> {
    const resolved = defaults && (await resolveDynamic(defaults, this.#context(options ?? {})));
    return mergeOptions(resolved as Options | undefined, options);
  }

  #context(options: ContextOptions): DynamicContext {
    const requestContext = options.requestContext ?? options.runtimeContext ?? new RequestContext();
    return { requestContext, runtimeContext: requestContext, mastra: this.#host };
  }
}
