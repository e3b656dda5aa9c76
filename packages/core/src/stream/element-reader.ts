/** Yields the elements of a growing array, each once, when the next one has started or the array is complete. */
export class ElementReader implements AsyncIterableIterator<unknown> {
  readonly #snapshots: AsyncIterator<unknown>;
  #latest: unknown[] = [];
  #given = 0;
  #ended = false;

  constructor(snapshots: AsyncIterator<unknown>) {
    this.#snapshots = snapshots;
  }

  async next(): Promise<IteratorResult<unknown>> {
    for (;;) {
      // The last element of an unfinished array may itself be unfinished.
      const complete = this.#ended ? this.#latest.length : this.#latest.length - 1;
      if (this.#given < complete) return { done: false, value: this.#latest[this.#given++] };
      if (this.#ended) return { done: true, value: undefined };
      const snapshot = await this.#snapshots.next();
      if (snapshot.done) this.#ended = true;
      else if (Array.isArray(snapshot.value)) this.#latest = snapshot.value;
    }
  }

  async return(): Promise<IteratorResult<unknown>> {
    await this.#snapshots.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
