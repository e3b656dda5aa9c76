/**
 * An append-only list of events that any number of readers follow from the start, each at its own pace. Writing never
 * waits for readers.
 */
export class EventStream<Event> {
  readonly #events: Event[] = [];
  #waiting: EventReader<Event, unknown>[] = [];
  #ended = false;

  /** Everything pushed so far. A live view: do not change it. */
  get events(): readonly Event[] {
    return this.#events;
  }

  get ended(): boolean {
    return this.#ended;
  }

  push(event: Event): void {
    // What comes after the end has nobody to read it.
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
    return new EventReader(this, pick);
  }

  /** For readers: to be woken by the next push. */
  wait(reader: EventReader<Event, unknown>): void {
    this.#waiting.push(reader);
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const reader of waiting) reader.wake();
  }
}

const DONE: IteratorResult<never> = { done: true, value: undefined };

/** Hands out what is there at once; a `next()` that found nothing is answered by the push that brings something. */
class EventReader<Event, Out> implements AsyncIterableIterator<Out> {
  readonly #stream: EventStream<Event>;
  readonly #pick: (event: Event) => Out | undefined;
  readonly #asked: ((result: IteratorResult<Out>) => void)[] = [];
  #index = 0;
  #left = false;

  constructor(stream: EventStream<Event>, pick: (event: Event) => Out | undefined) {
    this.#stream = stream;
    this.#pick = pick;
  }

  next(): Promise<IteratorResult<Out>> {
    if (this.#asked.length === 0) {
      const result = this.#take();
      if (result) return Promise.resolve(result);
      this.#stream.wait(this as EventReader<Event, unknown>);
    }
    return new Promise((resolve) => this.#asked.push(resolve));
  }

  return(): Promise<IteratorResult<Out>> {
    this.#left = true;
    this.wake();
    return Promise.resolve(DONE);
  }

  wake(): void {
    while (this.#asked.length > 0) {
      const result = this.#take();
      if (!result) return this.#stream.wait(this as EventReader<Event, unknown>);
      this.#asked.shift()!(result);
    }
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): IteratorResult<Out> | undefined {
    const { events } = this.#stream;
    while (!this.#left && this.#index < events.length) {
      const value = this.#pick(events[this.#index++] as Event);
      if (value !== undefined) return { done: false, value };
    }
    return this.#left || this.#stream.ended ? DONE : undefined;
  }
}
