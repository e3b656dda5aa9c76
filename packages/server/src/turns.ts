/** Runs CPU-heavy work one task at a time per owner, so that owners share the processor fairly. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** `undefined` stands for callers that cannot be told apart; their work never waits. */
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
