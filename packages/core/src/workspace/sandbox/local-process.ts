import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import { Readable, type Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { AgentError } from "../../errors.ts";
import { type IdentifiedProcess, type System, sleep } from "../../system.ts";
import { KeptOutput } from "./kept-output.ts";
import { identify, killProcess } from "./kill-process.ts";
import type { CommandOptions, CommandResult, OutputStream, ProcessHandle } from "./workspace-sandbox.ts";

const KEPT_BYTES = 1024 * 1024;
/** A process that left its group can keep the pipes open. */
const DRAIN_MS = 500;
const STREAMS = ["stdout", "stderr"] as const;

export interface LocalProcessOptions {
  command: string;
  /** The program and its arguments. */
  argv: readonly string[];
  cwd: string;
  env: Record<string, string>;
  stdin: boolean;
  /** Hold the command until `open()`. It does not run if this process dies before. */
  held: boolean;
  /** The program reports on descriptor 4 which process is the first of its sandbox (bubblewrap's `--info-fd`). */
  reportsSandbox: boolean;
  /** Killed when it has written this much. */
  maxOutputBytes: number;
  onOutput?: ((stream: OutputStream, bytes: Buffer) => void) | undefined;
  /** Called when nothing of it is left, before `wait` resolves. Returns a warning for the result. */
  afterExit?: (() => Promise<string | undefined>) | undefined;
  system: System;
}

/** Why a process was ended from here. */
type Ending = "killed" | "timeout" | "output";

/** Waits for a line on descriptor 3 before it becomes the command. */
const HELD = ["/bin/sh", "-c", 'read -r go <&3 || exit 125; exec 3<&-; exec "$@"', "sh"];

/** A process on this machine, with everything it started: they have one process group. */
export class LocalProcess implements ProcessHandle {
  readonly pid: string;
  readonly command: string;
  readonly #child: ChildProcess;
  readonly #system: System;
  readonly #startedAt: number;
  readonly #kept: Record<OutputStream, KeptOutput>;
  readonly #listeners = new Set<(stream: OutputStream, bytes: Buffer) => void>();
  readonly #ended: Promise<CommandResult>;
  readonly #maxOutputBytes: number;
  #exitCode: number | undefined;
  #ending: Ending | undefined;
  #killed: Promise<void> | undefined;
  #written = 0;
  #reader: Readable | undefined;
  #inside: IdentifiedProcess[] = [];
  readonly #isMonitor: boolean;
  readonly #afterExit: LocalProcessOptions["afterExit"];
  #warning: string | undefined;

  /** Throws if it cannot be started. */
  static async start(options: LocalProcessOptions): Promise<LocalProcess> {
    const { argv, cwd, env, stdin, held, reportsSandbox } = options;
    const gate = held ? "pipe" : "ignore";
    const stdio: StdioOptions = [stdin ? "pipe" : "ignore", "pipe", "pipe"];
    if (held || reportsSandbox) stdio.push(gate);
    if (reportsSandbox) stdio.push("pipe");
    const [program, ...args] = held ? [...HELD, ...argv] : argv;
    const child = spawn(program!, args, {
      cwd,
      env,
      detached: process.platform !== "win32",
      windowsHide: true,
      stdio,
    });
    if (child.pid === undefined) {
      const error = await new Promise<Error>((resolve) => child.once("error", resolve));
      throw new AgentError("internal", `The command could not be started: ${error.message}`, {
        cause: error,
      });
    }
    return new LocalProcess(child, options);
  }

  private constructor(child: ChildProcess, options: LocalProcessOptions) {
    this.pid = `${child.pid}`;
    this.command = options.command;
    this.#child = child;
    this.#system = options.system;
    this.#startedAt = this.#system.monotonic();
    this.#maxOutputBytes = options.maxOutputBytes;
    this.#kept = { stdout: new KeptOutput(KEPT_BYTES), stderr: new KeptOutput(KEPT_BYTES) };
    this.#isMonitor = options.reportsSandbox;
    this.#afterExit = options.afterExit;
    if (options.reportsSandbox) this.#learnInside(child.stdio[4] as Readable);
    if (options.onOutput) this.#listeners.add(options.onOutput);
    for (const stream of STREAMS)
      child[stream]!.on("data", (bytes: Buffer) => this.#take(stream, bytes)).on("error", () => {});
    child.stdin?.on("error", () => {}); // The process has ended; `wait` tells.
    child.on("error", () => {});
    this.#ended = this.#whenEnded();
  }

  /** Lets a held process run its command. */
  open(): void {
    const gate = this.#child.stdio[3] as Writable | null | undefined;
    gate?.on("error", () => {}).end("go\n");
  }

  get stdout(): string {
    return this.#kept.stdout.text();
  }

  get stderr(): string {
    return this.#kept.stderr.text();
  }

  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  get reader(): Readable {
    if (!this.#reader) {
      const reader = (this.#reader = new Readable({ read() {}, highWaterMark: KEPT_BYTES }));
      const stop = this.#listen((stream, bytes) => {
        if (stream === "stdout" && !reader.push(bytes)) {
          stop();
          reader.destroy(
            new AgentError(
              "limit-exceeded",
              `The output of process ${this.pid} was read too slowly, so reading was stopped. Read faster, or use onStdout.`,
            ),
          );
        }
      });
      void this.#ended.then(() => reader.push(null));
    }
    return this.#reader;
  }

  get writer(): Writable {
    if (this.#child.stdin) return this.#child.stdin;
    throw new AgentError(
      "invalid-argument",
      `The stdin of process ${this.pid} is closed. Start it with stdin: true to write to it.`,
    );
  }

  async wait(
    options: Pick<CommandOptions, "onStdout" | "onStderr" | "abortSignal"> = {},
  ): Promise<CommandResult> {
    const { onStdout, onStderr, abortSignal } = options;
    const stopListening = onStdout || onStderr ? this.#listen(decoded(options)) : undefined;
    const abort = () => void this.kill();
    if (abortSignal?.aborted) abort();
    abortSignal?.addEventListener("abort", abort);
    try {
      return await this.#ended;
    } finally {
      abortSignal?.removeEventListener("abort", abort);
      stopListening?.();
    }
  }

  async kill(): Promise<boolean> {
    return this.end("killed");
  }

  /** Ends the process and all it started. False if it had ended before. */
  async end(reason: Ending): Promise<boolean> {
    if (this.#exitCode !== undefined) {
      await this.#ended;
      return false;
    }
    this.#ending ??= reason;
    await this.#endGroup();
    await this.#ended;
    return true;
  }

  async sendStdin(data: string | Uint8Array): Promise<void> {
    const { writer } = this;
    await new Promise<void>((resolve, reject) =>
      writer.write(data, (error) => (error ? reject(error) : resolve())),
    );
  }

  async closeStdin(): Promise<void> {
    await new Promise<void>((resolve) => this.writer.end(resolve));
  }

  #endGroup(): Promise<void> {
    this.#killed ??= killProcess(
      { leader: Number(this.pid), isMonitor: this.#isMonitor, known: this.#inside },
      this.#system,
    );
    return this.#killed;
  }

  /** When the monitor has ended, the sandbox may live on for a moment. */
  #learnInside(info: Readable): void {
    info
      .on("error", () => {})
      .on("data", (bytes: Buffer) => {
        const pid = /"child-pid": *(\d+)/.exec(bytes.toString())?.[1];
        if (pid) this.#inside.push(identify(Number(pid)));
      });
  }

  #listen(listener: (stream: OutputStream, bytes: Buffer) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #take(stream: OutputStream, bytes: Buffer): void {
    this.#written += bytes.length;
    this.#kept[stream].append(bytes);
    for (const listener of this.#listeners) listener(stream, bytes);
    if (this.#written > this.#maxOutputBytes) void this.end("output");
  }

  async #whenEnded(): Promise<CommandResult> {
    const child = this.#child;
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) =>
      child.once("exit", (...how) => resolve(how)),
    );
    // What the command left running in its group ends with it.
    await this.#endGroup();
    const giveUp = new AbortController();
    await Promise.race([closed, sleep(this.#system, DRAIN_MS, giveUp.signal).catch(() => {})]);
    giveUp.abort();
    for (const stream of STREAMS) child[stream]!.destroy();
    child.stdin?.destroy();
    this.#warning = await this.#afterExit?.().catch(
      (error: unknown) =>
        `What the command left could not be checked: ${error instanceof Error ? error.message : String(error)}`,
    );
    this.#exitCode = code ?? 128 + (SIGNAL_NUMBERS[signal!] ?? 0);
    return this.#result();
  }

  #result(): CommandResult {
    const { stdout, stderr } = this.#kept;
    const cut = (kept: KeptOutput) => kept.droppedBytes > 0;
    const exitCode = this.#exitCode!;
    return {
      success: exitCode === 0 && this.#ending === undefined,
      exitCode,
      stdout: stdout.text(),
      stderr: stderr.text(),
      executionTimeMs: Math.round(this.#system.monotonic() - this.#startedAt),
      ...(this.#ending === "timeout" && { timedOut: true }),
      ...(this.#ending && { killed: true }),
      ...(this.#warning !== undefined && { warning: this.#warning }),
      ...(cut(stdout) && { stdoutTruncated: true, stdoutDroppedBytes: stdout.droppedBytes }),
      ...(cut(stderr) && { stderrTruncated: true, stderrDroppedBytes: stderr.droppedBytes }),
    };
  }
}

const SIGNAL_NUMBERS: Partial<Record<NodeJS.Signals, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGPIPE: 13,
  SIGTERM: 15,
  SIGXCPU: 24,
  SIGXFSZ: 25,
};

/** A listener that passes on whole characters. */
function decoded(
  to: Pick<CommandOptions, "onStdout" | "onStderr">,
): (stream: OutputStream, bytes: Buffer) => void {
  const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  return (stream, bytes) => {
    const text = decoders[stream].write(bytes);
    if (text !== "") (stream === "stdout" ? to.onStdout : to.onStderr)?.(text);
  };
}
