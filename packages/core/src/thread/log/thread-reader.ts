import { AgentError } from "../../errors.ts";
import { checkOwnership, firstFreeSeq, readActor } from "../hold/actor.ts";
import { type EventPiece, type NumberedChunk, readEvents } from "./event-log.ts";
import { noThread } from "../../storage/no-thread.ts";
import { sleep } from "../../system.ts";
import type { Thread } from "../hold/thread.ts";

/** A reader of a thread's stream. */
export interface AgentThreadSubscription {
  /** Chunks of all runs, one after another, each with its number. Read it once. */
  readonly stream: AsyncIterable<NumberedChunk>;
  /** Instead of `stream`: all available chunks, up to `limit`, waiting for the first. An empty list means the end. */
  read(limit: number): Promise<readonly NumberedChunk[]>;
  /** The number of the last chunk returned; initially that of the chunk before the first. */
  readonly after: number;
  /** The active run, including one that is only reserved or that waits for a person; `null` if the thread is idle. */
  activeRunId(): string | null;
  /** Aborts the active run. */
  abort(): boolean;
  /** Ends the subscription, not the run. */
  unsubscribe(): void;
}

/** How long a reader waits for a failing store before it gives up. */
const RETRY_MS: readonly number[] = [50, 200, 500, 1_000, 2_000, 3_000, 5_000];

/**
 * A position in a thread's log. It keeps a number and no buffer: a slow reader costs nothing and delays no other, until
 * what it has not read is older than the store keeps.
 */
export class ThreadReader implements AsyncIterableIterator<NumberedChunk> {
  #thread: Thread;
  #after: number;
  #piece: NumberedChunk[] = [];
  #index = 0;
  #left = false;
  #failures = 0;
  /**
   * The resource whose events it may read. The thread may not exist when a reader arrives, and may belong to another
   * after deletion.
   */
  readonly #resourceId: string | undefined;

  constructor(thread: Thread, after: number, resourceId: string | undefined) {
    this.#thread = thread;
    this.#after = after;
    this.#resourceId = resourceId;
    thread.addReader();
  }

  /** The thread as currently known. */
  get thread(): Thread {
    const { current } = this.#thread;
    if (current !== this.#thread && !this.#left) {
      const before = this.#thread;
      this.#thread = current;
      current.addReader();
      before.removeReader();
      before.forget();
    }
    return current;
  }

  /** The number of the last chunk returned. */
  get after(): number {
    return this.#after;
  }

  async next(): Promise<IteratorResult<NumberedChunk>> {
    for (;;) {
      if (this.#left) return { done: true, value: undefined };
      const chunk = this.#piece[this.#index];
      if (chunk) {
        this.#index++;
        this.#after = chunk.seq;
        return { done: false, value: chunk };
      }
      try {
        await this.#more();
        this.#failures = 0;
      } catch (error) {
        // Waits for a store that is briefly unavailable.
        const wait = AgentError.is(error, "storage-failed") ? RETRY_MS[this.#failures++] : undefined;
        if (wait === undefined) {
          this.leave();
          // Others at the same position wait for what this one reads. What ended it may end them too.
          this.#thread.tail.behind();
          throw error;
        }
        await sleep(this.#thread.system, wait);
      }
    }
  }

  /** What is available, waiting for the first. An empty list means that the reader has left. */
  async read(limit: number): Promise<readonly NumberedChunk[]> {
    const first = await this.next();
    if (first.done) return [];
    const more = this.#piece.slice(this.#index, this.#index + limit - 1);
    this.#index += more.length;
    this.#after = more.at(-1)?.seq ?? this.#after;
    return [first.value, ...more];
  }

  return(): Promise<IteratorResult<NumberedChunk>> {
    this.leave();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Ends the reading. Safe to call again. */
  leave(): void {
    if (this.#left) return;
    this.#left = true;
    this.#thread.removeReader();
    this.#thread.tail.wake();
    this.#thread.forget();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #more(): Promise<void> {
    const { thread } = this;
    const { tail } = thread;
    // The place to wait was created before the owner was known, and now belongs to another.
    if (this.#resourceId !== undefined && thread.resourceId !== this.#resourceId)
      throw noThread(thread.threadId, this.#resourceId);
    let pieces: readonly EventPiece[] | undefined = tail.read(this.#after);
    if (!pieces) {
      // Subscribe to changes before reading, so that nothing is missed in between.
      const changed = tail.changed();
      pieces = await tail.catchUp(this.#after, (after) => this.#readOwn(thread, after));
      if (pieces.length === 0) {
        await this.#checkNumbers();
        await changed;
        return;
      }
    } else if (pieces.length === 0) {
      await tail.changed();
      return;
    }
    this.#take(pieces);
  }

  /**
   * Reads events if they belong to the resource of the handle. All readers of the handle share what one reads, so
   * nothing unchecked reaches them.
   */
  async #readOwn(thread: Thread, after: number): Promise<EventPiece[]> {
    const { storage, threadId, resourceId } = thread;
    const pieces = await readEvents(storage, threadId, after);
    // A reader without a resource may wait on a thread that has no owner yet.
    const isAnybodys = this.#resourceId === undefined && resourceId === threadId;
    if (pieces.length > 0 && !isAnybodys)
      checkOwnership(await readActor(storage, threadId), threadId, resourceId);
    return pieces;
  }

  /**
   * There is nothing to read. That is fine at the end. A number the thread has not reached belongs to a deleted thread,
   * since whatever follows has other numbers; and numbers before the first were deleted as old.
   */
  async #checkNumbers(): Promise<void> {
    const { storage, threadId } = this.#thread;
    const actor = await readActor(storage, threadId);
    if (this.#after === 0 && (!actor || actor.nextSeq === 1)) return;
    // During a run, its events are ahead of the thread's row.
    const end = actor ? Math.max(actor.nextSeq, await firstFreeSeq(storage, actor)) - 1 : 0;
    if (end < this.#after) {
      // Since the thread was read, its run may have ended and its events may have been deleted as old.
      const now = await readActor(storage, threadId);
      if (now && now.nextSeq > this.#after) return this.#checkNumbers();
      throw new AgentError(
        "not-found",
        `Thread "${threadId}" has no event ${this.#after}: it was deleted or recreated. Subscribe again without after.`,
        { details: { after: this.#after } },
      );
    }
    if (end === this.#after || actor?.runId !== undefined) return;
    // Or they were written since this reader checked.
    const pieces = await readEvents(storage, threadId, this.#after, 1);
    if (pieces.length === 0) throw this.#tooSlow(end);
    this.#thread.tail.behind();
  }

  #tooSlow(last: number): AgentError {
    return new AgentError(
      "reader-too-slow",
      `Events ${this.#after + 1} to ${last} of thread "${this.#thread.threadId}" are no longer kept. Read the messages and subscribe again.`,
      { details: { after: this.#after } },
    );
  }

  #take(pieces: readonly EventPiece[]): void {
    const piece = pieces[0] as EventPiece;
    const skip = this.#after + 1 - piece.first;
    if (skip < 0) throw this.#tooSlow(piece.first - 1);
    this.#piece = pieces.length === 1 ? piece.chunks : pieces.flatMap(({ chunks }) => chunks);
    this.#index = skip;
  }
}
