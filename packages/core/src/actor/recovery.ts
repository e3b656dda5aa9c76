import { AgentError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { OwnerRow } from "../storage/thread-tables.ts";
import type { System } from "../system.ts";
import type { Owner } from "./owner.ts";

/** How often a process searches for work without a process: well within the 2 s allowed after a lease ends. */
const LOOK_EVERY_MS = 1_500;
/** What could not be taken, for instance because its agent is elsewhere, is retried after this many searches. */
const RETRY_AFTER_LOOKS = 20;
/** Owners without a trace are rare: a commit took effect after its process was gone and forgotten. */
const UNTRACED_AFTER_LOOKS = 20;

/** Something with work to do and no process. */
export interface Candidate<Address> {
  address: Address;
  /** Changes with every activity. */
  mark: string;
  /** Its process is gone. Otherwise one may be about to act, and it has until the next search. */
  isOrphan: boolean;
}

interface SearchArgs {
  /** Everything must be found. */
  everything: boolean;
  /** What owners without a trace are carrying out is searched for, too. */
  untraced: boolean;
  live: ReadonlySet<string>;
  dead: readonly OwnerRow[];
}

/** Finds work without a process, each with a key. */
export type Search<Address> = (args: SearchArgs) => Promise<ReadonlyMap<string, Candidate<Address>>>;

interface RecoveryOptions<Address> {
  system: System;
  logger: Logger;
  owner: Owner;
  what: string;
  search: Search<Address>;
  /** Called before each search. */
  onLook(): void;
  /** Called with something that has work to do and no process. */
  onFound(address: Address): void;
}

/**
 * Finds work without a process. Every process searches periodically: live processes take over what a dead or closed one
 * left.
 */
export class Recovery<Address> {
  readonly #options: RecoveryOptions<Address>;
  /** What the last search found, and how often in a row. */
  #seen = new Map<string, { mark: string; looks: number }>();
  #looking: Promise<void> = Promise.resolve();
  #started = false;
  /** Everything must be found, including what could not be taken before. */
  #everything = true;
  #looks = 0;
  #stopped = false;
  #cancelTimer: (() => void) | undefined;

  constructor(options: RecoveryOptions<Address>) {
    this.#options = options;
  }

  /** Takes over everything unfinished now, and later what others leave. Later calls wait for the first. */
  start(): Promise<void> {
    if (this.#started) return this.#looking;
    this.#started = true;
    return this.#lookNext();
  }

  /** There is a new agent or workflow: searches again, including what could not be taken before. */
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
    const { logger, what } = this.#options;
    logger.error(`Looking for unfinished ${what} failed and will be retried`, error);
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
      const untraced = ++this.#looks % UNTRACED_AFTER_LOOKS === 0;
      this.#admit(await this.#options.search({ everything, untraced, live, dead }), everything);
    } catch (error) {
      this.#everything ||= everything;
      throw error;
    } finally {
      this.#schedule();
    }
  }

  /** Reports what to take over now, and remembers the rest. */
  #admit(found: ReadonlyMap<string, Candidate<Address>>, everything: boolean): void {
    const seen = new Map<string, { mark: string; looks: number }>();
    for (const [key, { address, mark, isOrphan }] of found) {
      const before = everything ? undefined : this.#seen.get(key);
      const looks = before?.mark === mark ? before.looks + 1 : 1;
      seen.set(key, { mark, looks });
      const wanted = everything || isOrphan ? 1 : 2;
      if ((looks - wanted) % RETRY_AFTER_LOOKS === 0) this.#options.onFound(address);
    }
    this.#seen = seen;
  }
}
