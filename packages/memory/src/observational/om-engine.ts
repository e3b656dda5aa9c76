import { type MemoryAgent, type MemoryRun, type System } from "@selvedge/core/memory";
import {
  OM_CHUNKS,
  OM_DOMAIN,
  type OmAddress,
  type OmDomain,
  omKeyOf,
  type Storage,
} from "@selvedge/core/storage";
import type { Warn } from "../warning.ts";
import type { ExtractorMemory } from "./extractor.ts";
import type { NoteIndex } from "./note-index.ts";
import type { OmConfig } from "./om-config.ts";
import { OmProcessor } from "./om-processor.ts";
import type { OmServer } from "./om-server.ts";
import { OmTurn, type OmTurnOptions } from "./om-turn.ts";
import { otherThreads } from "./other-threads.ts";
import { OmWorker } from "./om-worker.ts";
import type { FoundNote } from "./recall-port.ts";
import { RoleModels } from "./role-models.ts";

/** Chunks that a search of the notes reads. */
const MOST_CHUNKS = 200;

export interface OmEngineOptions {
  config: OmConfig;
  system: System;
  warn: Warn;
  memory: ExtractorMemory;
  storage(): Storage;
  /** The notes by meaning, if they are indexed. */
  index?(): NoteIndex | undefined;
}

/** The observational memory of one `Memory`: what its runs see, and which process executes their jobs. */
export class OmEngine implements OmServer {
  readonly config: OmConfig;
  readonly warn: Warn;
  memory: ExtractorMemory;
  readonly models: RoleModels;
  readonly #options: OmEngineOptions;
  readonly #workers = new Set<OmWorker>();
  #agent: MemoryAgent | undefined;

  constructor(options: OmEngineOptions) {
    this.#options = options;
    this.config = options.config;
    this.warn = options.warn;
    this.memory = options.memory;
    this.models = new RoleModels(options.config, options.warn);
  }

  /** From now on, extractors use this memory. */
  useMemory(memory: ExtractorMemory): void {
    this.memory = memory;
  }

  address(threadId: string, resourceId: string): OmAddress {
    return { scope: this.config.scope, threadId, resourceId };
  }

  async domain(): Promise<OmDomain> {
    return this.#options.storage().domain(OM_DOMAIN);
  }

  /** The agent that uses the memory, as far as known. */
  get agent(): MemoryAgent | undefined {
    return this.#agent;
  }

  serve(agent: MemoryAgent): OmWorker {
    this.#agent ??= agent;
    const worker = OmWorker.of(agent.threads);
    worker.serve(agent, this);
    this.#workers.add(worker);
    return worker;
  }

  /** Takes part in a run. */
  async prepareRun(
    run: MemoryRun,
    options: { lastMessages: number; readOnly: boolean },
  ): Promise<OmProcessor> {
    const { config } = this;
    const { threadId, resourceId, system } = run;
    const worker = options.readOnly || !run.agent ? undefined : this.serve(run.agent);
    const journal = options.readOnly ? undefined : run.journal;
    const turn = await this.turn(this.address(threadId, resourceId), {
      system,
      lastMessages: options.lastMessages,
      agent: run.agent,
      journal,
      onJob: () => worker?.nudge(),
    });
    journal?.contribute(turn.commits);
    return new OmProcessor({
      turn,
      config,
      others: config.scope === "resource" ? () => this.others(this.address(threadId, resourceId)) : undefined,
      settled: async () => {
        worker?.nudge();
        await worker?.changed();
      },
    });
  }

  /** The newest notes as the observer wrote them, with the messages behind them. */
  async notes(threadId: string, resourceId: string): Promise<(FoundNote & { threadId: string })[]> {
    await this.domain();
    const rows = await this.#options.storage().select({
      table: OM_CHUNKS,
      where: { thread_id: omKeyOf(this.address(threadId, resourceId)), kind: "observe" },
      orderBy: [{ column: "number", direction: "desc" }],
      limit: MOST_CHUNKS,
    });
    return rows.flatMap(({ text, source, first_id: firstId, last_id: lastId }) =>
      firstId === null || lastId === null ? [] : [{ text, firstId, lastId, threadId: source }],
    );
  }

  /** An excerpt of the resource's other threads; `undefined` in thread scope, and if there is nothing. */
  others(address: OmAddress): Promise<string | undefined> {
    return otherThreads(this.#options.storage(), address);
  }

  /** A thread's part of the memory, for a run or for inspection. */
  async turn(
    address: OmAddress,
    {
      agent,
      ...options
    }: Pick<OmTurnOptions, "system" | "lastMessages" | "journal" | "onJob"> & {
      agent: MemoryAgent | undefined;
    },
  ): Promise<OmTurn> {
    const { config } = this;
    return new OmTurn({
      ...options,
      agentId: agent?.id ?? "",
      settings: async () => agent?.omSettings?.(address.threadId),
      storage: this.#options.storage(),
      domain: await this.domain(),
      address,
      config,
    });
  }

  get index(): NoteIndex | undefined {
    return this.#options.index?.();
  }

  /** There may be a job. */
  nudge(): void {
    for (const worker of this.#workers) worker.nudge();
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.settled())).catch(() => {});
  }
}
