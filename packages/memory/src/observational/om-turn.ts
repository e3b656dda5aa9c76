import type { MemoryJournal, System } from "@selvedge/core/memory";
import {
  MESSAGES,
  OM_EVENTS,
  OM_RECORDS,
  omKeyOf,
  omPartOf,
  remove,
  type Storage,
  update,
} from "@selvedge/core/storage";
import type { AgentChunk, StoredMessage } from "@selvedge/protocol";
import { countTokens } from "./count-tokens.ts";
import {
  activateObservations,
  activateReflection,
  type ActivationInput,
  added,
  type EarlyFacts,
} from "./om-activation.ts";
import { OmCommits } from "./om-commits.ts";
import { OmView, type OmViewOptions } from "./om-view.ts";
import { loadWindow } from "./om-window.ts";
import { countLeftOut } from "./plan-activation.ts";

export interface OmTurnOptions extends OmViewOptions {
  storage: Storage;
  system: System;
  /** The least number of newest messages that stay in the prompt. */
  lastMessages: number;
  agentId: string;
  /** Absent for a read-only run. */
  journal: Pick<MemoryJournal, "contribute" | "announce"> | undefined;
  /** There is a job. */
  onJob(): void;
}

/** Activating may make more activations due, but not without end. */
const MOST_ACTIVATIONS = 10;

/** Observational memory in one run, by the owner of the thread: what the prompt contains at each step border. */
export class OmTurn {
  readonly view: OmView;
  readonly commits: OmCommits;
  readonly #options: OmTurnOptions;

  constructor(options: OmTurnOptions) {
    this.#options = options;
    this.view = new OmView(options);
    this.commits = new OmCommits({ ...options, view: this.view });
  }

  /** Reads the record, and the messages that the prompt starts with. */
  async load(): Promise<StoredMessage[]> {
    const { storage, system } = this.#options;
    await this.view.load();
    const window = await loadWindow(this.view, storage, system);
    this.commits.begin(window);
    return window.messages;
  }

  /** Puts chunks on the stream that a worker could not number. */
  async tellWaiting(): Promise<void> {
    const { events } = this.view;
    const { journal } = this.#options;
    if (events.length === 0 || !journal) return;
    this.view.events = [];
    const chunks = events.map(({ chunk }) => chunk as unknown as AgentChunk);
    await journal.announce(
      chunks,
      events.map(({ id }) => remove(OM_EVENTS, { id }, { require: true })),
    );
  }

  /** Activates what is ready; with `now`, before it is due too. Returns whether anything changed. */
  async activate(early: EarlyFacts, { now = false }: { now?: boolean } = {}): Promise<boolean> {
    const { journal, system, onJob } = this.#options;
    if (!journal || !this.view.isStored) return false;
    let isChanged = false;
    for (let attempt = 0; attempt < MOST_ACTIVATIONS; attempt++) {
      const input: ActivationInput = {
        ...this.#options,
        view: this.view,
        early,
        isForced: now,
        now: Math.trunc(system.now()),
      };
      const observations = await activateObservations(input);
      const due = observations ?? activateReflection(input);
      if (!due) return isChanged;
      if (await this.commits.announce(journal, due)) {
        isChanged = true;
        if (observations?.reflects) onJob();
      } else await this.view.refresh();
    }
    return isChanged;
  }

  /** Leaves the oldest messages out of the prompt when too many are unobserved. Returns whether it did. */
  async leaveOut(shown: readonly StoredMessage[]): Promise<boolean> {
    const { journal, storage } = this.#options;
    if (journal) await this.commits.storeLeftOut(journal);
    const { address, isStored, limits } = this.view;
    const { pending_tokens, omitted_tokens, cursor_seq, shown_seq } = this.view.part;
    const { messageTokens } = limits;
    if (!journal || !isStored || pending_tokens - omitted_tokens <= 2 * messageTokens) return false;
    const seqs = await storage.select({
      table: MESSAGES,
      where: { thread_id: address.threadId, seq: { gt: Math.max(cursor_seq, shown_seq) } },
      orderBy: [{ column: "seq" }],
      columns: ["id", "seq"],
    });
    const byId = new Map(shown.map((message) => [message.id, message]));
    const stored = seqs.flatMap(({ id, seq }) => {
      const message = byId.get(id);
      return message ? [{ seq, tokens: countTokens(message) }] : [];
    });
    const count = countLeftOut(
      stored.map(({ tokens }) => tokens),
      messageTokens,
    );
    if (count === 0) return false;
    const left = stored.slice(0, count);
    const set = { shown_seq: left.at(-1)!.seq };
    const omitted = left.reduce((sum, { tokens }) => sum + tokens, 0);
    const change = { omitted_count: count, omitted_tokens: omitted };
    const where = { thread_id: omKeyOf(address), source: omPartOf(address) };
    return this.commits.announce(journal, {
      chunks: [],
      writes: [update(OM_RECORDS, { where, set, increment: change })],
      change: (part) => ({ ...set, ...added(part, change) }),
    });
  }

  /** Of these messages, the ids of those that the prompt no longer contains. */
  async hiddenIds(shown: readonly string[]): Promise<string[]> {
    const { address, part } = this.view;
    const rows = await this.#options.storage.select({
      table: MESSAGES,
      where: { thread_id: address.threadId, id: { in: shown }, seq: { lte: part.shown_seq } },
      columns: ["id"],
    });
    return rows.map(({ id }) => id);
  }
}
