import { sleep, type System } from "../system.ts";

/** Messages can be large, so it starts with few. */
const FIRST = 16;
const MOST = 256;

/** How many messages to read at a time, so that a page blocks the event loop for about this long at most. */
export class PageSize {
  readonly #system: System;
  readonly #ms: number;
  #began: number;
  value: number = FIRST;

  constructor(system: System, ms: number) {
    this.#system = system;
    this.#ms = ms;
    this.#began = system.monotonic();
  }

  /** Call it when a page was read and there are more: other work gets a turn first. */
  async next(): Promise<void> {
    const isLong = this.#system.monotonic() - this.#began > this.#ms;
    this.value = isLong ? Math.max(1, this.value >> 1) : Math.min(this.value << 1, MOST);
    await sleep(this.#system, 0);
    this.#began = this.#system.monotonic();
  }
}
