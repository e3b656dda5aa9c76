import type { ThreadAddress } from "../threads.ts";

/**
 * Decides who carries out a thread, and when. What a thread has to do is in the store: its mailbox, journal, log and
 * fence. A scheduler only says when a process looks at it, so a wake-up too many does no harm.
 */
export interface Scheduler {
  /** A thread may have something to do: now, or after `afterMs`. Somebody here waits for an `urgent` one. */
  wake(key: ThreadAddress, when?: { afterMs: number; urgent: boolean }): void;
  /** What looks at a thread that is woken. Resolves when nothing of the thread is under way in this process. */
  onWake(work: (key: ThreadAddress) => Promise<void>): void;
  /** Takes a place among the runs of this process. If there is none, the thread is woken when its turn comes. */
  enter(key: ThreadAddress): boolean;
  /** Gives the place back. */
  leave(key: ThreadAddress): void;
}

export function keyOf({ threadId, resourceId }: ThreadAddress): string {
  return `${resourceId}\u0000${threadId}`;
}
