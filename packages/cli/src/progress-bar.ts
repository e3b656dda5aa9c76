import { countOf } from "./count-of.ts";
import type { IndexProgress } from "./index-folder.ts";

const WIDTH = 24;
/** Thirty times a second is enough for an eye. */
const REDRAW_MS = 33;
/** Where lines stay, a new one comes after a tenth of the work or after this time. */
const NEXT_LINE_MS = 10_000;

interface Output {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

/** How far a command is. On a terminal one line that is drawn over itself, elsewhere a few plain lines. */
export class ProgressBar {
  readonly #output: Output;
  readonly #now: () => number;
  #shownAt = -Infinity;
  #tenths = -1;

  constructor(output: Output, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#now = now;
  }

  /** Says what is done now, where it cannot be counted. */
  say(text: string): void {
    if (this.#output.isTTY) this.#over(`${text} …`.slice(0, this.#columns - 1));
    else this.#output.write(`${text}\n`);
  }

  draw(progress: IndexProgress): void {
    const waited = this.#now() - this.#shownAt;
    if (this.#output.isTTY) {
      if (waited >= REDRAW_MS) this.#over(progressLine(progress, this.#columns));
      return;
    }
    const tenths = Math.floor(progress.share * 10);
    if (tenths === this.#tenths && waited < NEXT_LINE_MS) return;
    this.#tenths = tenths;
    this.#shownAt = this.#now();
    const percent = Math.floor(progress.share * 100);
    this.#output.write(`${progress.done} of ${countOf(progress.total, "file")} indexed (${percent} %)\n`);
  }

  clear(): void {
    if (this.#output.isTTY) this.#output.write("\r\x1b[2K");
  }

  get #columns(): number {
    return this.#output.columns || 80;
  }

  #over(line: string): void {
    this.#shownAt = this.#now();
    this.#output.write(`\r\x1b[2K${line}`);
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
