/** One after the other for each owner: what takes the processor's time is taken by everybody alike. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** An owner that is `undefined` stands for all whom nobody tells apart, and waits for nobody. */
  async take<Result>(owner: string | undefined, work: () => Promise<Result>): Promise<Result> {
    if (owner === undefined) return work();
    const before = this.#last.get(owner);
    const turn = before ? before.then(work) : work();
    const over = turn.then(
      () => {},
      () => {},
    );
    this.#last.set(owner, over);
    try {
      return await turn;
    } finally {
      if (this.#last.get(owner) === over) this.#last.delete(owner);
    }
  }
}
