import type { CommitContribution, MemoryJournal, System } from "@selvedge/core/memory";
import {
  assemble,
  insert,
  MESSAGES,
  newOmRecord,
  OM_CHUNKS,
  OM_EVENTS,
  OM_RECORDS,
  type OmAddress,
  type OmChunkRow,
  type OmDomain,
  type OmEventRow,
  type OmJobRow,
  omKeyOf,
  omLogOf,
  omPartOf,
  type OmState,
  type OmRecordRow,
  remove,
  type Storage,
  update,
  type Write,
} from "@selvedge/core/storage";
import type { AgentChunk, MessagePart, StoredMessage } from "@selvedge/protocol";
import { countTokens } from "./count-tokens.ts";
import { type EarlyActivation, earlyActivation, type EarlyActivationInput } from "./early-activation.ts";
import { countParts, hasOpenCall, MessageSums } from "./message-sums.ts";
import { omChunk, omStatus, shownConfig } from "./om-chunks.ts";
import type { OmConfig } from "./om-config.ts";
import { insertObservation, insertReflection } from "./om-job-rows.ts";
import { type OmLimits, omLimits, overridesOf } from "./om-limits.ts";
import {
  activatesReflection,
  activatesReflectionEarly,
  countLeftOut,
  planActivation,
  planEarlyActivation,
} from "./plan-activation.ts";
import { mustWait, planJobs } from "./plan-jobs.ts";

export interface OmTurnOptions {
  storage: Storage;
  system: System;
  domain: OmDomain;
  address: OmAddress;
  config: OmConfig;
  /** The least number of newest messages that stay in the prompt. */
  lastMessages: number;
  agentId: string;
  /** Absent for a read-only run. */
  journal: MemoryJournal | undefined;
  /** There is a job. */
  onJob(): void;
}

/** What a step knows about the pause before it and its model. */
type EarlyFacts = Omit<EarlyActivationInput, "previousModel" | "lastActivityAt">;

/** Messages counted at a time when sums are computed again. */
const PAGE = 500;
/** In `pending_count`, like anything below: the sums must be computed again. */
const UNKNOWN = -1;

/**
 * Observational memory in one run, by the owner of the thread. It updates the record's sums with every commit of the
 * run, inserts jobs in the commit that makes them due, and activates what is ready at a step border.
 */
export class OmTurn implements CommitContribution {
  readonly #options: OmTurnOptions;
  #record!: OmRecordRow;
  #part!: OmRecordRow;
  #isStored = false;
  /** The sums were computed again: the next commit sets them. */
  #isRecounted = false;
  #isUncertain = false;
  #chunks: OmChunkRow[] = [];
  #jobs: OmJobRow[] = [];
  #events: OmEventRow[] = [];
  #sums: MessageSums | undefined;
  #announced: { first: Write; change(part: OmRecordRow): Partial<OmRecordRow>; apply(): void } | undefined;
  /** A caller asked to activate everything that is ready. */
  #isForced = false;
  /** The message that is complete with the step being stored. */
  #complete: string | undefined;
  /** The `provider/model` of the next step. */
  model: string | undefined;

  constructor(options: OmTurnOptions) {
    this.#options = options;
  }

  get limits(): OmLimits {
    return omLimits(this.#options.config, overridesOf(this.#record.config), this.#record.log_tokens);
  }

  get record(): OmRecordRow {
    return this.#record;
  }

  get part(): OmRecordRow {
    return this.#part;
  }

  /** The active chunks, in log order. */
  get log(): OmChunkRow[] {
    return omLogOf(this.#chunks);
  }

  /** What the newest active chunk said beside its notes. */
  get hints(): { currentTask?: string; suggestedResponse?: string; extracted?: Record<string, unknown> } {
    const { scope, threadId } = this.#options.address;
    const all = (this.#record.hints ?? {}) as Record<string, unknown>;
    const own = (scope === "thread" ? all : (all[`thread:${threadId}`] ?? {})) as Record<string, unknown>;
    const text = (name: string): Record<string, string> =>
      typeof own[name] === "string" ? { [name]: own[name] } : {};
    const extracted = all["extracted"] as Record<string, unknown> | undefined;
    return { ...text("currentTask"), ...text("suggestedResponse"), ...(extracted && { extracted }) };
  }

  get omittedCount(): number {
    return this.#part.omitted_count;
  }

  /** Reads the record, and the messages that the prompt starts with. */
  async load(): Promise<StoredMessage[]> {
    const { domain, address, storage } = this.#options;
    let state = await domain.read(address);
    if (state.part?.unbound) {
      // A copy of a thread, used for the first time.
      await domain.bind(state.part);
      state = await domain.read(address);
    }
    this.#adopt(state);
    this.#isRecounted = false;
    this.#isUncertain = false;
    this.#complete = undefined;
    if (!this.#isStored) return this.#recount();
    const { shown_seq, cursor_seq, pending_count, omitted_count } = this.#part;
    const rows = await storage.select({
      table: MESSAGES,
      where: { thread_id: address.threadId, seq: { gt: shown_seq } },
      orderBy: [{ column: "seq" }],
    });
    const begin = Math.max(cursor_seq, shown_seq);
    const after = rows.filter(({ seq }) => seq > begin);
    if (pending_count < 0 || after.length !== pending_count - omitted_count) return this.#recount();
    const messages = await assemble(storage, rows);
    const pending = messages.slice(messages.length - after.length);
    const planned = pending.findIndex(({ id }) => id === this.#part.planned_id);
    this.#sums = new MessageSums(pending.map((message, index) => ({ message, isPlanned: index <= planned })));
    return messages;
  }

  /** What changed since, in one read. */
  async refresh(): Promise<void> {
    const { domain, address } = this.#options;
    const known = this.#chunks.reduce((last, { number }) => Math.max(last, number), 0);
    const { version } = this.#record;
    const state = await domain.read(address, known);
    if (state.record && state.record.version !== version) {
      // Another thread of the resource has activated something.
      const { record, chunks } = await domain.read(address);
      if (record) this.#record = record;
      this.#chunks = chunks;
      return;
    }
    this.#jobs = state.jobs;
    this.#events = state.events;
    this.#chunks = [...this.#chunks, ...state.chunks];
    if (!state.record || !state.part) return;
    // A commit of this run may have been stored after this was read: the run knows best what only it writes.
    const { covered_seq, covered_id, last_observed_at } = state.part;
    this.#part = { ...this.#part, covered_seq, covered_id, last_observed_at };
    const { total_observed, usage, reflected, reflected_tokens, config } = state.record;
    const ofWorkers = { total_observed, usage, reflected, reflected_tokens, config };
    this.#record =
      address.scope === "thread" ? { ...this.#record, ...this.#part, ...ofWorkers } : state.record;
  }

  #adopt(state: OmState): void {
    const { address, system } = this.#options;
    this.#isStored = state.record !== undefined && state.part !== undefined;
    this.#record = state.record ?? this.#record ?? newOmRecord(address, "", system);
    const part = state.part ?? (address.scope === "thread" ? this.#record : undefined);
    this.#part = part ?? this.#part ?? newOmRecord(address, omPartOf(address), system);
    this.#chunks = state.chunks;
    this.#jobs = state.jobs;
    this.#events = state.events;
  }

  /** Counts all messages after the cursor, for a thread that is new here or whose messages changed without a run. */
  async #recount(): Promise<StoredMessage[]> {
    const { storage, address } = this.#options;
    const part = this.#part;
    const kept: { seq: number; tokens: number; message: StoredMessage }[] = [];
    const all: { seq: number; id: string; tokens: number }[] = [];
    const most = 3 * this.limits.messageTokens;
    let keptTokens = 0;
    for (let after = Math.min(part.cursor_seq, part.shown_seq); ;) {
      const rows = await storage.select({
        table: MESSAGES,
        where: { thread_id: address.threadId, seq: { gt: after } },
        orderBy: [{ column: "seq" }],
        limit: PAGE,
      });
      const messages = await assemble(storage, rows);
      for (const [index, message] of messages.entries()) {
        const { seq } = rows[index]!;
        const tokens = countTokens(message);
        if (seq > part.cursor_seq) all.push({ seq, id: message.id, tokens });
        kept.push({ seq, tokens, message });
        keptTokens += tokens;
        while (kept.length > 1 && keptTokens > most) keptTokens -= kept.shift()!.tokens;
      }
      if (rows.length < PAGE) break;
      after = rows.at(-1)!.seq;
    }
    const planned = all.findIndex(({ id }) => id === part.planned_id);
    const covered = all.filter(({ seq }) => seq <= part.covered_seq).length;
    const isGone = part.planned_id !== null && planned < 0;
    const plannedCount = Math.max(planned + 1, covered);
    const leftOut = countLeftOut(
      all.map(({ tokens }) => tokens),
      this.limits.messageTokens,
    );
    const omitted = all.slice(0, leftOut);
    this.#part = {
      ...part,
      pending_tokens: sumOf(all),
      pending_count: all.length,
      planned_tokens: sumOf(all.slice(0, plannedCount)),
      // If the message is gone, the next job still gets its own id.
      planned_id: isGone ? `${part.planned_id}\n${this.#options.system.newId()}` : part.planned_id,
      shown_seq: omitted.at(-1)?.seq ?? Math.min(part.shown_seq, part.cursor_seq),
      omitted_count: omitted.length,
      omitted_tokens: sumOf(omitted),
    };
    this.#isRecounted = all.length > 0 || this.#isStored;
    const pending = kept.filter(({ seq }) => seq > part.cursor_seq);
    const isPlanned = new Set(all.slice(0, plannedCount).map(({ id }) => id));
    this.#sums = new MessageSums(
      pending.map(({ message }) => ({ message, isPlanned: isPlanned.has(message.id) })),
    );
    return kept.filter(({ seq }) => seq > this.#part.shown_seq).map(({ message }) => message);
  }

  /** Stores the record of a thread that has none yet, for work without a run. */
  async store(): Promise<void> {
    const { storage } = this.#options;
    const create = this.#create();
    if (create.length === 0) return;
    await storage.commit([...create, this.#sumWrite(this.#part, this.#part, this.#part, false)]);
    this.#isStored = true;
    this.#isRecounted = false;
  }

  // What goes into the commits of the run

  closes({ messageId, parts }: { messageId: string; parts: readonly MessagePart[] }): boolean {
    if (!this.#sums || hasOpenCall(parts)) return false;
    const { pending_tokens, planned_tokens } = this.#part;
    const { bufferTokens, messageTokens } = this.limits;
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
    const { address, config, system, agentId, onJob } = this.#options;
    if (!sums) return undefined;
    const announced = this.#announced && writes.includes(this.#announced.first) ? this.#announced : undefined;
    const nothing = announced && { writes: [], stored: () => announced.apply() };
    const change = sums.read(writes, address.threadId);
    const isChanged = change.tokens !== 0 || change.count !== 0;
    if (!isChanged && !ends && !this.#isRecounted) return nothing;
    const { limits } = this;
    const now = Math.trunc(system.now());
    const before = this.#part;
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
      const first = this.#jobs.find(({ kind, state }) => kind === "observe" && state === "waiting");
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
        this.#changePart(after);
        if (isUncertain) this.#changePart({ pending_count: UNKNOWN });
        this.#isStored = true;
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
        this.#jobs = [...this.#jobs, job];
        onJob();
      },
    };
  }

  #create(): Write[] {
    if (this.#isStored) return [];
    const { address, system } = this.#options;
    const rows = [newOmRecord(address, "", system)];
    if (address.scope === "resource") rows.push(newOmRecord(address, omPartOf(address), system));
    return rows.map((row) => insert(OM_RECORDS, row, "ignore"));
  }

  /** `final` is the final state of the row, including what the run announces in the same commit. */
  #sumWrite(before: OmRecordRow, after: OmRecordRow, final: OmRecordRow, isUncertain: boolean): Write {
    const { address } = this.#options;
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

  // At a step border

  /**
   * Commits what the run does for the memory. `change` is its effect on the thread's row; it counts as soon as it takes
   * effect, before any later commit.
   */
  async #announce(
    journal: MemoryJournal,
    chunks: readonly AgentChunk[],
    writes: readonly Write[],
    change: (part: OmRecordRow) => Partial<OmRecordRow>,
    apply: () => void = () => {},
  ): Promise<boolean> {
    let isApplied = false;
    const announced = {
      first: writes[0]!,
      change,
      apply: () => {
        if (isApplied) return;
        isApplied = true;
        this.#changePart(change(this.#part));
        apply();
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

  /** Puts chunks on the stream that a worker could not number. */
  async tellWaiting(): Promise<void> {
    const events = this.#events;
    const { journal } = this.#options;
    if (events.length === 0 || !journal) return;
    this.#events = [];
    const chunks = events.map(({ chunk }) => chunk as unknown as AgentChunk);
    await journal.announce(
      chunks,
      events.map(({ id }) => remove(OM_EVENTS, { id }, { require: true })),
    );
  }

  /** Activates what is ready. Returns the messages that leave the prompt, or `undefined` if nothing changed. */
  async activate(early: EarlyFacts, { now = false }: { now?: boolean } = {}): Promise<boolean> {
    const { journal } = this.#options;
    this.#isForced = now;
    if (!journal || !this.#isStored) return false;
    let isChanged = false;
    for (let attempt = 0; attempt < 10; attempt++) {
      const did =
        (await this.#activateObservations(journal, early)) ??
        (await this.#activateReflection(journal, early));
      if (did === undefined) return isChanged;
      if (did) isChanged = true;
      else await this.refresh();
    }
    return isChanged;
  }

  #early(role: "observation" | "reflection", early: EarlyFacts): EarlyActivation | undefined {
    const { last_active_at, last_model } = this.#part;
    return earlyActivation(this.#options.config[role], {
      ...early,
      lastActivityAt: last_active_at ?? undefined,
      previousModel: last_model ?? undefined,
    });
  }

  /** Buffered chunks of this thread, oldest first. */
  get buffered(): OmChunkRow[] {
    const { threadId } = this.#options.address;
    return this.#chunks.filter(
      ({ state, kind, source }) => state === "buffered" && kind === "observe" && source === threadId,
    );
  }

  get reflection(): OmChunkRow | undefined {
    return this.#chunks.findLast(
      ({ state, kind, generation }) =>
        state === "buffered" && kind === "reflect" && generation === this.#record.generation + 1,
    );
  }

  async #activateObservations(journal: MemoryJournal, facts: EarlyFacts): Promise<boolean | undefined> {
    const { buffered, limits } = this;
    if (buffered.length === 0) return undefined;
    const input = {
      pendingTokens: this.#part.pending_tokens,
      chunks: buffered.map(({ message_tokens }) => message_tokens),
    };
    const usual = planActivation(input, limits);
    const early = usual > 0 ? undefined : this.#early("observation", facts);
    const planned = usual > 0 ? usual : early ? planEarlyActivation(input, limits) : 0;
    const count = this.#isForced ? buffered.length : planned;
    if (count === 0) return undefined;
    const { storage, address, config, system, agentId, lastMessages } = this.#options;
    const taken = buffered.slice(0, count);
    const last = taken.at(-1)!;
    const window = await storage.select({
      table: MESSAGES,
      where: { thread_id: address.threadId, seq: { gt: this.#part.shown_seq } },
      orderBy: [{ column: "seq" }],
      columns: ["id", "seq", "role", "metadata"],
    });
    const now = Math.trunc(system.now());
    const version = this.#record.version + 1;
    const observed = taken.reduce((sum, chunk) => sum + chunk.tokens, 0);
    const removed = taken.reduce((sum, chunk) => sum + chunk.message_tokens, 0);
    const removedCount = taken.reduce((sum, chunk) => sum + chunk.message_count, 0);
    const shown = shownAfter(window, last.last_seq, lastMessages, this.#part.shown_seq);
    const isPast = last.last_seq >= shown;
    const partSet = { cursor_seq: last.last_seq, shown_seq: shown, updated_at: now };
    // Added, not set: messages may be stored before this is.
    const { omitted_count, omitted_tokens } = this.#part;
    const change = {
      pending_tokens: -removed,
      pending_count: -removedCount,
      planned_tokens: -removed,
      omitted_count: -(isPast ? omitted_count : Math.min(omitted_count, removedCount)),
      omitted_tokens: -(isPast ? omitted_tokens : Math.min(omitted_tokens, removed)),
    };
    const logTokens = this.#record.log_tokens + observed;
    const hints = { ...(this.#record.hints as object), ...hintsFor(address, taken) };
    const recordSet = { version, log_tokens: logTokens, hints, updated_at: now };
    const key = omKeyOf(address);
    const ids = taken.map(({ id }) => id);
    const reflect = this.#dueReflection(logTokens);
    const writes: Write[] = [
      update(OM_RECORDS, {
        where: { thread_id: key, source: "", version: this.#record.version },
        set: recordSet,
        require: true,
      }),
      update(OM_RECORDS, {
        where: { thread_id: key, source: omPartOf(address) },
        set: partSet,
        increment: change,
      }),
      update(OM_CHUNKS, {
        where: { thread_id: key, id: { in: ids }, state: "buffered" },
        set: { state: "active", position: version, activated_at: now },
        require: true,
      }),
      ...(reflect ? [insertReflection({ address, agentId, now, ...reflect, upto: version })] : []),
    ];
    const chunks = taken.map((chunk) =>
      omChunk("activation", chunk.cycle_id, {
        cycleId: chunk.cycle_id,
        operationType: "observation",
        activatedAt: new Date(now).toISOString(),
        chunksActivated: 1,
        tokensActivated: chunk.message_tokens,
        observationTokens: chunk.tokens,
        messagesActivated: chunk.message_count,
        generationCount: this.#record.generation,
        observations: chunk.text,
        triggeredBy: early?.triggeredBy ?? "threshold",
        ...early,
        recordId: this.#record.id,
        threadId: address.threadId,
        config: shownConfig(config, limits),
      }),
    );
    const changePart = (part: OmRecordRow): Partial<OmRecordRow> => ({ ...partSet, ...added(part, change) });
    const isStored = await this.#announce(journal, chunks, writes, changePart, () => {
      this.#record = { ...this.#record, ...recordSet };
      this.#chunks = this.#chunks.map((chunk) =>
        ids.includes(chunk.id) ? { ...chunk, state: "active", position: version } : chunk,
      );
    });
    if (!isStored) return false;
    if (reflect) this.#options.onJob();
    return true;
  }

  /** The reflection that becomes due when the log has this size. */
  #dueReflection(logTokens: number): { tokens: number; waited: boolean } | undefined {
    const { limits } = this;
    const { reflected_tokens } = this.#record;
    const hasReflection = this.reflection !== undefined || this.#jobs.some(({ kind }) => kind === "reflect");
    const sums = {
      pendingTokens: 0,
      bufferedMessageTokens: 0,
      jobMessageTokens: 0,
      logTokens,
      hasReflection,
      triedLogTokens: reflected_tokens,
    };
    if (!planJobs(sums, limits).some(({ kind }) => kind === "reflect")) return undefined;
    return { tokens: logTokens, waited: limits.bufferTokens === undefined };
  }

  async #activateReflection(journal: MemoryJournal, facts: EarlyFacts): Promise<boolean | undefined> {
    const { reflection, limits } = this;
    if (!reflection) return undefined;
    const record = this.#record;
    const input = {
      logTokens: record.log_tokens,
      inputTokens: reflection.input_tokens,
      reflectionTokens: reflection.tokens,
    };
    const isDue = this.#isForced || activatesReflection(input, limits);
    const early = isDue ? undefined : this.#early("reflection", facts);
    if (!isDue && !(early && activatesReflectionEarly(input, limits))) return undefined;
    const { address, config, system } = this.#options;
    const now = Math.trunc(system.now());
    const version = record.version + 1;
    const key = omKeyOf(address);
    const upto = reflection.upto ?? 0;
    const set = {
      version,
      generation: record.generation + 1,
      log_tokens: Math.max(0, record.log_tokens - reflection.input_tokens + reflection.tokens),
      reflected_tokens: 0,
      updated_at: now,
    };
    const writes: Write[] = [
      update(OM_RECORDS, {
        where: { thread_id: key, source: "", version: record.version, generation: record.generation },
        set,
        require: true,
      }),
      update(OM_CHUNKS, {
        where: { thread_id: key, state: "active", position: { lte: upto } },
        set: { state: "past" },
      }),
      update(OM_CHUNKS, {
        where: { thread_id: key, id: reflection.id, state: "buffered" },
        set: { state: "active", position: version, activated_at: now },
        require: true,
      }),
    ];
    const chunk = omChunk("activation", reflection.cycle_id, {
      cycleId: reflection.cycle_id,
      operationType: "reflection",
      activatedAt: new Date(now).toISOString(),
      chunksActivated: 1,
      tokensActivated: reflection.input_tokens,
      observationTokens: reflection.tokens,
      messagesActivated: 0,
      generationCount: set.generation,
      observations: reflection.text,
      triggeredBy: early?.triggeredBy ?? "threshold",
      ...early,
      recordId: record.id,
      threadId: address.threadId,
      config: shownConfig(config, limits),
    });
    const changePart = (): Partial<OmRecordRow> => (address.scope === "thread" ? set : {});
    return this.#announce(journal, [chunk], writes, changePart, () => {
      this.#record = { ...this.#record, ...set };
      this.#chunks = this.#chunks.flatMap((one) => {
        if (one.id === reflection.id) return [{ ...one, state: "active" as const, position: version }];
        return one.state === "active" && (one.position ?? 0) <= upto ? [] : [one];
      });
    });
  }

  /** The roles that the run must wait for, while there is something to wait for. */
  get waitsFor(): { observe: boolean; reflect: boolean } {
    const { threadId } = this.#options.address;
    const need = mustWait(
      {
        pendingTokens: this.#part.pending_tokens,
        bufferedMessageTokens: this.buffered.reduce((sum, chunk) => sum + chunk.message_tokens, 0),
        jobMessageTokens: 0,
        logTokens: this.#record.log_tokens,
        hasReflection: false,
      },
      this.limits,
    );
    // Jobs are carried out in order. One that has failed may fail for long: no run waits for that.
    const works = (kind: OmJobRow["kind"]): boolean => {
      const first = this.#jobs.find(
        (job) => job.kind === kind && (kind === "reflect" || job.source === threadId),
      );
      return first !== undefined && first.state !== "failed" && first.last_error === null;
    };
    return {
      observe: need.observe && works("observe"),
      reflect: need.reflect && this.reflection === undefined && works("reflect"),
    };
  }

  /**
   * Leaves the oldest messages out of the prompt when too many are unobserved. Takes the messages in the prompt;
   * returns how many of them to drop.
   */
  async leaveOut(shown: readonly StoredMessage[]): Promise<boolean> {
    const { journal, storage, address } = this.#options;
    const { pending_tokens, omitted_tokens, cursor_seq } = this.#part;
    const { messageTokens } = this.limits;
    if (!journal || !this.#isStored || pending_tokens - omitted_tokens <= 2 * messageTokens) return false;
    const seqs = await storage.select({
      table: MESSAGES,
      where: { thread_id: address.threadId, seq: { gt: Math.max(cursor_seq, this.#part.shown_seq) } },
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
    const change = { omitted_count: count, omitted_tokens: sumOf(left) };
    const where = { thread_id: omKeyOf(address), source: omPartOf(address) };
    const writes = [update(OM_RECORDS, { where, set, increment: change })];
    return this.#announce(journal, [], writes, (part) => ({ ...set, ...added(part, change) }));
  }

  #changePart(change: Partial<OmRecordRow>): void {
    this.#part = { ...this.#part, ...change };
    if (this.#options.address.scope === "thread") this.#record = { ...this.#record, ...change };
  }

  /** The ids of stored messages that the prompt does not start before. */
  async hiddenIds(shown: readonly string[]): Promise<string[]> {
    const { storage, address } = this.#options;
    const rows = await storage.select({
      table: MESSAGES,
      where: { thread_id: address.threadId, id: { in: shown }, seq: { lte: this.#part.shown_seq } },
      columns: ["id"],
    });
    return rows.map(({ id }) => id);
  }

  status(stepNumber: number): Record<string, unknown> {
    const { buffered, limits, reflection } = this;
    const tokens = buffered.map(({ message_tokens }) => message_tokens);
    const count = planEarlyActivation({ pendingTokens: this.#part.pending_tokens, chunks: tokens }, limits);
    return omStatus({
      record: this.#record,
      part: this.#part,
      buffered,
      reflection,
      jobs: this.#jobs,
      limits,
      threadId: this.#options.address.threadId,
      stepNumber,
      projected: tokens.slice(0, count).reduce((sum, one) => sum + one, 0),
    });
  }
}

/** Where the prompt starts after an activation: before the newest messages, and before the one to be answered. */
function shownAfter(
  window: readonly { seq: number; role: string; metadata: unknown }[],
  cursor: number,
  lastMessages: number,
  before: number,
): number {
  const kept = window.at(-Math.max(1, lastMessages)) ?? window[0];
  const person = window.findLast(({ role, metadata }) => {
    const signal = (metadata as { signal?: { type?: unknown } } | null)?.signal;
    return role === "user" || (role === "signal" && signal?.type === "user");
  });
  const first = Math.min(kept?.seq ?? Infinity, person?.seq ?? Infinity);
  return Math.max(before, Math.min(cursor, first - 1));
}

/** Task and suggestion belong to a thread; extracted values to the record. */
function hintsFor({ threadId, scope }: OmAddress, taken: readonly OmChunkRow[]): Record<string, unknown> {
  const newest = Object.assign({}, ...taken.map(({ hints }) => hints)) as Record<string, unknown>;
  const { currentTask, suggestedResponse, extracted } = newest;
  const own = { currentTask: currentTask ?? null, suggestedResponse: suggestedResponse ?? null };
  return {
    ...(scope === "thread" ? own : { [`thread:${threadId}`]: own }),
    ...(extracted !== undefined && { extracted }),
  };
}

/** Columns with something added to them. */
function added<Column extends keyof OmRecordRow>(
  row: OmRecordRow,
  change: Record<Column, number>,
): Record<Column, number> {
  const entries = Object.entries(change).map(([column, by]) => [
    column,
    (row[column as Column] as number) + (by as number),
  ]);
  return Object.fromEntries(entries) as Record<Column, number>;
}

function isAssistantRow(row: Record<string, unknown>): boolean {
  return row["role"] === "assistant" || "message_id" in row;
}

function sumOf(list: readonly { tokens: number }[]): number {
  return list.reduce((sum, { tokens }) => sum + tokens, 0);
}
