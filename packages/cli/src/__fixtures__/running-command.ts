import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const BIN = fileURLToPath(new URL("../../bin/selvedge.js", import.meta.url));

/** A `selvedge` command that goes on running, and what it has said so far. */
export class RunningCommand {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #listeners = new Set<() => void>();
  #output = "";
  #ended = false;
  #closed = false;

  constructor(args: readonly string[], options: { cwd: string; env?: Record<string, string> }) {
    this.#child = spawn(process.execPath, ["--conditions=selvedge-source", BIN, ...args], {
      cwd: options.cwd,
      env: { PATH: process.env["PATH"], ...options.env },
    });
    const add = (data: Buffer): void => {
      this.#output += data.toString();
      for (const listener of this.#listeners) listener();
    };
    this.#child.stdout.on("data", add);
    this.#child.stderr.on("data", add);
    this.#child.on("close", () => (this.#closed = true));
    this.#child.on("exit", () => {
      this.#ended = true;
      for (const listener of this.#listeners) listener();
    });
  }

  get output(): string {
    return this.#output;
  }

  /** The first match in what the command says after `from`. Rejects when it ends without one. */
  says(pattern: RegExp, from = 0): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(this.#output.slice(from));
        if (!match && !this.#ended) return;
        this.#listeners.delete(look);
        if (match) resolve(match);
        else
          reject(new Error(`The command ended without saying ${String(pattern)}. It said:\n${this.#output}`));
      };
      this.#listeners.add(look);
      look();
    });
  }

  async url(): Promise<string> {
    return (await this.says(/(http:\/\/[\d.]+:\d+)/))[1]!;
  }

  /** Resolves when the command has ended by itself and all it said was read. */
  async exitCode(): Promise<number | null> {
    if (!this.#closed) await once(this.#child, "close");
    return this.#child.exitCode;
  }

  async stop(): Promise<void> {
    if (this.#ended) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGTERM");
    await ended;
  }
}
