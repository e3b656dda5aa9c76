import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { ChildConfig } from "./child.ts";

const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));

/** What a child says about its session. */
export interface Seen {
  waiting: string | null;
  isRunning: boolean;
  runId: string | null;
  queued: number;
  mode: string;
  grants: { categories: string[]; tools: string[] };
  state: Record<string, unknown>;
  tasks: { id: string }[];
  tokens: number;
  messages: { role: string; content: { type: string; text?: string }[] }[];
  /** What each subagent was told. */
  children: string[][];
  /** The whole display. */
  display: unknown;
}

/** A process with a controller, as its parent sees it. */
export class Child {
  readonly #child: ChildProcess;
  readonly #answers = new Map<number, (value: unknown) => void>();
  readonly errors: string[] = [];
  /** Resolves with false when it died before it was ready. */
  readonly ready: Promise<boolean>;
  readonly exited: Promise<void>;
  #ids = 0;

  constructor(config: Pick<ChildConfig, "file" | "marks"> & { kill?: unknown }, program: string = CHILD) {
    this.#child = spawn(
      process.execPath,
      ["--conditions=selvedge-source", "--no-warnings", program, JSON.stringify(config)],
      { stdio: ["ignore", "inherit", "inherit", "ipc"] },
    );
    const ready = Promise.withResolvers<boolean>();
    const exited = Promise.withResolvers<void>();
    this.ready = ready.promise;
    this.exited = exited.promise;
    this.#child.on("exit", () => {
      ready.resolve(false);
      for (const answer of this.#answers.values()) answer(undefined);
      exited.resolve();
    });
    this.#child.on("message", (message: { ready?: true; error?: string; id?: number; value?: unknown }) => {
      if (message.ready) ready.resolve(true);
      else if (message.error !== undefined) this.errors.push(message.error);
      else this.#answers.get(message.id!)?.(message);
    });
  }

  /** `undefined` when it died meanwhile. */
  do(what: string, count?: number): Promise<{ ok: boolean; value?: unknown; message?: string } | undefined> {
    if (!this.#child.connected) return Promise.resolve(undefined);
    const id = ++this.#ids;
    return new Promise((resolve) => {
      this.#answers.set(id, resolve as (value: unknown) => void);
      this.#child.send({ id, do: what, count }, (error) => error && resolve(undefined));
    });
  }

  async look(): Promise<Seen | undefined> {
    return (await this.do("look"))?.value as Seen | undefined;
  }

  /** Looks until it sees what it should, or the process is gone. */
  async until(matches: (seen: Seen) => boolean): Promise<Seen | undefined> {
    for (;;) {
      const seen = await this.look();
      if (!seen || matches(seen)) return seen;
      await delay(10);
    }
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.exited;
  }
}
