import type { JSONRPCMessage } from "@modelcontextprotocol/client";

/** A server that sends longer lines than this is disconnected. */
const MAX_LINE_BYTES = 10 * 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * Assembles a byte stream into messages, one per line. Lines that are not JSON are ignored as program output. The
 * consumer validates each message; validating here as well costs a fifth of a call.
 */
export class MessageLines {
  /** The start of an unfinished line. */
  #parts: Buffer[] = [];
  #size = 0;

  /** Yields the messages that end within this chunk. Throws when a line is too long. */
  *read(chunk: Buffer): Generator<JSONRPCMessage> {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      const message = parse(this.#join(chunk.subarray(from, end)));
      from = end + 1;
      if (message) yield message;
    }
    if (from === chunk.length) return;
    this.#parts.push(from === 0 ? chunk : chunk.subarray(from));
    this.#size += chunk.length - from;
    if (this.#size <= MAX_LINE_BYTES) return;
    this.clear();
    throw new Error(`The server sent a message of more than ${MAX_LINE_BYTES} bytes.`);
  }

  clear(): void {
    this.#parts = [];
    this.#size = 0;
  }

  #join(rest: Buffer): string {
    if (this.#parts.length === 0) return rest.toString();
    const line = Buffer.concat([...this.#parts, rest]).toString();
    this.clear();
    return line;
  }
}

function parse(line: string): JSONRPCMessage | undefined {
  try {
    const message: unknown = JSON.parse(line);
    return typeof message === "object" && message !== null ? (message as JSONRPCMessage) : undefined;
  } catch {
    return undefined;
  }
}
