import type { AgentChunk, StoredThread } from "@selvedge/protocol";
import {
  type AgentControllerDisplayState,
  type DisplayFacts,
  readFiles,
  readTasks,
  type RunEnd,
  ThreadEvents,
} from "@selvedge/protocol/session";
import { AgentError } from "../errors.ts";
import { ACTORS } from "../storage/thread-tables.ts";
import { listQueued } from "../thread/inspect/queue.ts";
import { watchQueue } from "../thread/inspect/queue-watch.ts";
import { FILES_STATE } from "./modified-files.ts";
import { Recount } from "./recount.ts";
import { USAGE_STATE, usageIn } from "./run-profile.ts";
import type { SessionHost } from "./session-core.ts";
import type { StoredSession } from "./session-domain.ts";
import { ThreadFollower } from "./thread-follower.ts";
import { HeldLock } from "./thread-locks.ts";
import { TASK_STATE } from "./tools/task-tools.ts";

/**
 * After these the stored totals are read again. The events alone do not always add up: a process may store a step and die
 * before it announces it, and the totals that were read may include a step that is announced later.
 */
const ENDS: ReadonlySet<string> = new Set(["finish", "error", "abort", "tripwire"]);

/** The thread that a session is on, as this process follows it: its stream, its queue, and its totals. */
export class FollowedThread {
  readonly events: ThreadEvents;
  readonly lock: HeldLock;
  readonly #host: SessionHost;
  readonly #row: () => StoredSession;
  #threadId: string | undefined;
  /** Retried on failure: otherwise no event of the thread would arrive. */
  readonly #binding: Recount;
  /** Why the thread could not be followed. */
  #failure: unknown;
  /** A thread that the session is creating. It is announced as new. */
  #created: StoredThread | undefined;
  #follower: ThreadFollower | undefined;
  /** Changes each time a thread is opened, so that results of earlier reads are dropped. */
  #reading = 0;
  #unwatchQueue: () => void = () => {};
  /** Stored facts about the thread that are not in its stream. Read again when they may have changed. */
  #queue: Recount | undefined;
  #stored: Recount | undefined;
  #isFirstHidden = false;
  #closed = false;

  constructor(host: SessionHost, row: () => StoredSession) {
    this.#host = host;
    this.#row = row;
    this.events = new ThreadEvents(host);
    this.lock = new HeldLock(host.config.threadLock, host.logger);
    this.#binding = this.#recount(
      () => this.#bind(),
      (error) => {
        this.#threadId = undefined;
        this.#failure = error;
        this.#fail(error);
      },
    );
  }

  /** The last event that arrived. */
  get lastSeq(): number | undefined {
    return this.#follower?.after;
  }

  /** How a run of the thread of that time ends, or what it waits for. */
  endOf(runId: string, epoch: number): Promise<RunEnd> {
    return this.events.endOf(runId, this.#closed ? NaN : epoch);
  }

  get activeRunId(): string | null {
    return this.#follower?.activeRunId ?? null;
  }

  abort(): boolean {
    return this.#follower?.abort() ?? false;
  }

  /** The next thread named by the row was created for it. */
  willCreate(thread: StoredThread | undefined): void {
    this.#created = thread;
  }

  /** Whether the row names the thread that is followed. */
  get isCurrent(): boolean {
    return this.#row().threadId === this.#threadId;
  }

  /** Resolves when the thread named by the row is followed. Throws if that is impossible. */
  async followed(): Promise<void> {
    await this.#binding.settled();
    if (this.#closed || this.isCurrent) return;
    await this.follow();
    if (!this.#closed && !this.isCurrent) throw this.#failure;
  }

  /** Whether every future event of the thread named by the row will arrive. */
  get isHeard(): boolean {
    return this.#follower !== undefined && this.isCurrent;
  }

  /** Moves to the thread named by the row. Failures are emitted as events. */
  follow(): Promise<void> {
    return this.#binding.now();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#binding.stop();
    this.#leave();
    this.events.bus.close();
    await this.lock.release();
  }

  async #bind(): Promise<void> {
    const { threadId, resourceId } = this.#row();
    const previous = this.#threadId;
    if (threadId === previous || this.#closed) return;
    this.#leave();
    this.#threadId = threadId;
    const created = this.#created?.id === threadId ? this.#created : undefined;
    this.#created = undefined;
    const { bus } = this.events;
    if (threadId === undefined) {
      await this.lock.release();
      this.events.begin();
      return bus.displayChanged();
    }
    const { agent, storage } = this.#host;
    // If another process moved the session, its lock must follow.
    await this.lock.follow(threadId);
    if (this.#closed) return this.lock.release();
    const reading = this.#reading;
    const failed = (error: unknown) => this.#reading === reading && this.#fail(error);
    const queue = (this.#queue = this.#recount(() => this.#countQueue(threadId), failed));
    const stored = (this.#stored = this.#recount(() => this.#readStored(threadId), failed));
    this.#unwatchQueue = watchQueue(storage, threadId, () => void this.countQueued());
    // The facts include all events up to here.
    const { seq, queuedFollowUps } = await this.#queued(threadId);
    const facts = { ...(await this.#storedFacts(threadId)), queuedFollowUps };
    if (this.#reading !== reading) return;
    this.events.begin(facts);
    if (created) bus.emit({ type: "thread_created", thread: created });
    else bus.emit({ type: "thread_changed", threadId, previousThreadId: previous ?? null });
    const follower = await ThreadFollower.open({
      agent,
      storage,
      threadId,
      resourceId,
      take: (chunk, isPast) => {
        if (this.#reading === reading) this.#take(chunk, isPast);
      },
      failed: (error) => this.#lost(reading, error),
    });
    if (this.#reading !== reading) return follower.stop();
    this.#follower = follower;
    const isBehind = follower.lastSeq !== seq || follower.after !== seq;
    // What is stored counts: a continued run may have announced the results of parallel calls again, in another order.
    if (isBehind) await stored.now();
    else this.events.learn(facts);
    if (isBehind || queue.asked) void this.countQueued();
    bus.displayChanged();
  }

  #recount(look: () => Promise<void>, failed: (error: unknown) => void): Recount {
    return new Recount(look, () => this.#host.system, failed);
  }

  /** The stream cannot be continued from here, so it is read again from the active run. */
  #lost(reading: number, error: unknown): void {
    if (this.#reading !== reading || this.#closed) return;
    this.#fail(error);
    if (AgentError.is(error, "storage-closed")) return;
    this.#threadId = undefined;
    void this.follow();
  }

  #leave(): void {
    this.#reading++;
    this.#follower?.stop();
    this.#follower = undefined;
    this.#unwatchQueue();
    this.#unwatchQueue = () => {};
    this.#queue?.stop();
    this.#stored?.stop();
    this.#queue = this.#stored = undefined;
    this.events.leave();
  }

  /** Stored facts about a thread that are not in its stream. */
  async facts(threadId: string): Promise<DisplayFacts> {
    const [known, { queuedFollowUps }] = await Promise.all([
      this.#storedFacts(threadId),
      this.#queued(threadId),
    ]);
    return { ...known, queuedFollowUps };
  }

  async #storedFacts(threadId: string): Promise<Omit<DisplayFacts, "queuedFollowUps">> {
    const states = (await this.#host.storage.getStore("threadState"))!;
    const known = await states.listStates({ threadId });
    return {
      tokenUsage: usageIn(known.get(USAGE_STATE)?.value),
      tasks: readTasks(known.get(TASK_STATE)?.value),
      files: readFiles(known.get(FILES_STATE)?.value),
    };
  }

  async #queued(threadId: string): Promise<{ queuedFollowUps: number; seq: number }> {
    const { storage } = this.#host;
    const [actor] = await storage.select({ table: ACTORS, where: { thread_id: threadId }, limit: 1 });
    const waiting = await listQueued(storage, threadId);
    // The one that opened the active run is about to be taken.
    const count = waiting.filter(({ due, runId }) => due === "next" && runId !== actor?.run_id).length;
    // On an idle thread the first one is about to run, unless another message is faster.
    this.#isFirstHidden = !actor?.run_id && count > 0;
    return { queuedFollowUps: this.#isFirstHidden ? count - 1 : count, seq: (actor?.next_seq ?? 1) - 1 };
  }

  /** The queue may have changed, here or in another process. */
  async countQueued(): Promise<void> {
    await this.#queue?.now();
  }

  async #countQueue(threadId: string): Promise<void> {
    const { queuedFollowUps } = await this.#queued(threadId);
    if (this.#threadId === threadId && queuedFollowUps !== this.events.display.queuedFollowUps)
      this.events.learn({ queuedFollowUps });
  }

  /** Whether the start of a run may change the queue, or how it is shown. */
  get #mayHaveQueue(): boolean {
    return this.#isFirstHidden || this.#queue?.isLooking === true || this.events.display.queuedFollowUps > 0;
  }

  #take(chunk: AgentChunk, isPast: boolean): void {
    for (const { type } of this.events.take(chunk, isPast))
      if (type === "agent_start" && this.#mayHaveQueue) void this.countQueued();
    if (!isPast && ENDS.has(chunk.type)) void this.#stored?.now();
  }

  /**
   * What is stored, where no event told of newer things meanwhile: a step may have been stored while the session came to its
   * thread, and a tool may have changed the tasks in a run that ended before it could say so.
   */
  async #readStored(threadId: string): Promise<void> {
    const before = shownFacts(this.events.display);
    const facts = await this.#storedFacts(threadId);
    if (this.#threadId !== threadId) return;
    if (shownFacts(this.events.display) !== before) return void this.#stored?.now();
    this.events.learn(facts);
  }

  #fail(thrown: unknown): void {
    if (this.#closed || AgentError.is(thrown, "storage-closed")) return;
    const error = thrown instanceof Error ? thrown : new AgentError("internal", String(thrown));
    this.events.bus.emit({ type: "error", error });
  }
}

function shownFacts({ tokenUsage, tasks, modifiedFiles }: AgentControllerDisplayState): string {
  return JSON.stringify([tokenUsage.totalTokens, tasks, [...modifiedFiles]]);
}
