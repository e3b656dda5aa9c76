import { AgentError } from "@selvedge/protocol";
import { END_EVENT, HEARTBEAT_MS, QUEUE_COMMENT } from "@selvedge/protocol/routes";
import { SseParser } from "./sse-parser.ts";
import { connectionError, errorFromWire } from "./wire-error.ts";

/**
 * After this much silence the connection is considered dead: the server sends something at least every `HEARTBEAT_MS`.
 */
const SILENCE_MS = 2.5 * HEARTBEAT_MS;

/** One open response of server-sent events. Read it once; `close` ends it from anywhere and may be called again. */
export class Connection<Event> {
  /** The number of the last event, including one the server only announced. */
  after: number | undefined;
  /** True once the server has sent more than the opening. */
  heard = false;
  /** The run behind it, if the server named one. */
  readonly runId: string | undefined;
  /** Called when the server announces that the thread's queue may have changed. */
  onQueueChange: (() => void) | undefined;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #silenceMs: number;
  #closed = false;

  constructor(response: Response, silenceMs: number = SILENCE_MS) {
    this.#reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
    this.runId = response.headers.get("x-run-id") ?? undefined;
    this.after = toNumber(response.headers.get("x-after"));
    this.#silenceMs = silenceMs;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * The events up to the end of the response, in batches as they arrive. Throws `connection-failed` when the connection
   * breaks, and the server's reason when it ended the stream itself.
   */
  async *read(): AsyncGenerator<Event[], void> {
    const parser = new SseParser((comment) => {
      if (comment === QUEUE_COMMENT) this.onQueueChange?.();
    });
    const decoder = new TextDecoder();
    try {
      for (;;) {
        const piece = await this.#next();
        if (!piece) return;
        const events = parser.push(decoder.decode(piece, { stream: true }));
        const values: Event[] = [];
        for (const event of events) {
          if (event.type === END_EVENT) {
            if (values.length > 0) yield values;
            throw errorFromWire(parse(event.data));
          }
          values.push(parse(event.data) as Event);
        }
        this.heard ||= values.length > 0 || parser.comments > 1;
        this.after = toNumber(parser.lastId) ?? this.after;
        if (values.length > 0) yield values;
      }
    } finally {
      this.close();
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#reader?.cancel().catch(() => {});
  }

  /** The next bytes; nothing at the end and after `close`. */
  async #next(): Promise<Uint8Array | undefined> {
    if (!this.#reader || this.#closed) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silence = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`nothing was received for ${this.#silenceMs} ms`)),
        this.#silenceMs,
      );
    });
    try {
      return (await Promise.race([this.#reader.read(), silence])).value;
    } catch (cause) {
      if (this.#closed) return undefined;
      throw AgentError.is(cause) ? cause : connectionError("The stream was interrupted", cause);
    } finally {
      clearTimeout(timer);
    }
  }
}

function toNumber(text: string | null | undefined): number | undefined {
  return text && /^\d+$/.test(text) ? Number(text) : undefined;
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw connectionError("The server sent an event that is not JSON", cause);
  }
}
