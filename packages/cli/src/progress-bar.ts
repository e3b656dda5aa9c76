const WIDTH = 24;

/** A line that is drawn over itself on a terminal. Elsewhere it says nothing: logs want no pictures. */
export class ProgressBar {
  readonly #output: NodeJS.WriteStream;
  #drawnAt = 0;

  constructor(output: NodeJS.WriteStream) {
    this.#output = output;
  }

  draw({ done, total, path }: { done: number; total: number; path: string }): void {
    if (!this.#output.isTTY) return;
    // Thirty times a second is enough for an eye.
    const now = performance.now();
    if (now - this.#drawnAt < 33) return;
    this.#drawnAt = now;
    this.#output.write(`\r\x1b[2K${progressLine(done, total, path, this.#output.columns || 80)}`);
  }

  clear(): void {
    if (this.#output.isTTY) this.#output.write("\r\x1b[2K");
  }
}

export function progressLine(done: number, total: number, path: string, columns: number): string {
  const filled = total === 0 ? WIDTH : Math.round((done / total) * WIDTH);
  const bar = `${"█".repeat(filled)}${"░".repeat(WIDTH - filled)} ${done}/${total} `;
  const room = Math.max(0, columns - bar.length - 1);
  const plain = path.replaceAll(/\p{Cc}/gu, "");
  return bar + (plain.length > room ? `…${plain.slice(plain.length - Math.max(0, room - 1))}` : plain);
}
