import type { Logger } from "../logger.ts";

/** What a host begins when it is created. `start()` waits for it, and `close()` does not close under it. */
export class Background {
  readonly #logger: Logger;
  readonly #works: Promise<unknown>[] = [];
  #isClosing = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Begins work. If it fails, `problem` is logged, and `done()` rejects. */
  begin<Value>(problem: string, work: () => Promise<Value>): Promise<Value> {
    const promise = work();
    promise.catch((error: unknown) => !this.#isClosing && this.#logger.error(problem, error));
    this.#works.push(promise);
    return promise;
  }

  /** Resolves when everything that was begun is done. */
  async done(): Promise<void> {
    await Promise.all(this.#works);
  }

  /** Failures are no longer reported. Resolves when nothing is in progress. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.allSettled(this.#works);
  }
}
