import type { IndexProgress } from "./index-folder.ts";

const WIDTH = 24;

/** A line that is drawn over itself on a terminal. Elsewhere it says nothing: logs want no pictures. */
export class ProgressBar {
  readonly #output: NodeJS.WriteStream;
  #drawnAt = 0;

  constructor(output: NodeJS.WriteStream) {
    this.#output = output;
  }

  draw(progress: IndexProgress): void {
    if (!this.#output.isTTY) return;
    // Thirty times a second is enough for an eye.
    const now = performance.now();
    if (now - this.#drawnAt < 33) return;
    this.#drawnAt = now;
    this.#output.write(`\r\x1b[2K${progressLine(progress, this.#output.columns || 80)}`);
  }

  clear(): void {
    if (this.#output.isTTY) this.#output.write("\r\x1b[2K");
  }
}

export function progressLine(progress: IndexProgress, columns: number): string {
  const { done, total, share, path, passages } = progress;
  const filled = Math.floor(share * WIDTH);
  const bar = `${"█".repeat(filled)}${"░".repeat(WIDTH - filled)} ${done}/${total} `;
  const tail = passages ? `, passage ${passages.done + 1} of ${passages.total}` : "";
  const room = Math.max(0, columns - bar.length - tail.length - 1);
  const plain = path.replaceAll(/\p{Cc}/gu, "");
  const shown = plain.length > room ? `…${plain.slice(plain.length - Math.max(0, room - 1))}` : plain;
  return (bar + shown + tail).slice(0, Math.max(0, columns - 1));
}
