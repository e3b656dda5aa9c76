import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import type { System } from "@selvedge/core";

const ENCODER = new TextEncoder();
const KEEP_ALIVE_MS = 25_000;
/** How much may be buffered for a client that does not read before it is disconnected. */
const MAX_WAITING_BYTES = 16 << 20;

/** One client of the older transport, on web streams: the server's messages go to `stream`. */
export class WebSseTransport implements Transport {
  readonly sessionId: string;
  readonly stream: ReadableStream<Uint8Array>;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  readonly #messagePath: string;
  readonly #system: System;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #closed = false;
  #cancelBeat: () => void = () => {};

  constructor(sessionId: string, messagePath: string, system: System) {
    this.sessionId = sessionId;
    this.#messagePath = messagePath;
    this.#system = system;
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => this.#end(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: MAX_WAITING_BYTES }),
    );
  }

  async start(): Promise<void> {
    this.#write(`event: endpoint\ndata: ${this.#messagePath}?sessionId=${this.sessionId}\n\n`);
    this.#beat();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) throw new Error("The client of this MCP session has disconnected.");
    this.#write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    if ((this.#controller.desiredSize ?? 0) <= 0) await this.close();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#controller.close();
    this.#end();
  }

  #write(text: string): void {
    this.#controller.enqueue(ENCODER.encode(text));
  }

  #beat(): void {
    this.#cancelBeat = this.#system.setTimer(
      KEEP_ALIVE_MS,
      () => {
        this.#write(": keep-alive\n\n");
        this.#beat();
      },
      { background: true },
    );
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelBeat();
    this.onclose?.();
  }
}
