/** Work on the same key waits in line; work on different keys does not. */
export class KeyLines {
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #underWay = new Set<Promise<unknown>>();

  /** Runs `work` when everything requested earlier for one of these keys is done. */
  run<Value>(keys: readonly string[], work: () => Promise<Value>): Promise<Value> {
    const turn = Promise.all(keys.map((key) => this.#last.get(key) ?? Promise.resolve())).then(work);
    const over = turn.then(
      () => {},
      () => {},
    );
    this.#underWay.add(over);
    void over.then(() => this.#underWay.delete(over));
    for (const key of keys) {
      this.#last.set(key, over);
      void over.then(() => this.#last.get(key) === over && this.#last.delete(key));
    }
    return turn;
  }

  /** Whether work on these keys would start at once. */
  areFree(keys: readonly string[]): boolean {
    return !keys.some((key) => this.#last.has(key));
  }

  /** Resolves when everything requested is done. */
  async idle(): Promise<void> {
    await Promise.all(this.#underWay);
  }
}
