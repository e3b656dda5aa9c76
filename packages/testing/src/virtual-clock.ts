/** Something that waits for a moment. */
export interface Waiting {
  at: number;
  run: () => void;
}

/** Time that moves only when it is told to, and what waits for it. */
export class VirtualClock<Entry extends Waiting = Waiting> {
  time = 0;
  #waiting: Entry[] = [];

  get waiting(): readonly Entry[] {
    return this.#waiting;
  }

  /** The returned function cancels. */
  add(entry: Entry): () => void {
    this.#waiting.push(entry);
    return () => this.remove(entry);
  }

  remove(entry: Entry): void {
    const index = this.#waiting.indexOf(entry);
    if (index >= 0) this.#waiting.splice(index, 1);
  }

  keep(isKept: (entry: Entry) => boolean): void {
    this.#waiting = this.#waiting.filter(isKept);
  }

  /** The first that is due at `end`, of several the one that was added first. */
  next(end: number): Entry | undefined {
    let first: Entry | undefined;
    for (const entry of this.#waiting)
      if (entry.at <= end && (first === undefined || entry.at < first.at)) first = entry;
    return first;
  }
}
