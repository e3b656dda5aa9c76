import { fileURLToPath } from "node:url";
import type { IPty } from "@lydell/node-pty";
import xterm from "@xterm/headless";

const BIN = fileURLToPath(new URL("../../packages/cli/bin/selvedge.js", import.meta.url));
const PATIENCE_MS = 60_000;

type Pty = typeof import("@lydell/node-pty");

/** The library for pseudo-terminals, or why there is none on this machine. */
export async function findPty(): Promise<Pty | { missing: string }> {
  try {
    return await import("@lydell/node-pty");
  } catch (error) {
    return { missing: `no pseudo-terminals here: ${(error as Error).message.split("\n")[0]}` };
  }
}

export interface TestTerminalOptions {
  cwd: string;
  columns?: number;
  rows?: number;
  env?: Record<string, string>;
}

/** A `selvedge` command on a real pseudo-terminal, and the screen that a person would see. */
export class TestTerminal {
  readonly #pty: IPty;
  readonly #screen: InstanceType<typeof xterm.Terminal>;
  #raw = "";
  #writing: Promise<void> = Promise.resolve();
  readonly exit: Promise<number>;
  #hasExited = false;

  private constructor(pty: Pty, args: readonly string[], options: TestTerminalOptions) {
    const { cwd, columns: cols = 80, rows = 24, env } = options;
    this.#screen = new xterm.Terminal({ cols, rows, scrollback: 5000, allowProposedApi: true });
    this.#pty = pty.spawn(process.execPath, ["--conditions=selvedge-source", BIN, ...args], {
      cols,
      rows,
      cwd,
      name: "xterm-256color",
      env: { PATH: process.env["PATH"]!, HOME: cwd, TERM: "xterm-256color", ...env },
    });
    this.#pty.onData((data) => {
      this.#raw += data;
      this.#writing = new Promise((resolve) => this.#screen.write(data, resolve));
    });
    // A terminal answers what programs ask it.
    this.#screen.onData((data) => this.#hasExited || this.#pty.write(data));
    this.exit = new Promise((resolve) =>
      this.#pty.onExit(({ exitCode }) => {
        this.#hasExited = true;
        resolve(exitCode);
      }),
    );
  }

  static async start(args: readonly string[], options: TestTerminalOptions): Promise<TestTerminal> {
    const pty = await findPty();
    if ("missing" in pty) throw new Error(pty.missing);
    return new TestTerminal(pty, args, options);
  }

  /** Everything that was written, with its escape sequences. */
  get raw(): string {
    return this.#raw;
  }

  /** The visible lines, and with `all` also those that have scrolled off. */
  lines({ all = false }: { all?: boolean } = {}): string[] {
    const { active } = this.#screen.buffer;
    const from = all ? 0 : active.baseY;
    const lines: string[] = [];
    for (let row = from; row < active.baseY + this.#screen.rows; row++)
      lines.push(active.getLine(row)?.translateToString(true) ?? "");
    return lines;
  }

  text(options?: { all?: boolean }): string {
    return this.lines(options).join("\n").trimEnd();
  }

  /** The last line. */
  get status(): string {
    return this.text().split("\n").at(-1) ?? "";
  }

  type(text: string): void {
    this.#pty.write(text);
  }

  /** As a terminal passes on what was pasted into it. */
  paste(text: string): void {
    this.#pty.write(`\u001b[200~${text.replaceAll("\n", "\r")}\u001b[201~`);
  }

  resize(columns: number, rows: number): void {
    this.#screen.resize(columns, rows);
    this.#pty.resize(columns, rows);
  }

  /** Waits until the screen shows something, or no longer does. */
  async shows(what: string | RegExp | ((text: string) => boolean), { all = false } = {}): Promise<void> {
    const isThere = (text: string): boolean =>
      typeof what === "function"
        ? what(text)
        : typeof what === "string"
          ? text.includes(what)
          : what.test(text);
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      await this.#writing;
      if (isThere(this.text({ all }))) return;
      if (this.#hasExited)
        throw new Error(`It ended without showing ${String(what)}:\n${this.text({ all: true })}`);
      if (performance.now() > end)
        throw new Error(`It does not show ${String(what)}:\n${this.text({ all: true })}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Waits until the editor is there and nothing goes on. */
  isIdle(): Promise<void> {
    return this.shows((text) => / tokens · (.*· )?\/help$/.test(text.split("\n").at(-1) ?? ""));
  }

  async stop(): Promise<void> {
    if (!this.#hasExited) this.#pty.kill("SIGKILL");
    await this.exit;
    this.#screen.dispose();
  }
}
