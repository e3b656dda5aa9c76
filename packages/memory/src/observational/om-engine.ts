import { type MemoryAgent, type MemoryRun, type System } from "@selvedge/core/memory";
import { type ModelConfig, resolveModel } from "@selvedge/core/model";
import { RequestContext } from "@selvedge/core/request-context";
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
import { ModelByInputTokens } from "./model-by-input-tokens.ts";
import { DEFAULT_OM_MODEL, type OmConfig } from "./om-config.ts";
import { OmProcessor } from "./om-processor.ts";
import type { OmRole, OmServer } from "./om-server.ts";
import { OmTurn, type OmTurnOptions } from "./om-turn.ts";
import { otherThreads } from "./other-threads.ts";
import { OmWorker } from "./om-worker.ts";
import type { FoundNote } from "./recall-port.ts";

/** Chunks that a search of the notes reads. */
const MOST_CHUNKS = 200;

export interface OmEngineOptions {
  config: OmConfig;
  system: System;
  warn: Warn;
  memory: ExtractorMemory;
  storage(): Storage;
}

/** Observational memory of one `Memory`: what its runs see, and who carries out their jobs. */
export class OmEngine implements OmServer {
  readonly config: OmConfig;
  readonly warn: Warn;
  readonly memory: ExtractorMemory;
  readonly #options: OmEngineOptions;
  readonly #workers = new Set<OmWorker>();
  #hasWarned = false;
  #agent: MemoryAgent | undefined;

  constructor(options: OmEngineOptions) {
    this.#options = options;
    this.config = options.config;
    this.warn = options.warn;
    this.memory = options.memory;
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
      agentId: run.agent?.id ?? "",
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
    options: Pick<OmTurnOptions, "system" | "lastMessages" | "agentId" | "journal" | "onJob">,
  ): Promise<OmTurn> {
    const { config } = this;
    return new OmTurn({
      ...options,
      storage: this.#options.storage(),
      domain: await this.domain(),
      address,
      config,
    });
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.settled())).catch(() => {});
  }

  async model(role: OmRole, inputTokens: number, agent: MemoryAgent): Promise<ModelConfig> {
    const { model } = this.config[role];
    if (model === undefined) return this.#defaultModel(agent);
    if (model instanceof ModelByInputTokens)
      return model.resolve(Math.min(inputTokens, this.largestInput(role)));
    if (typeof model !== "function") return model as ModelConfig;
    const requestContext = new RequestContext();
    const context = Object.assign(new RequestContext(), { requestContext, runtimeContext: requestContext });
    return (model as (context: unknown) => ModelConfig | Promise<ModelConfig>)(context);
  }

  largestInput(role: OmRole): number {
    const { model } = this.config[role];
    return model instanceof ModelByInputTokens ? model.getThresholds().at(-1)! : Number.POSITIVE_INFINITY;
  }

  /** The default model, or the agent's own if that has no key. */
  async #defaultModel(agent: MemoryAgent): Promise<ModelConfig> {
    try {
      await resolveModel(DEFAULT_OM_MODEL);
      return DEFAULT_OM_MODEL;
    } catch (error) {
      if (!this.#hasWarned) {
        this.#hasWarned = true;
        this.warn(
          `Observational memory uses the model of agent "${agent.id}", because ${DEFAULT_OM_MODEL} cannot be used. Set observationalMemory.model to choose one.`,
          error,
        );
      }
      return agent.model();
    }
  }
}
