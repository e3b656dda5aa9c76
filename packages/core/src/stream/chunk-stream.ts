/**
 * A real `ReadableStream`, so it can be piped, teed or given to a `Response`, whose `for await` takes the short way
 * past the stream machinery.
 */
export class ChunkStream<Chunk> extends ReadableStream<Chunk> {
  readonly #open: () => AsyncIterableIterator<Chunk>;

  constructor(open: () => AsyncIterableIterator<Chunk>) {
    let reader: AsyncIterableIterator<Chunk> | undefined;
    super(
      {
        async pull(controller) {
          reader ??= open();
          const next = await reader.next();
          if (next.done) controller.close();
          else controller.enqueue(next.value);
        },
        cancel() {
          void reader?.return?.();
        },
      },
      { highWaterMark: 0 },
    );
    this.#open = open;
  }

  override [Symbol.asyncIterator](): NodeJS.AsyncIterator<Chunk> {
    if (this.locked) throw new TypeError("This stream is locked by another reader.");
    return this.#open() as NodeJS.AsyncIterator<Chunk>;
  }
}
