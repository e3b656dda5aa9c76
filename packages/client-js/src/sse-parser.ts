import { AgentError } from "@selvedge/protocol";

export interface ServerSentEvent {
  /** `message`, unless the server named it. */
  type: string;
  data: string;
  /** The last id the server sent, with this event or before it. */
  id: string | undefined;
}

const MAX_EVENT_LENGTH = 64 << 20;

/**
 * Parses server-sent events from pieces of text, by the HTML standard: lines may end in CR, LF or both, and a piece may
 * end anywhere.
 */
export class SseParser {
  /** The last id of a finished event, including events without data. */
  lastId: string | undefined;
  /** The number of comments. */
  comments = 0;
  #line = "";
  #afterCr = false;
  #started = false;
  #data: string[] = [];
  #length = 0;
  #type = "";
  /** An id counts when its event is complete: a truncated event was not received. */
  #id: string | undefined;
  readonly #onComment: ((text: string) => void) | undefined;

  constructor(onComment?: (text: string) => void) {
    this.#onComment = onComment;
  }

  /** The events this piece completes. */
  push(piece: string): ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    let from = 0;
    if (!this.#started && piece !== "") {
      this.#started = true;
      if (piece.startsWith("\uFEFF")) from = 1;
    }
    for (let at = from; at < piece.length; at++) {
      const char = piece.charCodeAt(at);
      const isLf = char === 10;
      if (!isLf && char !== 13) continue;
      // The LF of a CRLF, possibly in the piece after its CR.
      if (!(isLf && this.#afterCr && at === from)) this.#endLine(piece.slice(from, at), events);
      this.#afterCr = !isLf;
      from = at + 1;
    }
    if (from < piece.length) {
      this.#afterCr = false;
      this.#line += piece.slice(from);
      this.#checkLength(this.#line.length);
    }
    return events;
  }

  #endLine(rest: string, events: ServerSentEvent[]): void {
    const line = this.#line + rest;
    this.#line = "";
    if (line === "") return this.#dispatch(events);
    const colon = line.indexOf(":");
    if (colon === 0) {
      this.comments++;
      this.#onComment?.(line.slice(line[1] === " " ? 2 : 1));
      return;
    }
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") {
      this.#data.push(value);
      this.#checkLength((this.#length += value.length));
    } else if (field === "event") this.#type = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
  }

  #dispatch(events: ServerSentEvent[]): void {
    this.lastId = this.#id;
    if (this.#data.length > 0)
      events.push({ type: this.#type || "message", data: this.#data.join("\n"), id: this.lastId });
    this.#data = [];
    this.#length = 0;
    this.#type = "";
  }

  #checkLength(length: number): void {
    if (length > MAX_EVENT_LENGTH)
      throw new AgentError(
        "limit-exceeded",
        `The server sent an event of more than ${MAX_EVENT_LENGTH} characters.`,
      );
  }
}
