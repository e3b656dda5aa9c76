import type { AgentChunk } from "@selvedge/protocol";
import type { EventPiece } from "../../actor/log/event-piece.ts";
import { LogReader } from "../../actor/log/log-reader.ts";
import { AgentError } from "../../errors.ts";
import { checkOwnership, firstFreeSeq, readActor } from "../hold/actor.ts";
import { type NumberedChunk, readEvents } from "./event-log.ts";
import { noThread } from "../../storage/no-thread.ts";
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

/** A position in a thread's log. */
export class ThreadReader extends LogReader<AgentChunk, Thread> {
  /**
   * The resource whose events it may read. The thread may not exist when a reader arrives, and may belong to another
   * after deletion.
   */
  readonly #resourceId: string | undefined;

  constructor(thread: Thread, after: number, resourceId: string | undefined) {
    super(thread, after);
    this.#resourceId = resourceId;
  }

  protected override currentOf(thread: Thread): Thread {
    return thread.current;
  }

  protected override checkAccess(thread: Thread): void {
    // The place to wait was created before the owner was known, and now belongs to another.
    if (this.#resourceId !== undefined && thread.resourceId !== this.#resourceId)
      throw noThread(thread.threadId, this.#resourceId);
  }

  /** Reads events if they belong to the resource of the handle. */
  protected override async readStore(thread: Thread, after: number): Promise<EventPiece<AgentChunk>[]> {
    const { storage, threadId, resourceId } = thread;
    const pieces = await readEvents(storage, threadId, after);
    // A reader without a resource may wait on a thread that has no owner yet.
    const isAnybodys = this.#resourceId === undefined && resourceId === threadId;
    if (pieces.length > 0 && !isAnybodys)
      checkOwnership(await readActor(storage, threadId), threadId, resourceId);
    return pieces;
  }

  /**
   * A number the thread has not reached belongs to a deleted thread, since whatever follows has other numbers; and
   * numbers before the first were deleted as old.
   */
  protected override async checkNumbers(thread: Thread): Promise<void> {
    const { storage, threadId } = thread;
    const { after } = this;
    const actor = await readActor(storage, threadId);
    if (after === 0 && (!actor || actor.nextSeq === 1)) return thread.readUpTo(actor);
    // During a run, its events are ahead of the thread's row.
    const end = actor ? Math.max(actor.nextSeq, await firstFreeSeq(storage, actor)) - 1 : 0;
    if (end < after) {
      // Since the thread was read, its run may have ended and its events may have been deleted as old.
      const now = await readActor(storage, threadId);
      if (now && now.nextSeq > after) return this.checkNumbers(thread);
      throw new AgentError(
        "not-found",
        `Thread "${threadId}" has no event ${after}: it was deleted or recreated. Subscribe again without after.`,
        { details: { after } },
      );
    }
    if (actor?.runId !== undefined) return;
    if (end === after) return thread.readUpTo(actor);
    // Or they were written since this reader checked.
    const pieces = await readEvents(storage, threadId, after, 1);
    if (pieces.length === 0) throw this.tooSlow(thread, end);
    thread.tail.behind();
  }

  protected override tooSlow({ threadId }: Thread, last: number): AgentError {
    const { after } = this;
    return new AgentError(
      "reader-too-slow",
      `Events ${after + 1} to ${last} of thread "${threadId}" are no longer kept. Read the messages and subscribe again.`,
      { details: { after } },
    );
  }
}
