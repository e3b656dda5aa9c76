import type { System } from "@selvedge/core";

/** Up to this many streams, each gets everything at once. */
const CALM_STREAMS = 20;
const MS_PER_STREAM = 0.5;
const MAX_MS = 100;

/**
 * Paces live streams. A write costs about the same whatever its size, so with many streams each gets larger writes less
 * often, and the total work stays constant. All wait for the same tick, so that readers of one thread request the same
 * frames.
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

  /** Waits until a stream that last received something at `last` may receive more. */
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
