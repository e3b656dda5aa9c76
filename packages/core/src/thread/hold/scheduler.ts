import type { ThreadAddress } from "../threads.ts";

/**
 * Decides who carries out a thread, and when. A thread's work is in the store: its mailbox, journal, log and fence. A
 * scheduler only decides when a process checks it, so an extra wake-up does no harm.
 */
export interface Scheduler {
  /** A thread may have something to do: now, or after `afterMs`. Somebody here waits for an `urgent` one. */
  wake(key: ThreadAddress, when?: { afterMs: number; urgent: boolean }): void;
  /** The function that checks a woken thread. Resolves when nothing of the thread is in progress in this process. */
  onWake(work: (key: ThreadAddress) => Promise<void>): void;
  /** Takes a place among the runs of this process. If there is none, the thread is woken when its turn comes. */
  enter(key: ThreadAddress): boolean;
  /** Gives the place back. */
  leave(key: ThreadAddress): void;
}

export function keyOf({ threadId, resourceId }: ThreadAddress): string {
  return `${resourceId}\u0000${threadId}`;
}
