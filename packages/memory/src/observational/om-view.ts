import {
  type OmAddress,
  newOmRecord,
  type OmChunkHints,
  type OmChunkRow,
  type OmDomain,
  type OmEventRow,
  type OmJobRow,
  omLogOf,
  omPartOf,
  type OmRecordRow,
} from "@selvedge/core/storage";
import type { OmSettings, System } from "@selvedge/core/memory";
import { omStatus } from "./om-chunks.ts";
import type { OmConfig } from "./om-config.ts";
import { type OmLimits, omLimits, overridesOf } from "./om-limits.ts";
import { planEarlyActivation } from "./plan-activation.ts";
import { mustWait } from "./plan-jobs.ts";

export interface OmViewOptions {
  domain: OmDomain;
  system: System;
  address: OmAddress;
  config: OmConfig;
  /** The settings of a session and its controller. */
  settings(): Promise<OmSettings | undefined>;
}

/** What a run knows of its thread's memory: the rows as read, with what the run changed since. */
export class OmView {
  readonly address: OmAddress;
  readonly config: OmConfig;
  readonly #domain: OmDomain;
  readonly #system: System;
  readonly #readSettings: OmViewOptions["settings"];
  #settings: OmSettings | undefined;
  record!: OmRecordRow;
  /** The row with the sums of the thread's messages. In thread scope it is the record's own. */
  part!: OmRecordRow;
  isStored = false;
  chunks: OmChunkRow[] = [];
  jobs: OmJobRow[] = [];
  events: OmEventRow[] = [];

  constructor({ domain, system, address, config, settings }: OmViewOptions) {
    this.#readSettings = settings;
    this.address = address;
    this.config = config;
    this.#domain = domain;
    this.#system = system;
  }

  /** Reads everything. */
  async load(): Promise<void> {
    const { address } = this;
    this.#settings = await this.#readSettings();
    let state = await this.#domain.read(address);
    if (state.part?.unbound) {
      // A copy of a thread, used for the first time.
      await this.#domain.bind(state.part);
      state = await this.#domain.read(address);
    }
    this.isStored = state.record !== undefined && state.part !== undefined;
    this.record = state.record ?? this.record ?? newOmRecord(address, "", this.#system);
    const part = state.part ?? (address.scope === "thread" ? this.record : undefined);
    this.part = part ?? this.part ?? newOmRecord(address, omPartOf(address), this.#system);
    this.chunks = state.chunks;
    this.jobs = state.jobs;
    this.events = state.events;
  }

  /** What changed since, in one read. */
  async refresh(): Promise<void> {
    const { address } = this;
    const known = this.chunks.reduce((last, { number }) => Math.max(last, number), 0);
    const { version } = this.record;
    const state = await this.#domain.read(address, known);
    if (state.record && state.record.version !== version) {
      // Another thread of the resource has activated something.
      const { record, chunks } = await this.#domain.read(address);
      if (record) this.record = record;
      this.chunks = chunks;
      return;
    }
    this.jobs = state.jobs;
    this.events = state.events;
    this.chunks = [...this.chunks, ...state.chunks];
    if (!state.record || !state.part) return;
    // A commit of this run may have been stored after this was read: the run knows best what only it writes.
    const { covered_seq, covered_id, last_observed_at } = state.part;
    this.part = { ...this.part, covered_seq, covered_id, last_observed_at };
    const { total_observed, usage, reflected, reflected_tokens, config } = state.record;
    const ofWorkers = { total_observed, usage, reflected, reflected_tokens, config };
    this.record = address.scope === "thread" ? { ...this.record, ...this.part, ...ofWorkers } : state.record;
  }

  changePart(change: Partial<OmRecordRow>): void {
    this.part = { ...this.part, ...change };
    if (this.address.scope === "thread") this.record = { ...this.record, ...change };
  }

  get limits(): OmLimits {
    const { config, log_tokens } = this.record;
    return omLimits(this.config, overridesOf(this.config, config, this.#settings), log_tokens);
  }

  /** The active chunks, in log order. */
  get log(): OmChunkRow[] {
    return omLogOf(this.chunks);
  }

  /** Buffered chunks of this thread, oldest first. */
  get buffered(): OmChunkRow[] {
    const { threadId } = this.address;
    return this.chunks.filter(
      ({ state, kind, source }) => state === "buffered" && kind === "observe" && source === threadId,
    );
  }

  get reflection(): OmChunkRow | undefined {
    return this.chunks.findLast(
      ({ state, kind, generation }) =>
        state === "buffered" && kind === "reflect" && generation === this.record.generation + 1,
    );
  }

  /** What the newest active chunk said beside its notes. */
  get hints(): { currentTask?: string; suggestedResponse?: string; extracted?: Record<string, unknown> } {
    const { scope, threadId } = this.address;
    const all = (this.record.hints ?? {}) as Record<string, unknown>;
    const own = (scope === "thread" ? all : (all[`thread:${threadId}`] ?? {})) as Record<string, unknown>;
    const text = (name: string): Record<string, string> =>
      typeof own[name] === "string" ? { [name]: own[name] } : {};
    const { extracted: values = {}, places = {} } = all as OmChunkHints;
    const shown = Object.entries(values).filter(([slug]) => places[slug] !== false);
    const extracted = shown.length > 0 ? Object.fromEntries(shown) : undefined;
    return { ...text("currentTask"), ...text("suggestedResponse"), ...(extracted && { extracted }) };
  }

  /** The roles that the run must wait for, while there is something to wait for. */
  get waitsFor(): { observe: boolean; reflect: boolean } {
    const { threadId } = this.address;
    const need = mustWait(
      {
        pendingTokens: this.part.pending_tokens,
        bufferedMessageTokens: this.buffered.reduce((sum, chunk) => sum + chunk.message_tokens, 0),
        jobMessageTokens: 0,
        logTokens: this.record.log_tokens,
        hasReflection: false,
      },
      this.limits,
    );
    // Jobs are carried out in order. One that has failed may fail for long: no run waits for that.
    const works = (kind: OmJobRow["kind"]): boolean => {
      const first = this.jobs.find(
        (job) => job.kind === kind && (kind === "reflect" || job.source === threadId),
      );
      return first !== undefined && first.state !== "failed" && first.last_error === null;
    };
    return {
      observe: need.observe && works("observe"),
      reflect: need.reflect && this.reflection === undefined && works("reflect"),
    };
  }

  /** The data of `data-om-status`. */
  status(stepNumber: number): Record<string, unknown> {
    const { buffered, limits, reflection } = this;
    const tokens = buffered.map(({ message_tokens }) => message_tokens);
    const count = planEarlyActivation({ pendingTokens: this.part.pending_tokens, chunks: tokens }, limits);
    return omStatus({
      record: this.record,
      part: this.part,
      buffered,
      reflection,
      jobs: this.jobs,
      limits,
      threadId: this.address.threadId,
      stepNumber,
      projected: tokens.slice(0, count).reduce((sum, one) => sum + one, 0),
    });
  }
}
