import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { DevMessage, DevSettings } from "./dev-messages.ts";
import { compileCache, nodeFlags, type TypeScriptMode } from "./node-flags.ts";
import { FileWatch } from "./watch-files.ts";

const CHILD = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "./dev-child.ts" : "./dev-child.js", import.meta.url),
);
/** How long a process may take to finish what it does before it is ended. */
const GRACE_MS = 3000;
/** One that was up for this long and dies is started again at once; one that dies sooner would only do so again. */
const STEADY_MS = 5000;

export interface DevReport {
  ready(info: { url: string; about: string; ms: number; because: string | undefined }): void;
  failed(message: string): void;
  /** It never came up, and no change of a file will help. */
  gaveUp(message: string): void;
  stopped(code: number | null, again: boolean): void;
}

/**
 * Keeps a serving process alive for a project, and restarts it when one of the files it loaded changes.
 *
 *     starting → ready → (a file changes) → ending → starting …
 *        └─ failed or died → waits for a file to change; gives up where it cannot even listen
 *
 * Runs that were under way are not lost: their threads are in the store, and the next process takes them up.
 */
export class DevSupervisor {
  readonly #settings: DevSettings;
  readonly #report: DevReport;
  readonly #watch: FileWatch;
  #child: ChildProcess | undefined;
  #mode: TypeScriptMode = "strip";
  #closed = false;
  #wasReady = false;
  #restart: Promise<void> | undefined;

  constructor(settings: DevSettings, report: DevReport) {
    this.#settings = { ...settings };
    this.#report = report;
    this.#watch = new FileWatch((file) => void this.#startAgain(file));
    if (settings.entry !== undefined) this.#watch.add(settings.entry);
    this.#watch.add(`${process.cwd()}/.env`);
  }

  start(because?: string): void {
    const started = performance.now();
    let readyAt: number | undefined;
    let told = false;
    const child = fork(CHILD, [JSON.stringify(this.#settings)], {
      execArgv: nodeFlags(process.execArgv, process.allowedNodeEnvironmentFlags, this.#mode),
      env: { ...compileCache(process.cwd()), ...process.env },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#child = child;
    child.on("message", (message: DevMessage) => {
      if (message.kind === "file") this.#watch.add(message.file);
      if (message.kind === "failed" && child === this.#child) {
        told = true;
        // Found out by trying: most projects need only to have their types left out.
        if (message.needsTransform && this.#mode === "strip") {
          this.#mode = "transform";
          this.start(because);
        } else if (message.final && !this.#wasReady) {
          this.#report.gaveUp(message.message);
        } else {
          this.#report.failed(message.message);
        }
      }
      if (message.kind !== "ready") return;
      readyAt = performance.now();
      this.#wasReady = true;
      // The page that is open in a browser finds the server again.
      this.#settings.port = message.port;
      this.#settings.anyPort = false;
      this.#report.ready({ url: message.url, about: message.about, ms: readyAt - started, because });
    });
    child.on("exit", (code) => {
      if (child !== this.#child) return;
      this.#child = undefined;
      if (this.#closed || this.#restart) return;
      const steady = readyAt !== undefined && performance.now() - readyAt > STEADY_MS;
      if (!told) this.#report.stopped(code, steady);
      if (steady) this.start("the server stopped");
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#watch.close();
    await this.#end();
  }

  async #startAgain(file: string): Promise<void> {
    // A change during a restart is part of it, unless the new process is already reading: then there is one more.
    if (this.#restart) await this.#restart;
    if (this.#closed) return;
    this.#restart ??= this.#end();
    await this.#restart;
    if (this.#restart === undefined || this.#closed) return;
    this.#restart = undefined;
    this.start(file);
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
    await ended;
    clearTimeout(timer);
  }
}
