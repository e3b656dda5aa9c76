import type { AgentChunk, StoredThread } from "@selvedge/protocol";
import { type DisplayFacts, readFiles, readTasks, ThreadEvents } from "@selvedge/protocol/session";
import { AgentError } from "../errors.ts";
import { ACTORS } from "../storage/thread-tables.ts";
import { listQueued } from "../thread/inspect/queue.ts";
import { watchQueue } from "../thread/inspect/queue-watch.ts";
import { FILES_STATE } from "./modified-files.ts";
import { readUsage, USAGE_STATE, usageIn } from "./run-profile.ts";
import type { SessionHost } from "./session-core.ts";
import type { StoredSession } from "./session-domain.ts";
import { ThreadFollower } from "./thread-follower.ts";
import { HeldLock } from "./thread-locks.ts";
import { TASK_STATE } from "./tools/task-tools.ts";

/** The thread that a session is on, as this process follows it: its stream, its queue, and what it comes to. */
export class FollowedThread {
  readonly events: ThreadEvents;
  readonly lock: HeldLock;
  readonly #host: SessionHost;
  readonly #row: () => StoredSession;
  #threadId: string | undefined;
  #binding: Promise<void> = Promise.resolve();
  /** Why the thread could not be followed. */
  #failure: unknown;
  /** A thread that the session is creating: it is told as new. */
  #created: StoredThread | undefined;
  #follower: ThreadFollower | undefined;
  /** Another one with each reading of a thread: what comes of an earlier one is of no interest. */
  #reading = 0;
  #unwatchQueue: () => void = () => {};
  #closed = false;

  constructor(host: SessionHost, row: () => StoredSession) {
    this.#host = host;
    this.#row = row;
    this.events = new ThreadEvents(host);
    this.lock = new HeldLock(host.config.threadLock, host.logger);
  }

  get activeRunId(): string | null {
    return this.#follower?.activeRunId ?? null;
  }

  abort(): boolean {
    return this.#follower?.abort() ?? false;
  }

  /** The next thread that the row names was created for it. */
  willCreate(thread: StoredThread | undefined): void {
    this.#created = thread;
  }

  /** Whether the row names the thread that is followed. */
  get isCurrent(): boolean {
    return this.#row().threadId === this.#threadId;
  }

  /** Resolves when the thread that the row names is followed. Throws where it cannot be: nothing would be heard of it. */
  async followed(): Promise<void> {
    await this.#binding;
    if (this.#closed || this.isCurrent) return;
    await this.follow();
    if (!this.#closed && !this.isCurrent) throw this.#failure;
  }

  /** Goes to the thread that the row names. What goes wrong is told. */
  follow(): Promise<void> {
    this.#binding = this.#binding
      .then(() => this.#bind())
      .catch((error: unknown) => {
        this.#threadId = undefined;
        this.#failure = error;
        this.#fail(error);
      });
    return this.#binding;
  }

  async close(): Promise<void> {
    this.#closed = true;
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
    // Where another process moved the session, its lock has to follow.
    await this.lock.follow(threadId);
    this.events.begin(await this.facts(threadId));
    if (created) bus.emit({ type: "thread_created", thread: created });
    else bus.emit({ type: "thread_changed", threadId, previousThreadId: previous ?? null });
    const reading = this.#reading;
    this.#unwatchQueue = watchQueue(storage, threadId, () => void this.countQueued());
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
    bus.displayChanged();
  }

  /** The stream cannot be read any further from here: it is read anew, from the run that is active now. */
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
    this.events.leave();
  }

  /** What the store knows of a thread beside its stream. */
  async facts(threadId: string): Promise<DisplayFacts> {
    const states = (await this.#host.storage.getStore("threadState"))!;
    const [known, queuedFollowUps] = await Promise.all([
      states.listStates({ threadId }),
      this.#queued(threadId),
    ]);
    return {
      queuedFollowUps,
      tokenUsage: usageIn(known.get(USAGE_STATE)?.value),
      tasks: readTasks(known.get(TASK_STATE)?.value),
      files: readFiles(known.get(FILES_STATE)?.value),
    };
  }

  async #queued(threadId: string): Promise<number> {
    const { storage } = this.#host;
    const [actor] = await storage.select({ table: ACTORS, where: { thread_id: threadId }, limit: 1 });
    const waiting = await listQueued(storage, threadId);
    const count = waiting.filter(({ due }) => due === "next").length;
    // On an idle thread the first one is about to run.
    return actor?.run_id ? count : Math.max(0, count - 1);
  }

  /** What waits may have changed, here or in another process. */
  async countQueued(): Promise<void> {
    const threadId = this.#threadId;
    if (threadId === undefined) return;
    try {
      const queuedFollowUps = await this.#queued(threadId);
      if (this.#threadId === threadId && queuedFollowUps !== this.events.display.queuedFollowUps)
        this.events.learn({ queuedFollowUps });
    } catch (error) {
      this.#fail(error);
    }
  }

  #take(chunk: AgentChunk, isPast: boolean): void {
    for (const { type } of this.events.take(chunk, isPast)) {
      if (type === "agent_start" && this.events.display.queuedFollowUps > 0) void this.countQueued();
      if (type === "agent_end") void this.#countUsage();
    }
  }

  /** Steps that were stored while the session came to its thread may have been missed. */
  async #countUsage(): Promise<void> {
    const threadId = this.#threadId;
    if (threadId === undefined) return;
    const { usage } = await readUsage(this.#host.storage, threadId).catch(() => ({ usage: undefined }));
    const { totalTokens } = this.events.display.tokenUsage;
    if (usage && this.#threadId === threadId && usage.totalTokens !== totalTokens)
      this.events.learn({ tokenUsage: usage });
  }

  #fail(thrown: unknown): void {
    if (this.#closed || AgentError.is(thrown, "storage-closed")) return;
    const error = thrown instanceof Error ? thrown : new AgentError("internal", String(thrown));
    this.events.bus.emit({ type: "error", error });
  }
}
