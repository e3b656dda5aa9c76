import { AgentError } from "@selvedge/core/errors";
import { type MemoryAgent, openMemoryThreads, realSystem, sleep, type System } from "@selvedge/core/memory";
import {
  assemble,
  MESSAGES,
  type ObservationalMemoryRecord,
  OM_JOBS,
  type OmHistoryOptions,
  type OmJobRow,
  omKeyOf,
  type Storage,
  THREADS,
  update,
} from "@selvedge/core/storage";
import type { StoredMessage } from "@selvedge/protocol";
import { toWarn } from "../warning.ts";
import { hasOpenCall } from "./message-sums.ts";
import { DEFAULT_OM_MODEL, resolveOmConfig, type OmConfig, type OmRoleConfig } from "./om-config.ts";
import { omChunk } from "./om-chunks.ts";
import { OmEngine } from "./om-engine.ts";
import { insertObservation, insertReflection } from "./om-job-rows.ts";
import type { ObservationalMemoryOptions } from "./om-options.ts";
import { logMessages } from "./om-processor.ts";
import type { OmTurn } from "./om-turn.ts";
import { type OmGeneration, type OmView, viewChunks, viewGenerations } from "./om-inspection.ts";
import { continuationMessage } from "./render-log.ts";

export interface OmThread {
  threadId: string;
  /** The thread's owner. Default: looked up. */
  resourceId?: string | undefined;
}

/** What a run sees of the past. */
export interface MemoryContext {
  systemMessage: string | null;
  messages: StoredMessage[];
  hasObservations: boolean;
  omRecord: ObservationalMemoryRecord | null;
  continuationMessage: StoredMessage | null;
  otherThreadsContext: string | null;
}

export interface ObservationalMemoryConfig extends ObservationalMemoryOptions {
  storage: Storage;
  system?: System | undefined;
  onWarning?: Parameters<typeof toWarn>[0];
}

/** Observational memory of a thread, for apps that control it themselves. */
export class ObservationalMemory {
  readonly #engine: OmEngine;
  readonly #storage: () => Storage;
  readonly #system: System;

  constructor(
    config: ObservationalMemoryConfig | { engine: OmEngine; storage: () => Storage; system: System },
  ) {
    if ("engine" in config) {
      this.#engine = config.engine;
      this.#storage = config.storage;
      this.#system = config.system;
      return;
    }
    const { storage, system = realSystem, onWarning, ...options } = config;
    const resolved = resolveOmConfig(options);
    if (!resolved)
      throw new AgentError(
        "invalid-argument",
        "`enabled` of new ObservationalMemory({ … }) cannot be false. Omit it.",
      );
    this.#system = system;
    this.#storage = () => storage;
    const noMemory = { updateWorkingMemory: async () => {} };
    const warn = toWarn(onWarning);
    this.#engine = new OmEngine({ config: resolved, system, warn, memory: noMemory, storage: this.#storage });
  }

  get config(): OmConfig {
    return this.#engine.config;
  }

  get storage(): Storage {
    return this.#storage();
  }

  get engine(): OmEngine {
    return this.#engine;
  }

  /** The settings in plain values, models by id; instruction texts only if asked for. */
  describe({ instructions = true }: { instructions?: boolean } = {}): Record<string, unknown> {
    const { hooks: _, observation, reflection, retrieval, ...rest } = this.config;
    const plain = ({ model, extract, instruction, hasThreshold: _, ...role }: OmRoleConfig): object => ({
      ...role,
      ...(instructions && { instruction }),
      model: nameOf(model),
      extract: extract.map(({ slug }) => slug),
    });
    const { instructions: words, ...recall } = retrieval ?? {};
    return {
      ...rest,
      retrieval: retrieval && { ...recall, ...(instructions && { instructions: words }) },
      observation: plain(observation),
      reflection: plain(reflection),
    };
  }

  /** The current data of `data-om-status`. */
  async getStatus(thread: OmThread): Promise<Record<string, unknown>> {
    const turn = await this.#turn(thread);
    return turn.view.status(0);
  }

  /** The log, what waits to join it, and the work that is not done. */
  async inspect(thread: OmThread): Promise<OmView> {
    const address = await this.#address(thread);
    const state = await (await this.#engine.domain()).read(address);
    const { record, part, limits } = (await this.#turn(thread)).view;
    return {
      scope: address.scope,
      generation: record.generation,
      windows: {
        messages: { tokens: part.pending_tokens, threshold: limits.messageTokens },
        observations: { tokens: record.log_tokens, threshold: limits.observationTokens },
      },
      leftOut: part.omitted_count,
      models: {
        observer: nameOf(this.config.observation.model),
        reflector: nameOf(this.config.reflection.model),
      },
      chunks: await viewChunks(this.#storage(), address, state.chunks),
      jobs: state.jobs.map(toJobView),
    };
  }

  /** The log before and after each reflection, newest first. */
  async generations(thread: OmThread, limit: number = MOST_GENERATIONS): Promise<OmGeneration[]> {
    await this.#engine.domain();
    return viewGenerations(this.#storage(), await this.#address(thread), limit);
  }

  /** Starts failed and postponed work of the thread now. Does not wait for it. */
  async retry(thread: OmThread): Promise<void> {
    const address = await this.#address(thread);
    await this.#engine.domain();
    const where = {
      thread_id: omKeyOf(address),
      source: thread.threadId,
      state: { in: ["failed", "waiting"] },
    } as const;
    const set = { state: "waiting", attempt: 0, due_at: Math.trunc(this.#system.now()) } as const;
    await this.#storage().commit([update(OM_JOBS, { where, set })]);
    this.#engine.serve(this.#agent()).nudge();
  }

  /** Observes everything unobserved and activates it. Returns whether there was anything. */
  async observe(thread: OmThread): Promise<boolean> {
    const before = await this.getRecord(thread.threadId, thread.resourceId);
    await this.buffer(thread);
    const after = await this.getRecord(thread.threadId, thread.resourceId);
    await this.activate(thread);
    return (after?.totalTokensObserved ?? 0) > (before?.totalTokensObserved ?? 0);
  }

  /** Observes everything unobserved without showing it to the agent. */
  async buffer(thread: OmThread): Promise<void> {
    const address = await this.#address(thread);
    const unobserved = await this.loadUnobservedMessages(thread, "covered");
    const end = unobserved.findIndex(({ content }) => hasOpenCall(content.parts));
    const last = (end < 0 ? unobserved : unobserved.slice(0, end)).at(-1);
    if (!last) return;
    const turn = await this.#turn(thread);
    await turn.commits.store(this.#storage());
    const now = Math.trunc(this.#system.now());
    const agent = this.#agent();
    const facts = { address, agentId: agent.id, now, tokens: turn.view.part.pending_tokens, waited: true };
    // The job starts where the coverage ends; its own id keeps it apart from jobs of runs.
    const afterId = `manual ${this.#system.newId()}`;
    await this.#storage().commit(insertObservation({ ...facts, afterId, toId: last.id }));
    await this.#work(agent);
  }

  /** Activates what is buffered, if no run is active. Returns whether there was anything. */
  async activate(thread: OmThread): Promise<boolean> {
    const turn = await this.#turn(thread, true);
    return turn.activate({ now: this.#system.now(), currentModel: undefined }, { now: true });
  }

  /** Rewrites the log and activates the result. Returns whether it did. */
  async reflect(thread: OmThread): Promise<boolean> {
    const address = await this.#address(thread);
    const turn = await this.#turn(thread);
    const { version, log_tokens: tokens, generation } = turn.view.record;
    if (tokens === 0) return false;
    const agent = this.#agent();
    const now = Math.trunc(this.#system.now());
    const facts = { address, agentId: agent.id, now, tokens, waited: true };
    await this.#storage().commit([insertReflection({ ...facts, upto: version })]);
    await this.#work(agent);
    await this.activate(thread);
    const after = await this.getRecord(thread.threadId, thread.resourceId);
    return (after?.generationCount ?? 0) > generation;
  }

  /** Observes and activates what is left, for example at the end of a conversation. */
  async finalize(thread: OmThread): Promise<void> {
    await this.observe(thread);
  }

  /** The messages that no active chunk covers; with `"covered"`, those that no chunk covers. */
  async loadUnobservedMessages(
    thread: OmThread,
    after: "active" | "covered" = "active",
  ): Promise<StoredMessage[]> {
    const { part } = (await this.#turn(thread)).view;
    const seq = after === "active" ? part.cursor_seq : part.covered_seq;
    const storage = this.#storage();
    const rows = await storage.select({
      table: MESSAGES,
      where: { thread_id: thread.threadId, seq: { gt: seq } },
      orderBy: [{ column: "seq" }],
    });
    return assemble(storage, rows);
  }

  /** The text of the log. */
  async getObservations(threadId: string, resourceId?: string): Promise<string> {
    return (await this.getRecord(threadId, resourceId))?.activeObservations ?? "";
  }

  async getRecord(threadId: string, resourceId?: string): Promise<ObservationalMemoryRecord | null> {
    const address = await this.#address({ threadId, resourceId });
    return (await this.#engine.domain()).getObservationalMemory(threadId, address.resourceId);
  }

  async getHistory(
    threadId: string,
    resourceId?: string,
    limit?: number,
    options?: OmHistoryOptions,
  ): Promise<ObservationalMemoryRecord[]> {
    const address = await this.#address({ threadId, resourceId });
    const domain = await this.#engine.domain();
    return domain.getObservationalMemoryHistory(threadId, address.resourceId, limit, options);
  }

  /** Deletes the log. The messages stay. */
  async clear(threadId: string, resourceId?: string): Promise<void> {
    const address = await this.#address({ threadId, resourceId });
    await (await this.#engine.domain()).clearObservationalMemory(threadId, address.resourceId);
    // Subscribers learn that the log is empty. If another process runs the thread, its next step says so.
    const status = await this.getStatus(address);
    await this.#agent().threads.announce(address, [omChunk("status", this.#system.newId(), status)], []);
  }

  /** Waits until no observation of the thread waits or runs, up to a limit. Returns whether that was reached. */
  async waitForBuffering(threadId: string, resourceId?: string, timeoutMs = 30_000): Promise<boolean> {
    const address = await this.#address({ threadId, resourceId });
    await this.#engine.domain();
    const system = this.#system;
    const deadline = system.monotonic() + timeoutMs;
    for (;;) {
      const where = { thread_id: omKeyOf(address), source: threadId, kind: "observe" } as const;
      const open = await this.#storage().count({
        table: OM_JOBS,
        where: { ...where, state: { in: ["waiting", "running"] } },
      });
      if (open === 0) return true;
      if (system.monotonic() >= deadline) return false;
      await sleep(system, Math.min(LOOK_AGAIN_MS, Math.max(1, deadline - system.monotonic())));
    }
  }

  /** The log as the agent sees it. */
  async buildContextSystemMessages(thread: OmThread): Promise<string[]> {
    return logMessages((await this.#turn(thread)).view, this.config);
  }

  /** What a run on the thread would see now. */
  async getContext(threadId: string, resourceId: string): Promise<MemoryContext> {
    const address = this.#engine.address(threadId, resourceId);
    const turn = await this.#engine.turn(address, {
      system: this.#system,
      lastMessages: 0,
      agent: this.#engine.agent,
      journal: undefined,
      onJob: () => {},
    });
    const messages = await turn.load();
    const log = logMessages(turn.view, this.config);
    const others = await this.#engine.others(address);
    return {
      systemMessage: log.length > 0 ? log.join("\n\n") : null,
      messages,
      hasObservations: log.length > 0,
      omRecord: await this.getRecord(threadId, resourceId),
      continuationMessage: log.length > 0 ? continuationMessage({ threadId, resourceId }) : null,
      otherThreadsContext: others ?? null,
    };
  }

  async #address({ threadId, resourceId }: OmThread) {
    if (resourceId !== undefined) return this.#engine.address(threadId, resourceId);
    const [row] = await this.#storage().select({
      table: THREADS,
      where: { id: threadId },
      limit: 1,
      columns: ["resource_id"],
    });
    return this.#engine.address(threadId, row?.resource_id ?? threadId);
  }

  /** The thread as a run would see it. With `writes`, its changes count only while the thread is idle. */
  async #turn(thread: OmThread, writes = false): Promise<OmTurn> {
    const address = await this.#address(thread);
    const agent = this.#agent();
    const { threads } = agent;
    const turn = await this.#engine.turn(address, {
      system: this.#system,
      lastMessages: 0,
      agent,
      journal: writes
        ? {
            contribute: () => {},
            announce: async (chunks, rows) => (await threads.announce(address, chunks, rows)) === "stored",
          }
        : undefined,
      onJob: () => {},
    });
    await turn.load();
    return turn;
  }

  /** The agent that owns these jobs; without one, the memory itself. */
  #agent(): MemoryAgent {
    return this.#engine.agent ?? this.#ownAgent();
  }

  #ownAgent(): MemoryAgent {
    const threads = openMemoryThreads(this.#storage(), this.#system);
    return {
      id: "observational-memory",
      threads,
      model: async () => {
        throw new AgentError(
          "invalid-argument",
          "Observational memory has no model. Set its `model` option.",
        );
      },
    };
  }

  async #work(agent: MemoryAgent): Promise<void> {
    const worker = this.#engine.serve(agent);
    worker.nudge();
    await worker.settled();
  }
}

const LOOK_AGAIN_MS = 100;
const MOST_GENERATIONS = 20;

function toJobView(job: OmJobRow): OmView["jobs"][number] {
  return {
    id: job.id,
    kind: job.kind,
    state: job.state === "running" || job.state === "failed" ? job.state : "waiting",
    attempt: job.attempt,
    tokens: job.tokens,
    dueAt: new Date(job.due_at),
    ...(job.started_at !== null && { startedAt: new Date(job.started_at) }),
    ...(job.last_error !== null && { error: job.last_error }),
  };
}

function nameOf(model: OmRoleConfig["model"]): string {
  if (model === undefined) return DEFAULT_OM_MODEL;
  if (typeof model === "string") return model;
  const { modelId } = model as { modelId?: unknown };
  return typeof modelId === "string" ? modelId : typeof model === "function" ? "function" : "list";
}
