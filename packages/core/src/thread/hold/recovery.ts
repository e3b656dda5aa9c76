import { AgentError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Storage, Where } from "../../storage/storage.ts";
import { ACTORS, CALLS } from "../../storage/thread-tables.ts";
import { sleep, type System } from "../../system.ts";
import type { ThreadAddress } from "../threads.ts";
import type { Owner } from "./owner.ts";

/** How often a process searches for threads without a process: well within the 2 s allowed after a lease ends. */
const LOOK_EVERY_MS = 1_500;
/** What could not be taken, for instance because its agent is elsewhere, is retried after this many searches. */
const RETRY_AFTER_LOOKS = 20;
const BATCH = 500;

interface Candidate {
  threadId: string;
  resourceId: string;
  /** Changes with every activity on the thread. */
  mark: string;
  /** Its process is gone. Otherwise one may be about to act, and it has until the next search. */
  isOrphan: boolean;
}

/** What the search for unfinished threads needs. */
export interface RecoveryOptions {
  storage: Storage;
  system: System;
  logger: Logger;
  owner: Owner;
  /** Called before each search. */
  onLook(): void;
  /** Called with a thread that has work to do and no process. */
  onFound(thread: ThreadAddress): void;
}

/**
 * Finds threads without a process. Every process searches periodically: live processes take over what a dead or closed
 * one left.
 *
 *     running, its owner gone      → the run continues here
 *     idle, with waiting messages  → the oldest opens its run
 *     suspended, answered/aborted  → the run continues here
 */
export class Recovery {
  readonly #options: RecoveryOptions;
  /** Threads found by the last search, and how often in a row. */
  #seen = new Map<string, { mark: string; looks: number }>();
  #looking: Promise<void> = Promise.resolve();
  #started = false;
  /** Everything must be found, including what could not be taken before. */
  #everything = true;
  #stopped = false;
  #cancelTimer: (() => void) | undefined;

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  /** Takes over everything unfinished now, and later what others leave. Later calls wait for the first. */
  start(): Promise<void> {
    if (this.#started) return this.#looking;
    this.#started = true;
    return this.#lookNext();
  }

  /** There is a new agent: searches again, including what could not be taken before. */
  lookAgain(): void {
    if (!this.#started) return;
    this.#everything = true;
    this.#lookLater();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTimer?.();
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#cancelTimer ??= this.#options.system.setTimer(LOOK_EVERY_MS, () => this.#lookLater(), {
      background: true,
    });
  }

  #lookLater(): void {
    this.#cancelTimer = undefined;
    this.#lookNext().catch((error: unknown) => this.#onFailure(error));
  }

  #onFailure(error: unknown): void {
    if (AgentError.is(error, "storage-closed")) return this.stop();
    this.#options.logger.error("Looking for unfinished threads failed and will be retried", error);
  }

  #lookNext(): Promise<void> {
    const look = this.#looking.then(() => this.#look());
    this.#looking = look.catch(() => {});
    return look;
  }

  async #look(): Promise<void> {
    if (this.#stopped) return;
    this.#options.onLook();
    const everything = this.#everything;
    this.#everything = false;
    try {
      const { live, dead } = await this.#options.owner.gone();
      const found = new Map<string, Candidate>();
      // Owners without a trace are searched for occasionally.
      const owner = everything ? { ne: null } : { in: dead.map(({ id }) => id) };
      if (everything || dead.length > 0)
        for (const run_state of ["running", "suspended"])
          await this.#collect(found, { run_state, run_id: { ne: null }, owner }, live);
      if (found.size === 0) await this.#options.owner.forget(dead);
      await this.#leftAlone(found);
      this.#admit(found, everything);
    } catch (error) {
      this.#everything ||= everything;
      throw error;
    } finally {
      this.#schedule();
    }
  }

  /** Threads without an owner that have something to do. */
  async #leftAlone(found: Map<string, Candidate>): Promise<void> {
    const { storage } = this.#options;
    await this.#collect(found, { has_mail: 1, run_state: "idle" });
    await this.#collect(found, { abort_run: { ne: null }, run_state: "suspended" });
    const calls = await storage.select({
      table: CALLS,
      where: { state: "decided" },
      columns: ["thread_id"],
      limit: BATCH,
    });
    const decided = [...new Set(calls.map((row) => row.thread_id))];
    if (decided.length > 0)
      await this.#collect(found, { thread_id: { in: decided }, run_state: "suspended" });
  }

  /** Threads without an owner; with `live`, those of owners that are not among them. */
  async #collect(found: Map<string, Candidate>, where: Where, live?: ReadonlySet<string>): Promise<void> {
    for (let after: string | undefined; ;) {
      const rows = await this.#options.storage.select({
        table: ACTORS,
        where: after === undefined ? where : { ...where, thread_id: { gt: after } },
        orderBy: [{ column: "thread_id" }],
        limit: BATCH,
      });
      for (const row of rows) {
        const isOrphan = row.owner !== null;
        if (isOrphan && (!live || live.has(row.owner!))) continue;
        const threadId = row.thread_id;
        const mark = `${row.fence} ${row.mailbox_count} ${row.abort_run}`;
        found.set(threadId, { threadId, resourceId: row.resource_id, mark, isOrphan });
      }
      if (rows.length < BATCH || "thread_id" in where) return;
      after = rows.at(-1)!.thread_id;
      await sleep(this.#options.system, 0);
    }
  }

  /** Reports what to take over now, and remembers the rest. */
  #admit(found: ReadonlyMap<string, Candidate>, everything: boolean): void {
    const seen = new Map<string, { mark: string; looks: number }>();
    for (const { threadId, resourceId, mark, isOrphan } of found.values()) {
      const before = everything ? undefined : this.#seen.get(threadId);
      const looks = before?.mark === mark ? before.looks + 1 : 1;
      seen.set(threadId, { mark, looks });
      const wanted = everything || isOrphan ? 1 : 2;
      if ((looks - wanted) % RETRY_AFTER_LOOKS === 0) this.#options.onFound({ threadId, resourceId });
    }
    this.#seen = seen;
  }
}
