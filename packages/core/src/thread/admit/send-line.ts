/** Requests to a thread, processed one after another, in order of arrival. */
export class SendLine<Turn> {
  readonly #onLeave: () => void;
  #last: Promise<unknown> = Promise.resolve();
  #length = 0;
  /** Sends that wait for their turn; closed by any other request behind them. */
  #together: Turn[] | undefined;

  /** `onLeave` is called when a request is done. */
  constructor(onLeave: () => void) {
    this.#onLeave = onLeave;
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  inOrder<Value>(work: () => Promise<Value>): Promise<Value> {
    this.#together = undefined;
    this.#length++;
    const turn = this.#last.then(work).finally(() => {
      this.#length--;
      this.#onLeave();
    });
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** Like `inOrder`, but requests that arrive while others still wait share their turn. */
  together(turn: Turn, work: (turns: Turn[]) => Promise<void>): void {
    if (this.#together) {
      this.#together.push(turn);
      return;
    }
    const turns = [turn];
    void this.inOrder(() => {
      if (this.#together === turns) this.#together = undefined;
      return work(turns);
    });
    this.#together = turns;
  }
}
