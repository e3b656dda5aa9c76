import type { System } from "@selvedge/core/storage";
import { DIMENSION } from "./load-model.ts";
import { planBatches } from "./plan-batches.ts";

/** Computes one batch at a time. A failed runner is not used again. */
export interface Runner {
  /** The vectors of the texts, concatenated. */
  run(texts: readonly string[]): Promise<Float32Array>;
  end(): void;
}

export interface ModelPoolOptions {
  /** The maximum number of runners. */
  runners: number;
  start: () => Runner;
  system: System;
}

interface Call {
  readonly texts: readonly string[];
  readonly vectors: number[][];
  /** Batches that have not been started. */
  readonly batches: number[][];
  unfinished: number;
  readonly done: PromiseWithResolvers<number[][]>;
}

/** A runner idle for this long is closed to free its memory. Loading takes half a second. */
const IDLE_MS = 60_000;

/**
 * Shares runners among calls. Calls take turns, one batch at a time, so a query does not wait for a large import.
 * Runners start when there is enough work and end after a minute without any. When one fails, all waiting calls fail.
 */
export class ModelPool {
  readonly #options: ModelPoolOptions;
  readonly #idle: Runner[] = [];
  readonly #busy = new Set<Runner>();
  /** Calls with batches that have not been started, in turn order. */
  readonly #turns = new Set<Call>();
  readonly #open = new Set<Call>();
  #cancelIdle: (() => void) | undefined;

  constructor(options: ModelPoolOptions) {
    this.#options = options;
  }

  async embed(texts: readonly string[], abortSignal?: AbortSignal): Promise<number[][]> {
    abortSignal?.throwIfAborted();
    if (texts.length === 0) return [];
    const batches = planBatches(texts.map((text) => text.length));
    const call: Call = {
      texts,
      batches,
      unfinished: batches.length,
      vectors: Array.from({ length: texts.length }),
      done: Promise.withResolvers(),
    };
    const onAbort = (): void => this.#reject(call, abortSignal!.reason);
    abortSignal?.addEventListener("abort", onAbort, { once: true });
    this.#open.add(call);
    this.#turns.add(call);
    this.#next();
    try {
      return await call.done.promise;
    } finally {
      abortSignal?.removeEventListener("abort", onAbort);
    }
  }

  #next(): void {
    this.#cancelIdle?.();
    this.#cancelIdle = undefined;
    for (const call of this.#turns) {
      const runner = this.#take();
      if (!runner) break;
      const batch = call.batches.shift()!;
      this.#turns.delete(call);
      // Moved to the end, so that the loop returns to it.
      if (call.batches.length > 0) this.#turns.add(call);
      void this.#run(runner, call, batch);
    }
    if (this.#busy.size > 0 || this.#idle.length === 0) return;
    this.#cancelIdle = this.#options.system.setTimer(IDLE_MS, () => this.#endIdle(), { background: true });
  }

  /** A free runner, possibly a new one. */
  #take(): Runner | undefined {
    const free = this.#idle.pop();
    if (free) return free;
    if (this.#busy.size >= this.#options.runners) return undefined;
    try {
      return this.#options.start();
    } catch (error) {
      this.#rejectAll(error);
      return undefined;
    }
  }

  async #run(runner: Runner, call: Call, batch: readonly number[]): Promise<void> {
    this.#busy.add(runner);
    try {
      const vectors = await runner.run(batch.map((position) => call.texts[position]!));
      for (const [row, position] of batch.entries()) {
        call.vectors[position] = Array.from(vectors.subarray(row * DIMENSION, (row + 1) * DIMENSION));
      }
      if (--call.unfinished === 0) this.#resolve(call);
      this.#idle.push(runner);
    } catch (error) {
      runner.end();
      this.#rejectAll(error);
    }
    this.#busy.delete(runner);
    this.#next();
  }

  #resolve(call: Call): void {
    this.#open.delete(call);
    call.done.resolve(call.vectors);
  }

  #reject(call: Call, reason: unknown): void {
    this.#turns.delete(call);
    this.#open.delete(call);
    call.done.reject(reason);
  }

  #rejectAll(reason: unknown): void {
    for (const call of this.#open) this.#reject(call, reason);
  }

  #endIdle(): void {
    for (const runner of this.#idle.splice(0)) runner.end();
  }
}
