import { AgentError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { System } from "../system.ts";

/** Checks are at most this far apart: clocks may be changed, and news of other processes may be lost. */
const LONGEST_WAIT_MS = 60_000;
/** Retrying does not help. */
const FINAL = ["storage-required", "storage-closed"] as const;

interface AlarmOptions {
  system: System;
  logger: Logger;
  /** For the log: what fails if a check fails. */
  what: string;
  /** Does what is due and returns when the next thing is, if that is known. Called once at a time. */
  check(): Promise<number | undefined>;
}

/**
 * Calls a check when something is due: it sleeps until the time that the last check returned, but at most a minute.
 * A check that fails is repeated after a minute.
 */
export class Alarm {
  readonly #options: AlarmOptions;
  #checking: Promise<void> | undefined;
  #again = false;
  #cancelTimer: (() => void) | undefined;
  #started = false;
  #closed = false;

  constructor(options: AlarmOptions) {
    this.#options = options;
  }

  /** The first check. Rejects if it fails; later ones are then tried all the same. */
  start(): Promise<void> {
    this.#started = true;
    return this.#check();
  }

  /** Something changed: checks now, or once more after the check in progress. No effect before `start()`. */
  ring(): void {
    if (this.#closed || !this.#started) return;
    if (this.#checking) this.#again = true;
    else this.#checkQuietly();
  }

  /** Waits for the check in progress. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTimer?.();
    await this.#checking?.catch(() => {});
  }

  #checkQuietly(): void {
    this.#check().catch((error: unknown) => {
      if (!this.#closed)
        this.#options.logger.error(`${this.#options.what} failed and will be retried`, error);
    });
  }

  #check(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#checking = this.#checkAndWait().finally(() => {
      this.#checking = undefined;
      if (!this.#again) return;
      this.#again = false;
      this.ring();
    });
    return this.#checking;
  }

  async #checkAndWait(): Promise<void> {
    try {
      const next = await this.#options.check();
      this.#wait(next === undefined ? LONGEST_WAIT_MS : next - this.#options.system.now());
    } catch (error) {
      if (!FINAL.some((code) => AgentError.is(error, code))) this.#wait(LONGEST_WAIT_MS);
      throw error;
    }
  }

  #wait(ms: number): void {
    if (this.#closed) return;
    const callback = (): void => {
      this.#cancelTimer = undefined;
      this.ring();
    };
    const wait = Math.min(Math.max(0, Math.ceil(ms)), LONGEST_WAIT_MS);
    this.#cancelTimer = this.#options.system.setTimer(wait, callback, { background: true });
  }
}
