import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Answer, Command, WorkflowChildConfig } from "./protocol.ts";

const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));

/** A process with workflows, as its parent sees it. Calls to one that dies resolve with `undefined`. */
export class WorkflowProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: Answer | undefined) => void>();
  readonly exited: Promise<void>;
  /** Resolves with false if it died before it was ready. */
  readonly ready: Promise<boolean>;
  alive = true;
  #ids = 0;

  constructor(config: WorkflowChildConfig) {
    const flags = ["--conditions=selvedge-source", "--no-warnings"];
    this.#child = spawn(process.execPath, [...flags, CHILD, JSON.stringify(config)], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const exited = Promise.withResolvers<void>();
    const ready = Promise.withResolvers<boolean>();
    this.exited = exited.promise;
    this.ready = ready.promise;
    this.#child.on("exit", () => {
      this.alive = false;
      ready.resolve(false);
      for (const resolve of this.#waiting.values()) resolve(undefined);
      this.#waiting.clear();
      exited.resolve();
    });
    this.#child.on("message", (message: "ready" | { id: number; result: Answer }) => {
      if (message === "ready") return ready.resolve(true);
      this.#waiting.get(message.id)?.(message.result);
      this.#waiting.delete(message.id);
    });
  }

  get name(): string {
    return `process ${this.#child.pid}`;
  }

  call(command: Command): Promise<Answer | undefined> {
    if (!this.alive || !this.#child.connected) return Promise.resolve(undefined);
    const id = ++this.#ids;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.send({ id, command }, (error) => {
        if (error) resolve(undefined);
      });
    });
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }
}
