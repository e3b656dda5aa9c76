import type { ChunkStream, ProcessOptions, WireChunk } from "./chunk-stream.ts";

/** Options for reading a run. A run on a thread survives a broken connection by default. */
export type RunStreamOptions = ProcessOptions<WireChunk>;

/** Opens the run that follows after this client answered its calls; nothing if there is none. */
export type NextRun = (
  chunk: WireChunk,
  after: number | undefined,
  signal: AbortSignal,
) => Promise<ChunkStream | undefined>;

/** The chunks of one run, and of the runs that continue with results of client tools. Read it once. */
export class RunStream implements AsyncIterable<WireChunk> {
  readonly #nextRun: NextRun | undefined;
  readonly #leaving = new AbortController();
  #stream: ChunkStream;

  constructor(stream: ChunkStream, nextRun?: NextRun) {
    this.#stream = stream;
    this.#nextRun = nextRun;
  }

  /** Calls `onChunk` for each chunk and resolves after the last. */
  async processDataStream({ onChunk, ...options }: RunStreamOptions): Promise<void> {
    for await (const chunk of this.#read(options)) await onChunk(chunk);
  }

  [Symbol.asyncIterator](): AsyncGenerator<WireChunk, void> {
    return this.#read({});
  }

  /** The text, when it is complete. */
  async text(): Promise<string> {
    let text = "";
    for await (const chunk of this) if (chunk.type === "text-delta") text += chunk.payload.text;
    return text;
  }

  /** Stops reading. A run on a thread continues without a reader. */
  cancel(): void {
    this.#leaving.abort();
    this.#stream.leave();
  }

  async *#read(options: Omit<RunStreamOptions, "onChunk">): AsyncGenerator<WireChunk, void> {
    try {
      for (let more = true; more;) {
        more = false;
        for await (const chunk of this.#stream.read({ reconnect: true, ...options })) {
          yield chunk;
          const { after } = this.#stream;
          const next = await this.#nextRun?.(chunk, after, this.#leaving.signal);
          if (!next) continue;
          this.#stream = next;
          if (this.#leaving.signal.aborted) next.leave();
          more = true;
          break;
        }
      }
    } finally {
      this.cancel();
    }
  }
}
