import type { AgentChunk, StoredThread } from "@selvedge/protocol";
import {
  addTokenUsage,
  type AgentControllerEvent,
  changesOf,
  Display,
  type DisplayFacts,
  EventBus,
  EventFold,
  readTasks,
  type RunEnd,
  RunEnds,
  type TaskItemSnapshot,
} from "@selvedge/protocol/session";
import type { Agent } from "../agent/agent.ts";
import { AgentError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { ThreadDomain } from "../storage/thread-domain.ts";
import { SESSION_DOMAIN, type SessionPatch, type StoredSession } from "./session-domain.ts";
import type { Storage, Write } from "../storage/storage.ts";
import { ACTORS } from "../storage/thread-tables.ts";
import type { System } from "../system.ts";
import { listQueued } from "../thread/inspect/queue.ts";
import { watchQueue } from "../thread/inspect/queue-watch.ts";
import type { AgentControllerConfig } from "./config.ts";
import { Recount } from "./recount.ts";
import { readUsage } from "./run-profile.ts";
import { SessionRecord } from "./session-record.ts";
import type { StateRules } from "./session-state.ts";
import { ThreadFollower } from "./thread-follower.ts";
import { HeldLock } from "./thread-locks.ts";
import { TASK_STATE } from "./tools/task-tools.ts";

/** After these the events may not tell everything that was stored. */
const BAD_ENDS: ReadonlySet<string> = new Set(["error", "abort", "tripwire"]);

/** What a controller lends to its sessions. */
export interface SessionHost {
  readonly config: AgentControllerConfig;
  readonly system: System;
  readonly logger: Logger;
  readonly storage: Storage;
  /** The internal agent, which carries out all runs. */
  readonly agent: Agent;
  readonly stateRules: StateRules;
  newId(): string;
  memory(): Promise<ThreadDomain>;
  /** Puts a session's row into the store, where it is not there yet. */
  storeRow(seed: StoredSession): Promise<StoredSession>;
}

/**
 * A session as this process has it: its row, the thread it is on, and those who listen. All that lasts is in the row and on
 * the thread.
 */
export class SessionCore {
  readonly host: SessionHost;
  readonly display: Display = new Display();
  readonly bus: EventBus;
  readonly lock: HeldLock;
  readonly #seed: StoredSession;
  #record: SessionRecord | undefined;
  /** What readers see already, while it is being stored. */
  #expected: SessionPatch | undefined;
  #moving: Promise<void> = Promise.resolve();
  #opening: Promise<void> | undefined;
  #bound: string | undefined;
  /** Comes to the thread that the row names. Where it fails nothing would be heard of the thread, so it is tried again. */
  readonly #binding: Recount;
  /** Why the thread could not be followed. */
  #unbound: unknown;
  /** A thread that this session is creating: it is told as new. */
  #created: StoredThread | undefined;
  #selecting: string | undefined;
  #follower: ThreadFollower | undefined;
  #fold: EventFold | undefined;
  #unwatchQueue: (() => void) | undefined;
  /** What the store knows of the thread beside its stream, read again when it may have changed. */
  #queue: Recount | undefined;
  #isFirstHidden = false;
  /** Whether all events of the run were heard as they came. */
  #isWhole = false;
  #facts: Recount | undefined;
  readonly #rowListeners = new Set<() => void>();
  readonly #ends = new RunEnds();
  #closed = false;

  constructor(host: SessionHost, seed: StoredSession) {
    this.host = host;
    this.#seed = seed;
    this.bus = new EventBus(this.display, host);
    this.#binding = new Recount(
      () => this.#bind(),
      () => host.system,
      (error) => {
        this.#bound = undefined;
        this.#unbound = error;
        this.#fail(error);
      },
    );
    this.lock = new HeldLock(host.config.threadLock, host.logger);
  }

  /** The newest version of the row that is known here. */
  get row(): StoredSession {
    const row = this.#record?.current ?? this.#seed;
    return this.#expected ? { ...row, ...this.#expected } : row;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  get threadId(): string | undefined {
    return this.row.threadId;
  }

  get activeRunId(): string | null {
    return this.#follower?.activeRunId ?? null;
  }

  /** The last event of its thread that the session has heard of. */
  get lastSeq(): number | undefined {
    return this.#follower?.after;
  }

  /** Resolves when the session is in the store and follows its thread. */
  async ready(): Promise<void> {
    await this.#opened();
    await this.#moving;
  }

  #opened(): Promise<void> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<void> {
    const { host } = this;
    await host.storage.init();
    const domain = await host.storage.domain(SESSION_DOMAIN);
    const stored = await host.storeRow(this.#seed);
    this.#record = new SessionRecord(host.storage, domain, stored);
    this.#record.onChange = (before, after) => this.#changed(before, after);
    if (stored.threadId !== undefined) await this.#binding.now();
  }

  /** Changes the row, on top of what others did. `change` may be asked more than once. */
  async change(
    change: (seen: StoredSession) => Promise<{ patch: SessionPatch; also?: readonly Write[] } | undefined>,
  ): Promise<StoredSession> {
    await this.#opened();
    this.checkOpen();
    const { storage, system } = this.host;
    return this.#record!.change(change, (writes) =>
      storage.commit(writes, { key: this.row.id, id: system.newId() }),
    );
  }

  /** Goes to another resource: for readers at once, and for what comes after it when it is stored. */
  moveTo(resourceId: string): Promise<void> {
    const expected = (this.#expected = { resourceId, threadId: undefined });
    const moved = this.change(async () => ({ patch: expected }))
      .then(() => this.followed())
      .finally(() => {
        if (this.#expected === expected) this.#expected = undefined;
      });
    this.#moving = moved.catch(() => {});
    return moved;
  }

  /** The row with a change, for a commit of somebody else. Say `made` when it is done. */
  next(patch: SessionPatch): { write: Write; session: StoredSession } {
    return this.#record!.next(patch);
  }

  made(session: StoredSession): void {
    this.#record!.made(session);
  }

  async refresh(): Promise<StoredSession> {
    await this.ready();
    return this.#record!.refresh();
  }

  /** Calls back when the row has changed, whoever changed it, and when the session is over. */
  watchRow(listener: () => void): () => void {
    this.#rowListeners.add(listener);
    return () => void this.#rowListeners.delete(listener);
  }

  /** Resolves when the session follows the thread that its row names. Throws where it cannot: nothing would be heard of it. */
  async followed(): Promise<void> {
    await this.#binding.settled();
    if (this.#closed || this.row.threadId === this.#bound) return;
    await this.#binding.now();
    if (!this.#closed && this.row.threadId !== this.#bound) throw this.#unbound;
  }

  /** Whether the session hears of the thread that its row names. */
  get isFollowing(): boolean {
    return this.#follower !== undefined && this.#bound === this.row.threadId;
  }

  /** The next thread that the row names was created for it. */
  willCreate(thread: StoredThread | undefined): void {
    this.#created = thread;
  }

  /** A model that is being selected for more than the thread. */
  willSelect(modelId: string | undefined): void {
    this.#selecting = modelId;
  }

  abort(): boolean {
    return this.#follower?.abort() ?? false;
  }

  /** Rises whenever the session leaves a thread. */
  get epoch(): number {
    return this.#ends.epoch;
  }

  /** How a run ends, or comes to wait, that began on the thread of that time. */
  endOf(runId: string, epoch: number): Promise<RunEnd> {
    return this.#ends.of(runId, this.#closed ? NaN : epoch);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#binding.stop();
    this.#leaveThread();
    this.#record?.close();
    this.bus.close();
    for (const listener of this.#rowListeners) listener();
    this.#rowListeners.clear();
    await this.lock.release();
  }

  /** Of a session that is closed nothing is heard any more: who waited for it would wait forever. */
  checkOpen(): void {
    if (this.#closed || this.#record?.isGone)
      throw new AgentError(
        "not-found",
        `Session "${this.row.id}" is closed. Open it again with createSession().`,
      );
  }

  /** A version of the row, made here or elsewhere: what is different in it happened. */
  #changed(before: StoredSession, after: StoredSession | undefined): void {
    if (!after) {
      this.bus.emit({ type: "info", message: `Session "${before.id}" was deleted.` });
      void this.close();
      return;
    }
    const scope = this.#selecting === after.modelId ? "global" : "thread";
    for (const event of changesOf(before, after, scope)) this.bus.emit(event);
    if (after.threadId !== this.#bound) void this.#binding.now();
    for (const listener of this.#rowListeners) listener();
  }

  /** Follows the thread that the row names. */
  async #bind(): Promise<void> {
    const { threadId, resourceId } = this.row;
    const previous = this.#bound;
    if (threadId === previous || this.#closed) return;
    this.#leaveThread();
    this.#bound = threadId;
    const created = this.#created?.id === threadId ? this.#created : undefined;
    this.#created = undefined;
    if (threadId === undefined) {
      await this.lock.release();
      this.display.reset();
      return this.bus.displayChanged();
    }
    const { agent, storage } = this.host;
    // Where another process moved the session, its lock has to follow.
    await this.lock.follow(threadId);
    if (this.#closed) return this.lock.release();
    const fold = (this.#fold = new EventFold());
    this.#queue = this.#recount(fold, () => this.#countQueue(threadId));
    this.#facts = this.#recount(fold, () => this.#readFacts(threadId));
    this.#unwatchQueue = watchQueue(storage, threadId, () => void this.countQueued());
    const { seq, ...facts } = await this.#factsOf(threadId);
    if (this.#fold !== fold) return;
    this.display.reset(facts);
    if (created) this.bus.emit({ type: "thread_created", thread: created });
    else this.bus.emit({ type: "thread_changed", threadId, previousThreadId: previous ?? null });
    const follower = await ThreadFollower.open({
      agent,
      storage,
      threadId,
      resourceId,
      take: (chunk, isPast) => {
        if (this.#fold === fold) this.#take(fold, chunk, isPast);
      },
      failed: (error) => this.#lost(fold, error),
    });
    if (this.#fold !== fold) return follower.stop();
    this.#follower = follower;
    // Something was stored since the facts were read.
    if (follower.lastSeq !== seq) await this.#facts?.now();
    if (follower.lastSeq !== seq || this.#queue?.asked) void this.countQueued();
    this.bus.displayChanged();
  }

  #recount(fold: EventFold, look: () => Promise<void>): Recount {
    return new Recount(
      look,
      () => this.host.system,
      (error) => this.#fold === fold && this.#fail(error),
    );
  }

  /** The stream cannot be read any further from here: it is read anew, from the run that is active now. */
  #lost(fold: EventFold, error: unknown): void {
    if (this.#fold !== fold || this.#closed) return;
    this.#fail(error);
    if (AgentError.is(error, "storage-closed")) return;
    this.#bound = undefined;
    void this.#binding.now();
  }

  #leaveThread(): void {
    this.#follower?.stop();
    this.#follower = undefined;
    this.#fold = undefined;
    this.#unwatchQueue?.();
    this.#unwatchQueue = undefined;
    this.#queue?.stop();
    this.#facts?.stop();
    this.#queue = this.#facts = undefined;
    this.#ends.leave();
  }

  /** What the store knows of a thread beside its stream. */
  async facts(threadId: string): Promise<Omit<DisplayFacts, "modifiedFiles">> {
    const { seq: _, ...facts } = await this.#factsOf(threadId);
    return facts;
  }

  /** The same, and the last event that it surely has in it. */
  async #factsOf(threadId: string): Promise<Omit<DisplayFacts, "modifiedFiles"> & { seq: number }> {
    const { seq, count } = await this.#queued(threadId);
    return { ...(await this.#stored(threadId)), queuedFollowUps: count, seq };
  }

  async #stored(threadId: string): Promise<Pick<DisplayFacts, "tokenUsage" | "tasks">> {
    const { storage } = this.host;
    const states = (await storage.getStore("threadState"))!;
    const [{ usage }, tasks] = await Promise.all([
      readUsage(storage, threadId),
      states.getState({ threadId, type: TASK_STATE }),
    ]);
    return { tokenUsage: usage, tasks: readTasks(tasks?.value) };
  }

  async #queued(threadId: string): Promise<{ count: number; seq: number }> {
    const { storage } = this.host;
    const [actor] = await storage.select({ table: ACTORS, where: { thread_id: threadId }, limit: 1 });
    const waiting = await listQueued(storage, threadId);
    // The one that opened the active run is about to be taken.
    const count = waiting.filter(({ due, runId }) => due === "next" && runId !== actor?.run_id).length;
    // On an idle thread the first one is about to run, unless another message is faster.
    this.#isFirstHidden = !actor?.run_id && count > 0;
    return { count: this.#isFirstHidden ? count - 1 : count, seq: (actor?.next_seq ?? 1) - 1 };
  }

  /**
   * Usage and tasks, where no event told of newer ones meanwhile: a step may have been stored while the session came to its
   * thread, and a tool may have changed the tasks in a run that ended before it could say so.
   */
  async #readFacts(threadId: string): Promise<void> {
    const before = this.display.get();
    const { tokenUsage, tasks } = await this.#stored(threadId);
    const now = this.display.get();
    if (this.#bound !== threadId) return;
    const isNews = tokenUsage.totalTokens !== now.tokenUsage.totalTokens || !isSame(tasks, now.tasks);
    if (!isNews) return;
    if (now.tokenUsage !== before.tokenUsage || !isSame(now.tasks, before.tasks))
      return void this.#facts?.now();
    this.display.set({ tokenUsage, tasks });
    this.bus.displayChanged();
  }

  /** What waits may have changed, here or in another process. */
  async countQueued(): Promise<void> {
    await this.#queue?.now();
  }

  /** Whether a run that begins may change what waits, or what is shown of it. */
  get #mayHaveQueue(): boolean {
    return this.#isFirstHidden || this.#queue?.isLooking === true || this.display.get().queuedFollowUps > 0;
  }

  async #countQueue(threadId: string): Promise<void> {
    const { count } = await this.#queued(threadId);
    const before = this.display.get().queuedFollowUps;
    if (this.#bound !== threadId || count === before) return;
    if (count > before) return this.bus.emit({ type: "follow_up_queued", count });
    this.display.set({ queuedFollowUps: count });
    this.bus.displayChanged();
  }

  #take(fold: EventFold, chunk: AgentChunk, isPast: boolean): void {
    this.#ends.takeChunk(chunk);
    for (const event of fold.take(chunk)) {
      if (isPast) this.display.take(event);
      else this.#tell(event);
    }
    if (isPast) this.#isWhole = false;
    else if (chunk.type === "start") this.#isWhole = true;
    else if (chunk.type === "finish" ? !this.#isWhole : BAD_ENDS.has(chunk.type)) void this.#facts?.now();
  }

  #tell(event: AgentControllerEvent): void {
    if (event.type === "usage_update") {
      const { tokenUsage } = this.display.get();
      this.display.set({ tokenUsage: addTokenUsage(tokenUsage, event.usage) });
    } else if (event.type === "agent_start" && this.#mayHaveQueue) void this.countQueued();
    this.bus.emit(event);
    this.#ends.takeEvent(event);
  }

  #fail(thrown: unknown): void {
    if (this.#closed || AgentError.is(thrown, "storage-closed")) return;
    const error = thrown instanceof Error ? thrown : new AgentError("internal", String(thrown));
    this.bus.emit({ type: "error", error });
  }
}

function isSame(a: readonly TaskItemSnapshot[], b: readonly TaskItemSnapshot[]): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
