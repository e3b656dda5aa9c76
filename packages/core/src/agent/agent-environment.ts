import type { Workspace } from "../workspace/workspace.ts";
import { AgentError } from "../errors.ts";
import { defaultLogger, type Logger } from "../logger.ts";
import type { MastraMemory, MemoryAgent } from "../memory/memory.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import type { Storage } from "../storage/storage.ts";
import { openTelemetry } from "../telemetry/telemetry.ts";
import { realSystem, type System } from "../system.ts";
import { openThreads, type RunCarrier, type Threads } from "../thread/threads.ts";
import type { TelemetrySettings } from "../telemetry/telemetry.ts";
import { ToolCompiler } from "../tool/tool-set.ts";
import { isProcessorWorkflow, type ProcessorWorkflow, toProcessor } from "../workflow/processor-workflow.ts";
import type { Processor } from "../processor/processor.ts";
import type { WorkflowHost } from "../workflow/workflow-host.ts";
import { OPTION_RULES } from "../run/option-rules.ts";
import { unknownOption } from "../unknown-options.ts";
import type { AgentConfig, ThreadsConfig } from "./agent-config.ts";
import { type DynamicArgument, type DynamicContext, resolveDynamic } from "./dynamic.ts";
import { SubagentTools } from "./subagent-tools.ts";
import { WorkflowTools } from "./workflow-tools.ts";

/** What an agent needs of the host it is registered with. */
export interface AgentHost {
  readonly logger?: Logger | undefined;
  readonly system?: System | undefined;
  readonly threads?: ThreadsConfig | undefined;
  readonly telemetry?: TelemetrySettings | undefined;
  readonly durableContextKeys?: readonly string[] | undefined;
  getStorage(): MastraMemory["storage"];
  getScorerById?(id: string): unknown;
}

export type ContextOptions = { requestContext?: RequestContext<any>; runtimeContext?: RequestContext<any> };

/** Distinct unknown options that an agent warns about. */
const MOST_UNKNOWN = 100;
/** How long the events of a thread without memory are kept. */
const EPHEMERAL_RETENTION_MS = 60_000;

/** What the parts of an agent work with. Some of it changes when the agent is registered with a host. */
export class AgentEnvironment {
  readonly id: string;
  readonly name: string;
  readonly config: AgentConfig;
  readonly compiler: ToolCompiler = new ToolCompiler();
  readonly subagents: SubagentTools = new SubagentTools();
  readonly workflows: WorkflowTools = new WorkflowTools();
  readonly #processors = new WeakMap<ProcessorWorkflow, Processor>();
  readonly #carrier: () => RunCarrier;
  readonly #background = new Set<Promise<unknown>>();
  readonly #opened = new Set<Threads>();
  #host: AgentHost | undefined;
  #ephemeral: Storage | undefined;
  #skillsWorkspace: Promise<Workspace> | undefined;
  readonly #unknown = new Set<string>();
  #warned = false;

  /** `carrier` executes the runs of the agent's threads. */
  constructor(id: string, config: AgentConfig, carrier: () => RunCarrier) {
    this.id = id;
    this.name = config.name;
    this.config = config;
    this.#carrier = carrier;
  }

  get host(): AgentHost | undefined {
    return this.#host;
  }

  /** The workspace for skills of an agent that has no other: one for all its runs. */
  skillsWorkspace(open: () => Promise<Workspace>): Promise<Workspace> {
    return (this.#skillsWorkspace ??= open());
  }

  useHost(host: AgentHost): void {
    this.#host = host;
    const { memory } = this.config;
    const storage = host.getStorage();
    if (memory && typeof memory !== "function" && storage) memory.useStorage(storage);
  }

  get system(): System {
    return this.config.system ?? this.#host?.system ?? realSystem;
  }

  get logger(): Logger {
    return this.config.logger ?? this.#host?.logger ?? defaultLogger;
  }

  get threadsConfig(): ThreadsConfig {
    return this.config.threads ?? this.#host?.threads ?? {};
  }

  get durableContextKeys(): readonly string[] {
    return this.config.durableContextKeys ?? this.#host?.durableContextKeys ?? [];
  }

  async resolve<Value>(argument: DynamicArgument<Value>, options: ContextOptions = {}): Promise<Value> {
    const requestContext = options.requestContext ?? options.runtimeContext ?? new RequestContext();
    const context: DynamicContext = { requestContext, runtimeContext: requestContext, mastra: this.#host };
    return resolveDynamic(argument, context);
  }

  async memory(options?: ContextOptions): Promise<MastraMemory | undefined> {
    return this.config.memory && this.resolve(this.config.memory, options);
  }

  /** For what cannot be done without a store that lasts. */
  async requireMemory(what: string): Promise<MastraMemory & { storage: Storage }> {
    const memory = await this.memory();
    if (memory?.storage) return memory as MastraMemory & { storage: Storage };
    throw new AgentError(
      memory ? "storage-required" : "memory-required",
      `${what} needs storage, but agent "${this.name}" has no ${memory ? "storage" : "memory"}. Pass memory: new Memory({ storage }) to the agent.`,
    );
  }

  /** The agent's threads, without waiting where the memory is not a function, so that sends can answer at once. */
  threads(): Threads | Promise<Threads> {
    const { memory } = this.config;
    if (typeof memory !== "function") return this.threadsOf(memory?.storage);
    return this.memory().then((resolved) => this.threadsOf(resolved?.storage));
  }

  /** A workflow as a processor, compiled once. */
  processorOf(processor: Processor | ProcessorWorkflow): Processor {
    if (!isProcessorWorkflow(processor)) return processor;
    const known = this.#processors.get(processor);
    if (known) return known;
    const made = toProcessor(processor, this.#host as WorkflowHost | undefined);
    this.#processors.set(processor, made);
    return made;
  }

  /** Warns once about an option of a call that nothing reads. */
  readonly warnUnknown = (name: string): void => {
    if (this.#unknown.has(name) || this.#unknown.size >= MOST_UNKNOWN) return;
    this.#unknown.add(name);
    this.logger.warn(unknownOption(`A run of agent "${this.name}"`, name, OPTION_RULES));
  };

  warnOnce(words: string): void {
    if (this.#warned) return;
    this.#warned = true;
    this.logger.warn(words);
  }

  /** The threads of a store, which this agent serves. Without a store, they are in this process alone. */
  threadsOf(storage: Storage | undefined): Threads {
    const { recover, ...limits } = this.threadsConfig;
    if (!storage) {
      this.#ephemeral ??= new InMemoryStorage();
      Object.assign(limits, { retentionMs: EPHEMERAL_RETENTION_MS, keepHistory: false });
    }
    const threads = openThreads(storage ?? this.#ephemeral!, this.system, this.logger, limits);
    threads.serve(this.#carrier());
    this.#opened.add(threads);
    if (storage && recover !== false) {
      threads
        .recover()
        .catch((error: unknown) =>
          this.logger.error("Recovering runs that other processes left unfinished failed", error),
        );
    }
    return threads;
  }

  /** This agent, as its memory needs it for work without a run. */
  memoryAgent(storage: Storage): MemoryAgent {
    const threads = (): Threads => this.threadsOf(storage);
    return {
      id: this.id,
      get threads() {
        return threads();
      },
      model: () => this.resolve(this.config.model),
      telemetry: async () => {
        const { defaultOptions } = this.config;
        return openTelemetry(defaultOptions && (await this.resolve(defaultOptions)).telemetry);
      },
    };
  }

  /** Runs work in the background; `settled` waits for it. */
  waitUntil(work: Promise<unknown>): void {
    const tracked = work
      .catch((error: unknown) => this.logger.warn(`Background work of agent "${this.name}" failed`, error))
      .finally(() => this.#background.delete(tracked));
    this.#background.add(tracked);
  }

  async settled(): Promise<void> {
    while (this.#background.size > 0) await Promise.allSettled(this.#background);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#opened].map((threads) => threads.close()));
    await this.settled();
  }
}
