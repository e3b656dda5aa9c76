import { AgentError } from "../../errors.ts";
import type { Storage } from "../../storage/storage.ts";
import { sleep, type System } from "../../system.ts";
import type { EventPiece, Numbered } from "./event-piece.ts";
import { ReaderLine } from "./reader-line.ts";
import type { Tail } from "./tail.ts";

/** How long a reader waits for a failing store before it gives up. */
const RETRY_MS: readonly number[] = [50, 200, 500, 1_000, 2_000, 3_000, 5_000];

/** What is read, as this process knows it. It is kept while it has readers. */
export interface ReadLog<Chunk extends object> {
  readonly tail: Tail<Chunk>;
  readonly storage: Storage;
  readonly system: System;
  addReader(): void;
  removeReader(): void;
  /** Drops it, if it is unused. */
  forget(): void;
}

/**
 * A position in a log. It keeps a number and no buffer: a slow reader costs nothing and delays no other, until what it
 * has not read is older than the store keeps.
 */
export abstract class LogReader<
  Chunk extends object,
  Log extends ReadLog<Chunk>,
> implements AsyncIterableIterator<Numbered<Chunk>> {
  #log: Log;
  #after: number;
  #piece: Numbered<Chunk>[] = [];
  #index = 0;
  #left = false;
  #failures = 0;

  constructor(log: Log, after: number) {
    this.#log = log;
    this.#after = after;
    log.addReader();
  }

  /** Reads the store. All readers of a log share what one reads, so nothing unchecked may be in it. */
  protected abstract readStore(log: Log, after: number): Promise<EventPiece<Chunk>[]>;
  /** There is nothing to read. That is fine at the end; otherwise throws. */
  protected abstract checkNumbers(log: Log): Promise<void>;
  /** The error for events that are no longer kept. */
  protected abstract tooSlow(log: Log, last: number): AgentError;
  /** Throws if the log may not be read any more. */
  protected checkAccess(_log: Log): void {}

  /** The log that receives the news of this one. */
  protected currentOf(log: Log): Log {
    return log;
  }

  /** The log as currently known. */
  get log(): Log {
    const current = this.currentOf(this.#log);
    if (current !== this.#log && !this.#left) {
      const before = this.#log;
      this.#log = current;
      current.addReader();
      before.removeReader();
      before.forget();
    }
    return current;
  }

  /** The number of the last chunk returned. */
  get after(): number {
    return this.#after;
  }

  async next(): Promise<IteratorResult<Numbered<Chunk>>> {
    for (;;) {
      if (this.#left) return { done: true, value: undefined };
      const chunk = this.#piece[this.#index];
      if (chunk) {
        this.#index++;
        this.#after = chunk.seq;
        return { done: false, value: chunk };
      }
      try {
        await this.#more();
        this.#failures = 0;
      } catch (error) {
        // Waits for a store that is briefly unavailable.
        const wait = AgentError.is(error, "storage-failed") ? RETRY_MS[this.#failures++] : undefined;
        if (wait === undefined) {
          this.leave();
          // Others at the same position wait for what this one reads. What ended it may end them too.
          this.#log.tail.behind();
          throw error;
        }
        await sleep(this.#log.system, wait);
      }
    }
  }

  /** What is available, waiting for the first. An empty list means that the reader has left. */
  async read(limit: number): Promise<readonly Numbered<Chunk>[]> {
    const first = await this.next();
    if (first.done) return [];
    const more = this.#piece.slice(this.#index, this.#index + limit - 1);
    this.#index += more.length;
    this.#after = more.at(-1)?.seq ?? this.#after;
    return [first.value, ...more];
  }

  return(): Promise<IteratorResult<Numbered<Chunk>>> {
    this.leave();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Ends the reading. Safe to call again. */
  leave(): void {
    if (this.#left) return;
    this.#left = true;
    this.#log.removeReader();
    this.#log.tail.wake();
    this.#log.forget();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #more(): Promise<void> {
    const { log } = this;
    const { tail } = log;
    this.checkAccess(log);
    let pieces: readonly EventPiece<Chunk>[] | undefined = tail.read(this.#after);
    if (!pieces) {
      // Subscribe to changes before reading, so that nothing is missed in between.
      const changed = tail.changed();
      const line = ReaderLine.of(log.storage);
      pieces = await tail.catchUp(this.#after, (after) => line.read(() => this.readStore(log, after)));
      if (pieces.length === 0) {
        await line.read(() => this.checkNumbers(this.#log));
        await changed;
        return;
      }
    } else if (pieces.length === 0) {
      await tail.changed();
      return;
    }
    this.#take(pieces);
  }

  #take(pieces: readonly EventPiece<Chunk>[]): void {
    const piece = pieces[0] as EventPiece<Chunk>;
    const skip = this.#after + 1 - piece.first;
    if (skip < 0) throw this.tooSlow(this.#log, piece.first - 1);
    this.#piece = pieces.length === 1 ? piece.chunks : pieces.flatMap(({ chunks }) => chunks);
    this.#index = skip;
  }
}
