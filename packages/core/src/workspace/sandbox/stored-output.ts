import { StringDecoder } from "node:string_decoder";
import type { System } from "../../system.ts";
import { KeptOutput } from "./kept-output.ts";
import { isGone, type ProcessKey, type ProcessRow, type ProcessStore } from "./process-domain.ts";
import type { OutputStream } from "./workspace-sandbox.ts";

/** What is kept with a thread: the beginning, and the end if there is more. */
const BEGINNING_BYTES = 9 * 1024 * 1024;
const END_BYTES = 1024 * 1024;
const ROW_BYTES = 256 * 1024;
const JOIN_MS = 200;

/**
 * Stores what a process writes, without making it wait: output is collected while a commit is in progress, and bounded by
 * what is kept at all.
 */
export class StoredOutput {
  readonly #store: ProcessStore;
  readonly #key: ProcessKey;
  readonly #system: System;
  /** Called once, if the thread was deleted. */
  readonly #onGone: () => void;
  readonly #decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  readonly #end = new KeptOutput(END_BYTES);
  #waiting: string[] = [];
  #waitingBytes = 0;
  #left = BEGINNING_BYTES;
  #seq = 0;
  #storing: Promise<void> = Promise.resolve();
  #cancelTimer: (() => void) | undefined;
  #gone = false;

  constructor(store: ProcessStore, key: ProcessKey, system: System, onGone: () => void) {
    this.#store = store;
    this.#key = key;
    this.#system = system;
    this.#onGone = onGone;
  }

  push(stream: OutputStream, bytes: Buffer): void {
    const first = bytes.subarray(0, this.#left);
    if (first.length > 0) {
      this.#left -= first.length;
      this.#waiting.push(this.#decoders[stream].write(first));
      this.#waitingBytes += first.length;
      this.#cancelTimer ??= this.#system.setTimer(JOIN_MS, () => void this.#flush());
    }
    if (first.length < bytes.length) this.#end.append(bytes.subarray(first.length));
  }

  /** Resolves when everything is stored, with how the process ended. */
  async finish(end: Partial<ProcessRow>): Promise<void> {
    if (this.#end.total > 0) {
      const left = this.#end.droppedBytes;
      if (left > 0) this.#waiting.push(`\n… ${left.toLocaleString("en")} bytes left out …\n`);
      this.#waiting.push(this.#end.text());
      this.#waitingBytes += this.#end.total;
    }
    await this.#flush(end);
  }

  #flush(end?: Partial<ProcessRow>): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#storing = this.#storing.then(() => this.#save(end));
    return this.#storing;
  }

  async #save(end: Partial<ProcessRow> | undefined): Promise<void> {
    // Not every store accepts NUL in text.
    const text = this.#waiting.join("").replaceAll("\0", "\u{fffd}");
    const bytes = this.#waitingBytes;
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (this.#gone || (bytes === 0 && !end)) return;
    const pieces = inRows(text).map((output) => ({ seq: this.#seq++, output }));
    try {
      await this.#store.append(this.#key, pieces, bytes, end);
    } catch (error) {
      // Losing output must not end the command; a deleted thread does.
      if (!isGone(error)) return;
      this.#gone = true;
      this.#onGone();
    }
  }
}

function inRows(text: string): string[] {
  const rows: string[] = [];
  for (let start = 0; start < text.length;) {
    // A pair of code units stays together.
    const isInPair = /[\ud800-\udbff]/.test(text[start + ROW_BYTES - 1] ?? "");
    const end = start + ROW_BYTES - (isInPair ? 1 : 0);
    rows.push(text.slice(start, end));
    start = end;
  }
  return rows;
}
