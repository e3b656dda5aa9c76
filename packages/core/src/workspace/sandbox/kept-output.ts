const FIRST_SIZE = 4096;

/** The last bytes of an output, in constant memory; older ones are dropped and counted. */
export class KeptOutput {
  readonly #limit: number;
  #ring: Buffer = Buffer.allocUnsafe(0);
  #start = 0;
  #length = 0;
  /** All bytes there were. */
  total = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get droppedBytes(): number {
    return this.total - this.#length;
  }

  append(bytes: Uint8Array): void {
    this.total += bytes.length;
    const kept = bytes.length > this.#limit ? bytes.subarray(bytes.length - this.#limit) : bytes;
    this.#makeRoom(kept.length);
    const size = this.#ring.length;
    const overflow = Math.max(0, this.#length + kept.length - size);
    this.#start = (this.#start + overflow) % (size || 1);
    this.#length -= overflow;
    const at = (this.#start + this.#length) % (size || 1);
    const first = Math.min(kept.length, size - at);
    this.#ring.set(kept.subarray(0, first), at);
    this.#ring.set(kept.subarray(first), 0);
    this.#length += kept.length;
  }

  bytes(): Buffer {
    const end = this.#start + this.#length;
    if (end <= this.#ring.length) return Buffer.from(this.#ring.subarray(this.#start, end));
    return Buffer.concat([this.#ring.subarray(this.#start), this.#ring.subarray(0, end - this.#ring.length)]);
  }

  /** As UTF-8. A character whose beginning was dropped is left out. */
  text(): string {
    const bytes = this.bytes();
    let start = 0;
    if (this.droppedBytes > 0) while (start < 3 && (bytes[start]! & 0xc0) === 0x80) start++;
    return bytes.toString("utf8", start);
  }

  #makeRoom(more: number): void {
    const wanted = Math.min(this.#limit, this.#length + more);
    if (wanted <= this.#ring.length) return;
    const size = Math.min(this.#limit, Math.max(FIRST_SIZE, 2 * this.#ring.length, wanted));
    const grown = Buffer.allocUnsafe(size);
    grown.set(this.bytes());
    this.#ring = grown;
    this.#start = 0;
  }
}

/** The beginning and the end of an output, in constant memory. */
export class BeginningAndEnd {
  readonly #beginning: Buffer[] = [];
  readonly #end: KeptOutput;
  #left: number;
  total = 0;

  constructor(bytesEach: number) {
    this.#left = bytesEach;
    this.#end = new KeptOutput(bytesEach);
  }

  append(bytes: Buffer): void {
    this.total += bytes.length;
    const first = bytes.subarray(0, this.#left);
    // A copy: a slice would keep the whole piece.
    if (first.length > 0) this.#beginning.push(Buffer.from(first));
    this.#left -= first.length;
    if (first.length < bytes.length) this.#end.append(bytes.subarray(first.length));
  }

  get leftOutBytes(): number {
    return this.#end.droppedBytes;
  }

  text(): string {
    if (this.leftOutBytes === 0)
      return Buffer.concat([...this.#beginning, this.#end.bytes()]).toString("utf8");
    const left = `\n… ${this.leftOutBytes.toLocaleString("en")} bytes left out …\n`;
    return Buffer.concat(this.#beginning).toString("utf8") + left + this.#end.text();
  }
}
