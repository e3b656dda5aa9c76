/** Those who want something of a thread, one after another, in the order they came. */
export class SendLine<Turn> {
  readonly #onLeave: () => void;
  #last: Promise<unknown> = Promise.resolve();
  #length = 0;
  /** Sends whose turn has not come; closed by whatever else gets in line behind them. */
  #together: Turn[] | undefined;

  /** `onLeave` is called when somebody had their turn. */
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

  /** As `inOrder`, where those that come while others still wait for their turn share it with them. */
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
