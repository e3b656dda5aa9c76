import { AgentError } from "@selvedge/core";
import type { AgentChunk } from "@selvedge/protocol";
import { END_EVENT, QUEUE_COMMENT, type StreamEnd } from "@selvedge/protocol/routes";

type NumberedChunk = AgentChunk & { seq: number };

const ENCODER = new TextEncoder();

/** The reconnect delay for browsers. */
const RETRY_MS = 1000;

/** Chunks as SSE frames. Readers of one thread share the chunk objects, so each is serialised once for all of them. */
export class FrameCache {
  readonly #show: (chunk: AgentChunk) => AgentChunk;
  readonly #frames = new WeakMap<object, string>();
  readonly #pieces = new WeakMap<object, { available: number; count: number; bytes: Uint8Array }>();

  readonly #inOne: boolean;

  /** `show` reduces a chunk to what these readers may see. `inOne`: see `numbered()`. */
  constructor(show: (chunk: AgentChunk) => AgentChunk, inOne = true) {
    this.#show = show;
    this.#inOne = inOne;
  }

  /** Chunks from `first` on, joined to about `size` characters. Readers at the same position share the result. */
  piece(chunks: readonly NumberedChunk[], first: number, size: number): { count: number; bytes: Uint8Array } {
    const key = chunks[first] as NumberedChunk;
    const available = chunks.length - first;
    const known = this.#pieces.get(key);
    if (known && (known.available === available || known.count < Math.min(known.available, available)))
      return known;
    let text = "";
    let count = 0;
    while (count < available && text.length < size) text += this.frame(chunks[first + count++]!);
    const piece = { available, count, bytes: ENCODER.encode(text) };
    this.#pieces.set(key, piece);
    return piece;
  }

  frame(chunk: AgentChunk & { seq?: number }): string {
    let frame = this.#frames.get(chunk);
    if (frame === undefined) {
      const data = dataFrame(this.#show(chunk));
      frame = chunk.seq === undefined ? data : numbered(data, chunk.seq, this.#inOne);
      this.#frames.set(chunk, frame);
    }
    return frame;
  }
}

/** A frame without a number. */
export function dataFrame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/**
 * A frame with its number. If it is not in the same frame, it is in the next, which has no data: a reader that breaks off
 * between the two receives the event again.
 */
export function numbered(data: string, seq: number, inOne: boolean): string {
  return inOne ? `id: ${seq}\n${data}` : `${data}id: ${seq}\n\n`;
}

/**
 * Announces that a thread's queue may have changed. It has no number, because reconnecting clients reload the queue.
 */
export const QUEUE_FRAME: string = `: ${QUEUE_COMMENT}\n\n`;

/** The number a stream starts after, for a reader whose connection breaks before the first frame. */
export function startHeader(after: number | undefined): Record<string, string> {
  return after === undefined ? {} : { "x-after": String(after) };
}

/**
 * The first frame of a numbered stream: the number it starts after, so that a reader can resume before the first chunk.
 */
export function opening(after: number | undefined): string {
  return after === undefined ? ": connected\n\n" : `: connected\n\nretry: ${RETRY_MS}\nid: ${after}\n\n`;
}

/** The last frame of a stream that the server ends. */
export function endFrame(error: unknown, after: number | undefined): string {
  const why = AgentError.is(error)
    ? error
    : error === undefined
      ? new AgentError(
          "reader-too-slow",
          "The client stopped reading, so the stream was closed. Reconnect with `after: details.after`.",
        )
      : new AgentError("internal", "The stream was interrupted. Reconnect with `after: details.after`.");
  const end: StreamEnd = {
    ...why.toJSON(),
    ...(after !== undefined && { details: { ...why.details, after } }),
  };
  return `event: ${END_EVENT}\ndata: ${JSON.stringify(end)}\n\n`;
}

/**
 * Whether a reader understands frames that have a number beside their data. The readers of some clients skip such a
 * frame; they send POST requests that do not ask for an event stream.
 */
export function wantsNumbers({ method, headers }: Request): boolean {
  return method === "GET" || /\btext\/event-stream\b/.test(headers.get("accept") ?? "");
}

/** The number to resume after: from the header of a reconnecting reader, otherwise from the query. */
export function startAfter(request: Request, said: number | undefined): number | undefined {
  const header = request.headers.get("last-event-id");
  if (header === null || header === "") return said;
  if (/^\d{1,15}$/.test(header)) return Number(header);
  throw new AgentError(
    "invalid-argument",
    `Last-Event-ID must be the number of a chunk, got "${header.slice(0, 50)}".`,
  );
}
