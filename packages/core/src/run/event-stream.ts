/**
 * An append-only list of events. Any number of readers follow it from the start at their own pace. Writing never waits
 * for readers.
 */
export class EventStream<Event> {
  readonly #events: Event[] = [];
  /** Readers that have found nothing at least once. */
  readonly #readers: EventReader<Event, unknown>[] = [];
  #ended = false;

  /** Everything pushed. A live view: do not change it. */
  get events(): readonly Event[] {
    return this.#events;
  }

  get ended(): boolean {
    return this.#ended;
  }

  push(event: Event): void {
    // Events after the end have no readers.
    if (this.#ended) return;
    this.#events.push(event);
    // Called for every chunk: an iterator would be the most of its cost.
    for (let index = 0; index < this.#readers.length; index++) this.#readers[index]!.wake();
  }

  /** No more events will follow. */
  end(): void {
    this.#ended = true;
    for (const reader of this.#readers) reader.wake();
  }

  /** A reader of the events that `pick` maps to something, from the first one. */
  read<Out>(pick: (event: Event) => Out | undefined): AsyncIterableIterator<Out> {
    return new EventReader(this, pick);
  }

  /** For readers: registers to be woken by every push. */
  follow(reader: EventReader<Event, unknown>): void {
    this.#readers.push(reader);
  }
}

const DONE: IteratorResult<never> = { done: true, value: undefined };

type Answer<Out> = (result: IteratorResult<Out>) => void;

/** Returns available events at once; a `next()` that found nothing resolves with the push that brings something. */
class EventReader<Event, Out> implements AsyncIterableIterator<Out> {
  readonly #stream: EventStream<Event>;
  readonly #pick: (event: Event) => Out | undefined;
  #asked: Answer<Out> | undefined;
  /** For a reader that asks again before it was answered. */
  #askedAfter: Answer<Out>[] | undefined;
  #index = 0;
  #follows = false;
  #left = false;

  constructor(stream: EventStream<Event>, pick: (event: Event) => Out | undefined) {
    this.#stream = stream;
    this.#pick = pick;
  }

  next(): Promise<IteratorResult<Out>> {
    const result = this.#asked ? undefined : this.#take();
    if (result) return Promise.resolve(result);
    return new Promise((answer) => {
      if (this.#asked) (this.#askedAfter ??= []).push(answer);
      else this.#asked = answer;
      if (this.#follows) return;
      this.#follows = true;
      this.#stream.follow(this as EventReader<Event, unknown>);
    });
  }

  return(): Promise<IteratorResult<Out>> {
    this.#left = true;
    this.wake();
    return Promise.resolve(DONE);
  }

  wake(): void {
    while (this.#asked) {
      const result = this.#take();
      if (!result) return;
      const answer = this.#asked;
      this.#asked = this.#askedAfter?.shift();
      answer(result);
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
