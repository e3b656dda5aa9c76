/**
 * Decides who carries out an actor (a thread, a workflow run), and when. Its work is in the store: its mailbox, journal,
 * log and fence. A scheduler only decides when a process checks it, so an extra wake-up does no harm.
 */
export interface Scheduler<Address> {
  /** An actor may have something to do: now, or after `afterMs`. A caller here waits for an `urgent` one. */
  wake(address: Address, when?: { afterMs: number; urgent: boolean }): void;
  /** The function that checks a woken actor. Resolves when nothing of it is in progress in this process. */
  onWake(work: (address: Address) => Promise<void>): void;
  /** Takes a place among the runs of this process. If there is none, the actor is woken when its turn comes. */
  enter(address: Address): boolean;
  /** Gives the place back. */
  leave(address: Address): void;
}
