import type { ThreadJournal } from "../journal/thread-journal.ts";
import type { Lease } from "../../actor/log/fenced-log.ts";
import type { Actor } from "./actor.ts";
import type { RunTicket } from "./take.ts";

/** A run of a call that waits for its thread. */
export interface Waiter {
  ticket: RunTicket;
  journal: ThreadJournal;
  /** Mailbox items up to this number were accepted before the waiter arrived, so they go first. */
  after: number;
  /** The thread as the waiter read it on arrival, while that may still be current. */
  seen: { actor: Actor | undefined } | undefined;
  admit(lease: Lease): void;
  refuse(error: unknown): void;
}

/** The calls of this process that wait for a thread, in order of arrival. */
export class Waiters {
  readonly #line: Waiter[] = [];

  get isEmpty(): boolean {
    return this.#line.length === 0;
  }

  get first(): Waiter | undefined {
    return this.#line[0];
  }

  /** Whether a run of this process waits for the run of one of them. */
  get hasNested(): boolean {
    return this.#line.some(({ ticket }) => ticket.nested);
  }

  /** Joins the line. The promise is wrapped, so that a caller in line need not wait for its turn. */
  add(asking: Omit<Waiter, "admit" | "refuse">, abortSignal: AbortSignal): { lease: Promise<Lease> } {
    abortSignal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Lease>();
    const waiter: Waiter = { ...asking, admit: resolve, refuse: reject };
    const onAbort = () => {
      if (this.dismiss(waiter)) reject(abortSignal.reason);
    };
    abortSignal.addEventListener("abort", onAbort, { once: true });
    this.#line.push(waiter);
    return { lease: promise.finally(() => abortSignal.removeEventListener("abort", onAbort)) };
  }

  /** Removes a waiter from the line. Returns whether it was still there: it may have been aborted. */
  dismiss(waiter: Waiter): boolean {
    const index = this.#line.indexOf(waiter);
    if (index >= 0) this.#line.splice(index, 1);
    return index >= 0;
  }

  /**
   * What the first waiter read of a thread that was idle. It takes the thread on condition that nothing has changed.
   */
  takeSeen(): Waiter["seen"] {
    const seen = this.first?.seen;
    if (this.first) this.first.seen = undefined;
    return seen && seen.actor?.runId === undefined && !seen.actor?.mailboxCount ? seen : undefined;
  }

  /** The thread has changed. */
  seeAnew(): void {
    for (const waiter of this.#line) waiter.seen = undefined;
  }

  refuseAll(error: unknown): void {
    for (const waiter of this.#line.splice(0)) waiter.refuse(error);
  }
}
