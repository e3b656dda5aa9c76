/**
 * An append-only list of events that any number of readers follow from the start, each at its own pace. Writing never
 * waits for readers.
 */
export class EventStream<Event> {
  readonly #events: Event[] = [];
  #waiting: (() => void)[] = [];
  #ended = false;

  /** Everything pushed so far. A live view: do not change it. */
  get events(): readonly Event[] {
    return this.#events;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** What comes after the end is dropped: readers may have left. */
  push(event: Event): void {
    if (this.#ended) return;
    this.#events.push(event);
    if (this.#waiting.length > 0) this.#wake();
  }

  /** No more events will come. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** A reader of the events that `pick` turns into something, from the first one. */
  read<Out>(pick: (event: Event) => Out | undefined): AsyncIterableIterator<Out> {
    let index = 0;
    const advance = (): Out | undefined => {
      while (index < this.#events.length) {
        const picked = pick(this.#events[index++] as Event);
        if (picked !== undefined) return picked;
      }
      return undefined;
    };
    let left = false;
    const next = async (): Promise<IteratorResult<Out>> => {
      for (;;) {
        if (left) return { done: true, value: undefined };
        const value = advance();
        if (value !== undefined) return { done: false, value };
        if (this.#ended) return { done: true, value: undefined };
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
    };
    return {
      next,
      return: () => {
        left = true;
        return Promise.resolve({ done: true, value: undefined });
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
