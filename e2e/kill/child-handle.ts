import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Answer, ChildConfig, Command } from "./protocol.ts";

type Result = Extract<Answer, { id: number }>;
type WithoutId<Value> = Value extends unknown ? Omit<Value, "id"> : never;

const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));

/** A child process, as its parent sees it. Calls to one that dies answer `undefined`: nobody knows what became of them. */
export class ChildHandle {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (result: Result | undefined) => void>();
  readonly exited: Promise<void>;
  /** Resolves with false when it died before it was ready. */
  readonly ready: Promise<boolean>;
  isAlive = true;
  #ids = 0;

  constructor(config: ChildConfig, env: Record<string, string> = {}) {
    this.#child = spawn(
      process.execPath,
      ["--conditions=selvedge-source", "--no-warnings", CHILD, JSON.stringify(config)],
      {
        stdio: ["ignore", "inherit", "inherit", "ipc"],
        env: { ...process.env, ...env },
      },
    );
    const { promise: exited, resolve: onExit } = Promise.withResolvers<void>();
    const { promise: ready, resolve: onReady } = Promise.withResolvers<boolean>();
    this.exited = exited;
    this.ready = ready;
    this.#child.on("exit", () => {
      this.isAlive = false;
      onReady(false);
      for (const resolve of this.#waiting.values()) resolve(undefined);
      this.#waiting.clear();
      onExit();
    });
    this.#child.on("message", (answer: Answer) => {
      if ("ready" in answer) return onReady(true);
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
  }

  call(command: WithoutId<Command>): Promise<Result | undefined> {
    if (!this.isAlive || !this.#child.connected) return Promise.resolve(undefined);
    const id = ++this.#ids;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.send({ ...command, id }, (error) => {
        if (error) resolve(undefined);
      });
    });
  }

  /** Has it stand still, and answers when it does. */
  async stop(): Promise<void> {
    void this.call({ do: "stop" });
    for (let look = 0; look < 200 && !this.#isStopped(); look++) await delay(1);
  }

  /** Lets it go on. */
  goOn(): void {
    this.#child.kill("SIGCONT");
  }

  #isStopped(): boolean {
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }
}
