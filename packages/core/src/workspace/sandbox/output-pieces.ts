import { StringDecoder } from "node:string_decoder";
import type { System } from "../../system.ts";
import type { OutputStream } from "./workspace-sandbox.ts";

const JOIN_MS = 32;
const MAX_PIECE_BYTES = 16 * 1024;
/** What a call may put on its thread's stream in full. */
const FULL_BYTES = 256 * 1024;
const TRICKLE_MS = 250;
const TRICKLE_BYTES = 1024;
const NONE = Buffer.alloc(0);

/** A piece of output for readers. */
export interface OutputPiece {
  stream: OutputStream;
  output: string;
  /** Bytes that were left out just before it. */
  leftOutBytes?: number;
}

/**
 * Joins output to pieces of at most 32 ms or 16 KiB. After 256 KiB it shows only samples, four per second, and counts
 * what they leave out. Work per byte is constant, and nothing waits for the readers.
 */
export class OutputPieces {
  readonly #system: System;
  readonly #emit: (piece: OutputPiece) => void;
  readonly #waiting: Record<OutputStream, Waiting> = { stdout: new Waiting(), stderr: new Waiting() };
  #budget = FULL_BYTES;
  #cancelTimer: (() => void) | undefined;

  constructor(system: System, emit: (piece: OutputPiece) => void) {
    this.#system = system;
    this.#emit = emit;
  }

  push(stream: OutputStream, bytes: Buffer): void {
    const waiting = this.#waiting[stream];
    const full = bytes.subarray(0, this.#budget);
    this.#budget -= full.length;
    for (let start = 0; start < full.length;) {
      const end = Math.min(full.length, start + MAX_PIECE_BYTES - waiting.size);
      waiting.add(full.subarray(start, end));
      start = end;
      if (waiting.size >= MAX_PIECE_BYTES) this.#send(stream);
    }
    if (full.length < bytes.length) waiting.sample(bytes.subarray(full.length));
    const ms = this.#budget > 0 ? JOIN_MS : TRICKLE_MS;
    if (!this.#cancelTimer && waiting.hasAny)
      this.#cancelTimer = this.#system.setTimer(ms, () => this.flush());
  }

  /** Sends what is waiting. */
  flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#send("stdout");
    this.#send("stderr");
  }

  #send(stream: OutputStream): void {
    const piece = this.#waiting[stream].take();
    if (piece) this.#emit({ stream, ...piece });
  }
}

/** Output of one stream that has not been sent. */
class Waiting {
  #decoder = new StringDecoder("utf8");
  #pieces: Buffer[] = [];
  size = 0;
  #leftOut = 0;
  #sample: Buffer | undefined;

  get hasAny(): boolean {
    return this.size > 0 || this.#sample !== undefined;
  }

  add(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.size += bytes.length;
  }

  /** Keeps only the end of the bytes. */
  sample(bytes: Buffer): void {
    const last = Buffer.concat([this.#sample ?? NONE, bytes.subarray(-TRICKLE_BYTES)]).subarray(
      -TRICKLE_BYTES,
    );
    this.#leftOut += (this.#sample?.length ?? 0) + bytes.length - last.length;
    this.#sample = last;
  }

  take(): Omit<OutputPiece, "stream"> | undefined {
    if (!this.hasAny) return undefined;
    let output = this.size > 0 ? this.#decoder.write(Buffer.concat(this.#pieces)) : "";
    if (this.#sample)
      output += this.#leftOut > 0 ? wholeText(this.#sample) : this.#decoder.write(this.#sample);
    const piece = { output, ...(this.#leftOut > 0 && { leftOutBytes: this.#leftOut }) };
    this.#pieces = [];
    this.size = 0;
    this.#leftOut = 0;
    this.#sample = undefined;
    return output === "" ? undefined : piece;
  }
}

/** UTF-8 that may begin and end inside a character. */
function wholeText(bytes: Buffer): string {
  let start = 0;
  while (start < 3 && (bytes[start]! & 0xc0) === 0x80) start++;
  return new StringDecoder("utf8").write(bytes.subarray(start));
}
