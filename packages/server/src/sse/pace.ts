import type { System } from "@selvedge/core";

/** Up to so many streams, each gets everything at once. */
const CALM_STREAMS = 20;
const MS_PER_STREAM = 0.5;
const MAX_MS = 100;

/**
 * The rhythm of live streams. A piece costs about the same whatever is in it, so with many streams each gets larger
 * pieces, less often; the work they make together stays the same. All wait for one beat, so that readers of one thread
 * ask for the same pieces.
 */
export class Pace {
  readonly #system: System;
  readonly #streams: () => number;
  #beat: Promise<void> | undefined;

  constructor(system: System, streams: () => number) {
    this.#system = system;
    this.#streams = streams;
  }

  get #gap(): number {
    const streams = this.#streams();
    return streams <= CALM_STREAMS ? 0 : Math.min(MAX_MS, streams * MS_PER_STREAM);
  }

  get now(): number {
    return this.#system.monotonic();
  }

  /** Waits until a stream that got something at `last` may get more. */
  wait(last: number): Promise<void> | undefined {
    const gap = this.#gap;
    if (gap === 0 || this.now - last >= gap) return undefined;
    this.#beat ??= new Promise((resolve) => {
      this.#system.setTimer(
        gap,
        () => {
          this.#beat = undefined;
          resolve();
        },
        { background: true },
      );
    });
    return this.#beat;
  }
}
