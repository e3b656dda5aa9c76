import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";

export interface LineReaderOptions {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream & { columns?: number };
  /** Edit lines on a terminal; otherwise lines are only read. */
  terminal: boolean;
  prompt: string;
  /** On a terminal: Ctrl-C. */
  onInterrupt(): void;
}

/** Lines typed by a person, or piped in. What is typed during an answer is kept, and shown when it is taken up. */
export class LineReader {
  readonly #readline: Interface;
  readonly #lines: string[] = [];
  readonly #terminal: boolean;
  readonly #show: (line: string) => void;
  #ended = false;
  #muted = true;
  #wake: (() => void) | undefined;

  constructor(options: LineReaderOptions) {
    const { input, output, terminal, prompt } = options;
    this.#terminal = terminal;
    this.#show = (line) => output.write(`${prompt}${line}\n`);
    this.#readline = createInterface({
      input,
      ...(terminal && { output: this.#echo(output) }),
      terminal,
      prompt,
      historySize: 100,
    });
    this.#readline.on("line", (line) => {
      this.#lines.push(line);
      this.#wake?.();
    });
    this.#readline.on("close", () => {
      this.#ended = true;
      this.#wake?.();
    });
    this.#readline.on("SIGINT", () => options.onInterrupt());
  }

  /** Returns the next line, or `undefined` when there are no more. */
  async next(): Promise<string | undefined> {
    if (this.#lines.length === 0) return this.#typed();
    const line = this.#lines.shift()!;
    if (this.#terminal) this.#show(line);
    return line;
  }

  /** Returns the next line for a question. On a terminal, only what is typed after the question counts. */
  reply(): Promise<string | undefined> {
    return this.#terminal ? this.#typed() : this.next();
  }

  /** Waits for a line after those that are kept. */
  async #typed(): Promise<string | undefined> {
    const kept = this.#lines.length;
    if (!this.#ended) {
      this.#ask();
      await new Promise<void>((resolve) => (this.#wake = resolve));
      this.#wake = undefined;
      this.#muted = true;
    }
    return this.#lines.splice(kept, 1)[0];
  }

  /** Throws away what is typed so far and asks again. */
  restart(): void {
    if (this.#ended) return;
    this.#readline.write(null, { ctrl: true, name: "e" });
    this.#readline.write(null, { ctrl: true, name: "u" });
    if (this.#wake) this.#ask();
  }

  close(): void {
    this.#readline.close();
  }

  #ask(): void {
    if (!this.#terminal) return;
    this.#muted = false;
    this.#readline.prompt(true);
  }

  /** Readline's way to the terminal, shut while an answer is written there. */
  #echo(output: LineReaderOptions["output"]): NodeJS.WritableStream {
    const echo = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (!this.#muted) output.write(chunk);
        done();
      },
    });
    Object.defineProperty(echo, "columns", { get: () => output.columns ?? 80 });
    output.on("resize", () => echo.emit("resize"));
    return echo;
  }
}
