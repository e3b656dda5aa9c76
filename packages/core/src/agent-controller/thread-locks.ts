import type { Logger } from "../logger.ts";
import type { ThreadLock } from "./config.ts";

/** The lock that a session has, where the app wants threads to be open in one place only. */
export class HeldLock {
  readonly #lock: ThreadLock | undefined;
  readonly #logger: Logger;
  #held: string | undefined;

  constructor(lock: ThreadLock | undefined, logger: Logger) {
    this.#lock = lock;
    this.#logger = logger;
  }

  /** Does something with a thread that becomes the session's. The old lock goes when that is done; if it fails, nothing has moved. */
  async moveTo<Value>(threadId: string, work: () => Promise<Value>): Promise<Value> {
    const before = this.#held;
    if (!this.#lock || before === threadId) return work();
    await this.#lock.acquire(threadId);
    let result: Value;
    try {
      result = await work();
    } catch (error) {
      await this.#release(threadId);
      throw error;
    }
    this.#held = threadId;
    if (before !== undefined) await this.#release(before);
    return result;
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
