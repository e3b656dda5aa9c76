import type { CommitContribution, MemoryJournal, System } from "@selvedge/core/memory";
import {
  insert,
  newOmRecord,
  OM_RECORDS,
  type OmJobRow,
  omKeyOf,
  omPartOf,
  type OmRecordRow,
  type Storage,
  update,
  type Write,
} from "@selvedge/core/storage";
import type { AgentChunk, MessagePart } from "@selvedge/protocol";
import { countParts, hasOpenCall, type MessageSums } from "./message-sums.ts";
import { insertObservation } from "./om-job-rows.ts";
import type { OmView } from "./om-view.ts";
import type { OmWindow } from "./om-window.ts";
import { planJobs } from "./plan-jobs.ts";

/** In `pending_count`, like anything below: the sums must be computed again. */
const UNKNOWN = -1;

/** What a run stores for the memory at a step border. */
export interface Announcement {
  chunks: readonly AgentChunk[];
  writes: readonly Write[];
  /** Its effect on the thread's row. It counts as soon as it takes effect, before any later commit. */
  change(part: OmRecordRow): Partial<OmRecordRow>;
  apply?(): void;
}

export interface OmCommitsOptions {
  view: OmView;
  system: System;
  agentId: string;
  /** There is a job. */
  onJob(): void;
}

/**
 * The memory's part in the commits of a run. It updates the record's sums with every commit, and inserts jobs in the
 * commit that makes them due.
 */
export class OmCommits implements CommitContribution {
  readonly #options: OmCommitsOptions;
  readonly #view: OmView;
  #sums: MessageSums | undefined;
  /** The sums were computed again: the next commit sets them. */
  #isRecounted = false;
  #isUncertain = false;
  #announced: { first: Write; change: Announcement["change"]; apply(): void } | undefined;
  /** The message that is complete with the step being stored. */
  #complete: string | undefined;
  /** The `provider/model` of the next step. */
  model: string | undefined;

  constructor(options: OmCommitsOptions) {
    this.#options = options;
    this.#view = options.view;
  }

  /** Continues from the window that was read. */
  begin({ sums, isRecounted }: OmWindow): void {
    this.#sums = sums;
    this.#isRecounted = isRecounted;
    this.#isUncertain = false;
    this.#complete = undefined;
  }

  /** Sums that were computed again leave messages out of the prompt: the store must know before the model does. */
  async storeLeftOut(journal: Pick<MemoryJournal, "announce">): Promise<void> {
    const { part, address } = this.#view;
    if (!this.#isRecounted || part.omitted_count === 0) return;
    const where = { thread_id: omKeyOf(address), source: omPartOf(address) };
    const set = { updated_at: Math.trunc(this.#options.system.now()) };
    // The sums are added to any commit of the run.
    await this.announce(journal, {
      chunks: [],
      writes: [update(OM_RECORDS, { where, set })],
      change: () => set,
    });
  }

  /** Stores the record of a thread that has none yet, for work without a run. */
  async store(storage: Storage): Promise<void> {
    const { part } = this.#view;
    const create = this.#create();
    if (create.length === 0) return;
    await storage.commit([...create, this.#sumWrite(part, part, part, false)]);
    this.#view.isStored = true;
    this.#isRecounted = false;
  }

  closes({ messageId, parts }: { messageId: string; parts: readonly MessagePart[] }): boolean {
    if (!this.#sums || hasOpenCall(parts)) return false;
    const { pending_tokens, planned_tokens } = this.#view.part;
    const { bufferTokens, messageTokens } = this.#view.limits;
    if (pending_tokens - planned_tokens + countParts(parts) < (bufferTokens ?? messageTokens)) return false;
    this.#complete = messageId;
    return true;
  }

  /** Whether what follows an assistant message is a separate message in the store. */
  isComplete(messageId: string): boolean {
    return this.#complete === messageId;
  }

  rows(
    writes: readonly Write[],
    { ends }: { ends: boolean },
  ): { writes: readonly Write[]; stored(): void } | undefined {
    const sums = this.#sums;
    const { system, agentId, onJob } = this.#options;
    // Not loaded yet: a job may be announced while the run is being prepared.
    if (!sums) return undefined;
    const { address, config, limits } = this.#view;
    const announced = this.#announced && writes.includes(this.#announced.first) ? this.#announced : undefined;
    const nothing = announced && { writes: [], stored: () => announced.apply() };
    const change = sums.read(writes, address.threadId);
    const isChanged = change.tokens !== 0 || change.count !== 0;
    if (!isChanged && !ends && !this.#isRecounted) return nothing;
    const now = Math.trunc(system.now());
    const before = this.#view.part;
    const after = {
      ...before,
      pending_tokens: before.pending_tokens + change.tokens,
      pending_count: before.pending_count + change.count,
      updated_at: now,
    };
    const range = sums.closed(change, { ends, complete: this.#complete });
    const [job] = planJobs(
      {
        pendingTokens: after.pending_tokens - range.openTokens,
        bufferedMessageTokens: after.planned_tokens,
        jobMessageTokens: 0,
        logTokens: 0,
        hasReflection: true,
      },
      limits,
      { turnEnded: ends && config.observation.bufferOnIdle },
    );
    const isDue = job !== undefined && range.toId !== undefined;
    const jobTokens = after.pending_tokens - range.openTokens - after.planned_tokens;
    if (!isDue && !isChanged && !this.#isRecounted) return nothing;
    const own: Write[] = [...this.#create()];
    if (isDue) {
      const waited = limits.bufferTokens === undefined || after.pending_tokens > limits.blockMessagesAbove;
      // Jobs are carried out in order: if the first one waits, so does this one.
      const first = this.#view.jobs.find(({ kind, state }) => kind === "observe" && state === "waiting");
      const dueAt = Math.max(now, first?.due_at ?? now);
      const facts = { address, agentId, now, dueAt, tokens: jobTokens, waited };
      own.push(...insertObservation({ ...facts, afterId: before.planned_id, toId: range.toId! }));
      after.planned_id = range.toId!;
      after.planned_tokens += jobTokens;
    }
    const isAnswer = writes.some((write) => write.op === "insert" && isAssistantRow(write.row));
    if (isAnswer) {
      after.last_active_at = now;
      after.last_model = this.model ?? after.last_model;
    }
    const isUncertain = this.#isUncertain || change.isUncertain;
    const final = announced ? { ...after, ...announced.change(after) } : after;
    own.push(this.#sumWrite(before, after, final, isUncertain));
    return {
      writes: own,
      stored: () => {
        sums.stored(change);
        if (isDue) sums.planned(range.toId!);
        this.#view.changePart(after);
        if (isUncertain) this.#view.changePart({ pending_count: UNKNOWN });
        this.#view.isStored = true;
        this.#isRecounted = false;
        this.#isUncertain = isUncertain;
        announced?.apply();
        if (!isDue) return;
        // As far as a waiting run is concerned.
        const job = {
          kind: "observe",
          source: address.threadId,
          state: "waiting",
          last_error: null,
          due_at: now,
        } as OmJobRow;
        this.#view.jobs = [...this.#view.jobs, job];
        onJob();
      },
    };
  }

  #create(): Write[] {
    if (this.#view.isStored) return [];
    const { address } = this.#view;
    const { system } = this.#options;
    const rows = [newOmRecord(address, "", system)];
    if (address.scope === "resource") rows.push(newOmRecord(address, omPartOf(address), system));
    return rows.map((row) => insert(OM_RECORDS, row, "ignore"));
  }

  /** `final` is the final state of the row, including what the run announces in the same commit. */
  #sumWrite(before: OmRecordRow, after: OmRecordRow, final: OmRecordRow, isUncertain: boolean): Write {
    const { address } = this.#view;
    const { planned_id, updated_at, last_active_at, last_model } = after;
    const set = { planned_id, updated_at, last_active_at, last_model };
    const where = { thread_id: omKeyOf(address), source: omPartOf(address) };
    const unknown = isUncertain && { pending_count: UNKNOWN };
    if (this.#isRecounted) {
      const { pending_tokens, pending_count, planned_tokens, shown_seq, omitted_count, omitted_tokens } =
        final;
      const sums = {
        pending_tokens,
        pending_count,
        planned_tokens,
        shown_seq,
        omitted_count,
        omitted_tokens,
      };
      return update(OM_RECORDS, { where, set: { ...set, ...sums, ...unknown } });
    }
    const pending_tokens = after.pending_tokens - before.pending_tokens;
    const planned_tokens = after.planned_tokens - before.planned_tokens;
    const pending_count = after.pending_count - before.pending_count;
    const increment = { pending_tokens, planned_tokens, ...(!isUncertain && { pending_count }) };
    return update(OM_RECORDS, { where, set: { ...set, ...unknown }, increment });
  }

  /** Stores what the run does for the memory. Returns false if a condition does not hold. */
  async announce(
    journal: Pick<MemoryJournal, "announce">,
    { chunks, writes, change, apply }: Announcement,
  ): Promise<boolean> {
    let isApplied = false;
    const announced = {
      first: writes[0]!,
      change,
      apply: () => {
        if (isApplied) return;
        isApplied = true;
        this.#view.changePart(change(this.#view.part));
        apply?.();
      },
    };
    this.#announced = announced;
    try {
      const isStored = await journal.announce(chunks, writes);
      if (isStored) announced.apply();
      return isStored;
    } finally {
      this.#announced = undefined;
    }
  }
}

function isAssistantRow(row: Record<string, unknown>): boolean {
  return row["role"] === "assistant" || "message_id" in row;
}
