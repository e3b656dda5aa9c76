import type { Logger } from "../logger.ts";
import type { ThreadLock } from "./config.ts";

/** The lock of a session, if the app wants each thread open in one place only. */
export class HeldLock {
  readonly #lock: ThreadLock | undefined;
  readonly #logger: Logger;
  #held: string | undefined;
  /** Acquired for a move that is not finished. */
  #taking: string | undefined;
  #moves: Promise<unknown> = Promise.resolve();

  constructor(lock: ThreadLock | undefined, logger: Logger) {
    this.#lock = lock;
    this.#logger = logger;
  }

  /**
   * Runs work with a thread that becomes the session's. The old lock is released afterwards; if the work fails, nothing
   * has moved.
   */
  moveTo<Value>(threadId: string, work: () => Promise<Value>): Promise<Value> {
    if (!this.#lock) return work();
    const turn = this.#moves.then(() => this.#move(threadId, work));
    this.#moves = turn.catch(() => {});
    return turn;
  }

  /** The session is on a thread, moved here or by another process. */
  async follow(threadId: string): Promise<void> {
    const before = this.#held;
    if (before === threadId || this.#taking === threadId) return;
    await this.#lock?.acquire(threadId);
    this.#held = threadId;
    if (before !== undefined) await this.#release(before);
  }

  async #move<Value>(threadId: string, work: () => Promise<Value>): Promise<Value> {
    const before = this.#held;
    if (before === threadId) return work();
    await this.#lock!.acquire(threadId);
    this.#taking = threadId;
    try {
      const result = await work();
      this.#held = threadId;
      if (before !== undefined) await this.#release(before);
      return result;
    } catch (error) {
      await this.#release(threadId);
      throw error;
    } finally {
      this.#taking = undefined;
    }
  }

  async release(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) await this.#release(held);
  }

  async #release(threadId: string): Promise<void> {
    try {
      await this.#lock?.release(threadId);
    } catch (error) {
      this.#logger.warn(`The lock of thread "${threadId}" could not be released`, error);
    }
  }
}
