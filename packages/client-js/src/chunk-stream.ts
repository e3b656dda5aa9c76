import { AgentError, type AgentChunk, backoff, isMemoryChunk } from "@selvedge/protocol";
import { pause } from "./pause.ts";
import type { Connection } from "./connection.ts";

/** A chunk as received over the wire; on a thread it has a number. */
export type WireChunk = AgentChunk & { seq?: number };

/** What the chunks of every stream have. */
interface AnyChunk {
  type: string;
  runId: string;
  seq?: number;
}

export interface ReconnectOptions {
  /** Consecutive attempts. Default: unlimited. */
  maxRetries?: number;
  /** The first delay in milliseconds. It doubles up to 30 s, with random jitter. Default: 1000. */
  delayMs?: number;
}

export interface ProcessOptions<Chunk> {
  /** Called for each chunk, in order. An error it throws ends the processing and propagates. */
  onChunk: (chunk: Chunk) => unknown;
  /** Resumes after the last chunk when the connection breaks. */
  reconnect?: boolean | ReconnectOptions;
  /** Called when the connection breaks and when it is restored. */
  onConnection?: (state: "live" | "reconnecting", error?: Error) => void;
  /** Called when any client may have changed the thread's queue. Reload the queue after a reconnect too. */
  onQueueChange?: () => void;
}

/** A stream's position: the last number, and the run. */
export interface Place {
  after?: number | undefined;
  runId?: string | undefined;
}

/** Reconnects at the current position, in one attempt. */
export type Reopen<Chunk = WireChunk> = (place: Place, signal: AbortSignal) => Promise<Connection<Chunk>>;

/** How a stream ends by itself. */
export interface StreamEnd<Chunk> {
  /** Nothing follows this chunk. */
  isLast(chunk: Chunk): boolean;
  /** The server may close the stream after this chunk; otherwise a close means that the connection broke. */
  isRest?(chunk: Chunk): boolean;
}

const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 30_000;
const LAST: ReadonlySet<string> = new Set(["finish", "abort", "error"]);

/** The end of an agent's run. */
export const END_OF_RUN: StreamEnd<WireChunk> = { isLast: ({ type }) => LAST.has(type) };

/**
 * Chunks over connections that may break. Each chunk is delivered once and in order: the numbers show what is missing
 * and what was already received.
 *
 *     live ──line breaks──▶ waiting ──opened after the last number──▶ live
 *       │                      └──refused, or too often──▶ throws
 *       └──left, or a run's last chunk──▶ end
 */
export class ChunkStream<Chunk extends AnyChunk = WireChunk> {
  readonly #reopen: Reopen<Chunk> | undefined;
  readonly #end: StreamEnd<Chunk> | undefined;
  readonly #leaving = new AbortController();
  #connection: Connection<Chunk>;
  #after: number | undefined;
  #runId: string | undefined;
  #taken = false;
  #rests = false;

  /**
   * Without `reopen`, a broken connection ends the stream: there is no position to resume from.
   * Without `end`, the stream ends when the reader leaves.
   */
  constructor(
    connection: Connection<Chunk>,
    reopen: Reopen<Chunk> | undefined,
    options: { after?: number | undefined; end?: StreamEnd<Chunk> | undefined },
  ) {
    this.#connection = connection;
    this.#reopen = reopen;
    this.#after = options.after;
    this.#end = options.end;
  }

  /** The number of the last delivered chunk, or where the stream started. */
  get after(): number | undefined {
    return this.#after;
  }

  /** Ends the stream on this side. */
  leave(): void {
    this.#leaving.abort();
    this.#connection.close();
  }

  get left(): boolean {
    return this.#leaving.signal.aborted;
  }

  async *read(options: Omit<ProcessOptions<Chunk>, "onChunk">): AsyncGenerator<Chunk, void> {
    if (this.#taken)
      throw new AgentError(
        "invalid-argument",
        "This stream has already been read. Subscribe again for another reader.",
      );
    this.#taken = true;
    const { maxRetries = Number.POSITIVE_INFINITY, delayMs = FIRST_DELAY_MS } =
      typeof options.reconnect === "object" ? options.reconnect : {};
    let attempt = 0;
    let stuckAt: number | undefined;
    try {
      for (;;) {
        let broken: Error | undefined;
        try {
          for await (const chunk of this.#readLine(options.onQueueChange)) {
            attempt = 0;
            this.#rests = this.#end?.isRest?.(chunk) ?? false;
            yield chunk;
            if (this.#end?.isLast(chunk)) return;
          }
          if (this.#connection.heard) attempt = 0;
          if (this.left || this.#rests) return;
          if (!options.reconnect && !this.#end) return;
          broken = new AgentError("connection-failed", "The server closed the stream before its end.");
        } catch (error) {
          if (!AgentError.is(error)) throw error;
          // The same position again: the next chunk is no longer stored, and waiting does not bring it back.
          if (AgentError.is(error, "reader-too-slow")) {
            if (stuckAt === (this.#after ?? -1)) throw error;
            stuckAt = this.#after ?? -1;
          } else if (isRefusal(error)) throw error;
          broken = error;
        }
        if (this.left) return;
        if (!options.reconnect || !this.#reopen) throw broken;
        options.onConnection?.("reconnecting", broken);
        const opened = await this.#open(this.#reopen, broken, { attempt, maxRetries, delayMs });
        if (!opened) return;
        attempt = opened.attempt;
        options.onConnection?.("live");
      }
    } finally {
      this.leave();
    }
  }

  async *#readLine(onQueueChange: (() => void) | undefined): AsyncGenerator<Chunk, void> {
    const connection = this.#connection;
    connection.onQueueChange = onQueueChange;
    for await (const chunks of connection.read()) {
      for (const chunk of chunks) {
        if (this.left) return;
        if (!isMemoryChunk(chunk)) this.#runId = chunk.runId;
        if (chunk.seq !== undefined) {
          if (chunk.seq <= (this.#after ?? -1)) continue;
          this.#after = chunk.seq;
        }
        yield chunk;
      }
      this.#noteStart(connection);
    }
    this.#noteStart(connection);
  }

  /** A connection that broke before its first chunk may have announced its position and run. */
  #noteStart(connection: Connection<Chunk>): void {
    this.#after ??= connection.after;
    this.#runId ??= connection.runId;
  }

  async #open(
    reopen: Reopen<Chunk>,
    broken: Error,
    { attempt, maxRetries, delayMs }: { attempt: number; maxRetries: number; delayMs: number },
  ): Promise<{ attempt: number } | undefined> {
    this.#noteStart(this.#connection);
    const { signal } = this.#leaving;
    for (let error = broken; ;) {
      if (attempt >= maxRetries) throw error;
      await pause(backoff(attempt, Math.random(), { firstMs: delayMs, capMs: MAX_DELAY_MS }), signal);
      attempt++;
      if (this.left) return undefined;
      try {
        this.#connection = await reopen({ after: this.#after, runId: this.#runId }, signal);
        if (this.left) this.#connection.close();
        return this.left ? undefined : { attempt };
      } catch (thrown) {
        if (this.left) return undefined;
        if (!AgentError.is(thrown) || isRefusal(thrown)) throw thrown;
        error = thrown;
      }
    }
  }
}

/** The server responds and rejects the request, so retrying does not help. */
export function isRefusal({ status }: AgentError): boolean {
  return status === 501 || (status >= 400 && status < 500 && status !== 409 && status !== 429);
}
