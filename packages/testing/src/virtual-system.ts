import type { System } from "@selvedge/core/storage";
import { VirtualClock } from "./virtual-clock.ts";

export interface VirtualSystemOptions {
  /** Returns numbers in [0, 1). Without it, always 0.5. */
  random?: () => number;
  /** The ids are `<name>-1`, `<name>-2`, … Without it, `id`. */
  name?: string;
  /** Systems that share a clock share their time. */
  clock?: VirtualClock;
}

/** Any moment will do, as long as it is always the same. */
const EPOCH = Date.UTC(2027, 0, 15, 8);

/** A `System` whose time moves only when it is told to. Nothing in it differs between two runs of a test. */
export class VirtualSystem implements System {
  readonly name: string;
  /** How far its wall clock is off, in milliseconds. */
  clockOffset = 0;
  protected readonly clock: VirtualClock;
  readonly #random: () => number;
  #ids = 0;

  constructor({ random = () => 0.5, name = "id", clock = new VirtualClock() }: VirtualSystemOptions = {}) {
    this.name = name;
    this.clock = clock;
    this.#random = random;
  }

  now(): number {
    return EPOCH + this.clock.time + this.clockOffset;
  }

  monotonic(): number {
    return this.clock.time;
  }

  setTimer(ms: number, callback: () => void): () => void {
    return this.clock.add({ at: this.clock.time + Math.max(0, ms), run: callback });
  }

  newId(): string {
    return `${this.name}-${++this.#ids}`;
  }

  random(): number {
    return this.#random();
  }

  /** How many timers are set. */
  get pending(): number {
    return this.clock.waiting.length;
  }

  /** Runs all code that does not wait for a timer or for anything outside the process. */
  settle(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** Moves the clock, and fires the timers that fall due on the way. After each, code runs until it waits again. */
  async advance(ms: number): Promise<void> {
    const end = this.clock.time + ms;
    while (await this.#fireNext(end));
    this.clock.time = end;
    await this.settle();
  }

  /** Moves the clock from timer to timer until the promise settles, and returns its value. */
  async until<Value>(promise: Promise<Value>): Promise<Value> {
    let settled = false;
    const mark = (): void => void (settled = true);
    promise.then(mark, mark);
    await this.settle();
    while (!settled && (await this.#fireNext(Number.POSITIVE_INFINITY))) await this.settle();
    return promise;
  }

  async #fireNext(end: number): Promise<boolean> {
    await this.settle();
    const due = this.clock.next(end);
    if (!due) return false;
    this.clock.time = Math.max(this.clock.time, due.at);
    this.clock.remove(due);
    due.run();
    return true;
  }
}

/** A clock, timers, ids and randomness for `new Agent({ system })` and for stores, under the control of a test. */
export function virtualSystem(options: VirtualSystemOptions = {}): VirtualSystem {
  return new VirtualSystem(options);
}
