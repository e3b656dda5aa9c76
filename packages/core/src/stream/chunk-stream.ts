/** Of a destination that several streams can be piped to: makes the sink for one of them. */
export const SINK: unique symbol = Symbol.for("selvedge.stream.sink");

/**
 * A real `ReadableStream`, so it can be piped, teed or passed to a `Response`. Its `for await` bypasses the stream
 * machinery for speed.
 */
export class ChunkStream<Chunk> extends ReadableStream<Chunk> {
  readonly #source: ChunkSource<Chunk>;

  constructor(open: () => AsyncIterableIterator<Chunk>) {
    const source = new ChunkSource(open);
    super(source, { highWaterMark: 0 });
    this.#source = source;
  }

  /** A pipe locks and closes its destination, unless that is for several streams. */
  override pipeTo(
    destination: WritableStream<Chunk>,
    options?: Parameters<ReadableStream<Chunk>["pipeTo"]>[1],
  ): Promise<void> {
    const { [SINK]: sink } = destination as { [SINK]?(): WritableStream<Chunk> };
    return super.pipeTo(sink?.call(destination) ?? destination, options);
  }

  override [Symbol.asyncIterator](): NodeJS.AsyncIterator<Chunk> {
    if (this.locked) throw new TypeError("This stream is locked by another reader.");
    return this.#source.take() as NodeJS.AsyncIterator<Chunk>;
  }
}

/**
 * The source of the chunks. It can be taken once and then refers to nothing: the engine may keep a finished stream
 * until its next full collection, and must not keep the whole run with it.
 */
class ChunkSource<Chunk> {
  #open: (() => AsyncIterableIterator<Chunk>) | undefined;
  #reader: AsyncIterableIterator<Chunk> | undefined;

  constructor(open: () => AsyncIterableIterator<Chunk>) {
    this.#open = open;
  }

  take(): AsyncIterableIterator<Chunk> {
    const open = this.#open;
    if (!open)
      throw new TypeError(
        "This stream has already been read. Get it from the output again to read from the first chunk.",
      );
    this.#open = undefined;
    return open();
  }

  async pull(controller: ReadableStreamDefaultController<Chunk>): Promise<void> {
    const next = await (this.#reader ??= this.take()).next();
    if (!next.done) return controller.enqueue(next.value);
    this.#reader = undefined;
    controller.close();
  }

  cancel(): void {
    void this.#reader?.return?.();
    this.#open = this.#reader = undefined;
  }
}
