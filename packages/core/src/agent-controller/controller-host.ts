import { Agent } from "../agent/agent.ts";
import type { AgentConfig } from "../agent/agent-config.ts";
import { resolveDynamic } from "../agent/dynamic.ts";
import { AgentError, showValue } from "../errors.ts";
import { defaultLogger, type Logger } from "../logger.ts";
import { Mastra } from "../mastra/mastra.ts";
import type { MastraMemory } from "../memory/memory.ts";
import { RequestContext } from "../request-context/request-context.ts";
import type { CloneThreadOptions, CloneThreadResult } from "../storage/clone-thread.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import type { Storage } from "../storage/storage.ts";
import type { ThreadDomain } from "../storage/thread-domain.ts";
import { realSystem, type System } from "../system.ts";
import { defaultMode } from "./check-config.ts";
import type { AgentControllerConfig } from "./config.ts";
import { checkStore, ControllerMemory } from "./controller-memory.ts";
import { omAgent } from "./om-settings.ts";
import { PlainHistory } from "./plain-history.ts";
import { type AgentControllerRequestContext, CONTROLLER_KEY } from "./request-context.ts";
import { modeOf } from "./run-profile.ts";
import type { SessionHost } from "./session-core.ts";
import type { StoredSession } from "./session-domain.ts";
import { SessionRows } from "./session-rows.ts";
import { StateRules } from "./state-rules.ts";

/** A memory that does more with threads than the store does, such as deleting their embeddings. */
export type ThreadMemory = MastraMemory & {
  cloneThread?(options: CloneThreadOptions): Promise<CloneThreadResult>;
  deleteThread?(threadId: string): Promise<void>;
};

/** What a controller works with: its configuration, and what its host provides, if it is registered with one. */
export class ControllerHost implements SessionHost {
  readonly config: AgentControllerConfig;
  readonly stateRules: StateRules;
  readonly rows: SessionRows;
  /** The one agent behind all modes. The ids of a run decide what the run is made of. */
  readonly agent: Agent;
  #registered: Mastra | undefined;
  #own: Mastra | undefined;
  #ephemeral: Storage | undefined;

  constructor(config: AgentControllerConfig, profile: NonNullable<AgentConfig["profile"]>) {
    this.config = config;
    this.stateRules = new StateRules(config);
    this.rows = new SessionRows(this);
    this.agent = this.#makeAgent(profile);
  }

  get system(): System {
    return this.config.system ?? this.#registered?.system ?? realSystem;
  }

  get logger(): Logger {
    return this.config.logger ?? this.#registered?.logger ?? defaultLogger;
  }

  /** Where everything is: the controller's store, the host's, the memory's, or an in-memory one. */
  get storage(): Storage {
    return this.#given ?? (this.#ephemeral ??= new InMemoryStorage());
  }

  /** Whether anything outlives the process. */
  get lasts(): boolean {
    return this.#given !== undefined;
  }

  get #given(): Storage | undefined {
    const { storage, memory, agent } = this.config;
    const ofMemory = [memory, agent?.configuration.memory].flatMap((one) =>
      typeof one === "function" ? [] : (one?.storage ?? []),
    );
    return storage ?? this.#registered?.getStorage() ?? ofMemory[0];
  }

  /** The host; `undefined` for an unregistered controller before `begin`. */
  get mastra(): Mastra | undefined {
    return this.#registered ?? this.#own;
  }

  register(mastra: Mastra): void {
    this.#registered = mastra;
    this.agent.useHost(mastra);
  }

  async begin(): Promise<void> {
    await this.storage.init();
    const { storage, logger, system } = this;
    if (!this.#registered) this.#own ??= new Mastra({ storage, logger, system, threads: { recover: false } });
  }

  async end(): Promise<void> {
    if (!this.#registered) await this.agent.close();
    this.#own = undefined;
  }

  newId(): string {
    return this.config.idGenerator?.() ?? this.system.newId();
  }

  async memory(): Promise<ThreadDomain> {
    return (await this.storage.getStore("memory"))!;
  }

  storeRow(seed: StoredSession): Promise<StoredSession> {
    return this.rows.store(seed);
  }

  /** The memory of a mode, or `null` if none is configured. */
  async memoryOf(modeId: string): Promise<ThreadMemory | null> {
    const mode = modeOf(this.config, modeId);
    const configured = (mode.agent ?? this.config.agent)?.configuration.memory ?? this.config.memory;
    if (configured === undefined) return null;
    const requestContext = new RequestContext();
    const { mastra } = this;
    const memory = await resolveDynamic(configured, {
      requestContext,
      runtimeContext: requestContext,
      mastra,
    });
    if (!memory)
      throw new AgentError(
        "memory-required",
        `The memory function of controller "${this.config.id}" returned ${showValue(memory)}.`,
      );
    checkStore(memory, this.storage);
    return memory;
  }

  /** The memories of all modes that are available now. */
  async #memories(): Promise<Set<MastraMemory>> {
    const found = new Set<MastraMemory>();
    for (const { id } of this.config.modes) {
      try {
        const memory = await this.memoryOf(id);
        if (memory) found.add(memory);
      } catch (error) {
        this.logger.warn(`The memory of mode "${id}" cannot work in the background yet`, error);
      }
    }
    return found;
  }

  get hasMemory(): boolean {
    const { memory, agent, modes } = this.config;
    return memory !== undefined || agent?.hasMemory === true || modes.some((mode) => mode.agent?.hasMemory);
  }

  #makeAgent(profile: NonNullable<AgentConfig["profile"]>): Agent {
    const { id, agent, threads, logger, system } = this.config;
    const { durableContextKeys, notifications } = agent?.configuration ?? {};
    return new Agent({
      id,
      name: id,
      description: agent?.description ?? "",
      instructions: "",
      // What a run really uses comes from its profile.
      model: "none/none",
      memory: new ControllerMemory({
        storage: () => this.storage,
        choose: async ({ requestContext }) => {
          const { session } = requestContext.get(CONTROLLER_KEY) as AgentControllerRequestContext;
          const memory = await this.memoryOf(session?.modeId ?? defaultMode(this.config).id);
          return memory ?? new PlainHistory(this.storage);
        },
        all: () => this.#memories(),
        agent: (own) => omAgent(this, own),
      }),
      profile,
      ...(durableContextKeys && { durableContextKeys }),
      ...(notifications && { notifications }),
      ...(threads && { threads }),
      ...(logger && { logger }),
      ...(system && { system }),
    });
  }
}
