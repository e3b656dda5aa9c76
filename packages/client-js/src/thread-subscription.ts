import type { NumberedChunk } from "@selvedge/protocol/routes";
import type { ChunkStream, ProcessOptions } from "./chunk-stream.ts";

export type SubscriptionOptions = ProcessOptions<NumberedChunk>;

/** Executes the client tools that a chunk leaves open. */
export type AnswerCalls = (chunk: NumberedChunk, signal: AbortSignal) => Promise<void> | undefined;

/**
 * A subscription to a thread. It is connected when you receive it, so nothing sent afterwards is missed. Read it once.
 */
export class ThreadSubscription implements AsyncIterable<NumberedChunk> {
  readonly #stream: ChunkStream;
  readonly #abort: () => Promise<boolean>;
  readonly #answer: AnswerCalls | undefined;
  readonly #leaving = new AbortController();
  #failure: { error: unknown } | undefined;

  constructor(stream: ChunkStream, abort: () => Promise<boolean>, answer?: AnswerCalls) {
    this.#stream = stream;
    this.#abort = abort;
    this.#answer = answer;
  }

  /** The number of the last chunk: pass it as `after` to subscribe again. */
  get after(): number | undefined {
    return this.#stream.after;
  }

  /**
   * Calls `onChunk` for each chunk of every run. Resolves after `unsubscribe()`, and without `reconnect` also when the
   * connection ends.
   */
  async processDataStream({ onChunk, ...options }: SubscriptionOptions): Promise<void> {
    for await (const chunk of this.#read(options)) await onChunk(chunk);
  }

  /** The chunks, across reconnects. */
  [Symbol.asyncIterator](): AsyncGenerator<NumberedChunk, void> {
    return this.#read({ reconnect: true });
  }

  /** Aborts the active run of the thread. Returns whether there was one. */
  abort(): Promise<boolean> {
    return this.#abort();
  }

  /** Ends the subscription, not the run. */
  unsubscribe(): void {
    this.#leaving.abort();
    this.#stream.leave();
  }

  async *#read(options: Omit<SubscriptionOptions, "onChunk">): AsyncGenerator<NumberedChunk, void> {
    try {
      for await (const chunk of this.#stream.read(options) as AsyncGenerator<NumberedChunk, void>) {
        yield chunk;
        // Not awaited: a tool may take long, and the thread continues in the meantime.
        this.#answer?.(chunk, this.#leaving.signal)?.catch((error: unknown) => this.#fail(error));
      }
      if (this.#failure) throw this.#failure.error;
    } finally {
      this.unsubscribe();
    }
  }

  #fail(error: unknown): void {
    if (this.#leaving.signal.aborted) return;
    this.#failure = { error };
    this.unsubscribe();
  }
}
