import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface LoadSettings {
  chunks: number;
  chunkBytes: number;
  chunkDelayMs: number;
  stallMs: number;
  /** Collect garbage before each look at the memory: slow, but what is measured is in use. */
  weigh?: boolean;
  file: string;
}

export interface LoadRequest {
  type: "run" | "memory" | "close";
  threadId?: string;
}

export interface LoadAnswer {
  url?: string;
  ms?: number;
  cpuMs?: number;
  /** Bytes in use now. */
  used?: number;
  /** The most bytes in use since the last request for them. */
  peak?: number;
  streams?: number;
}

const SERVER = fileURLToPath(new URL("./load-server.ts", import.meta.url));

/** A server in a process of its own, on a file of its own. */
export class LoadProcess {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(child: ChildProcess, url: string, folder: string) {
    this.#child = child;
    this.url = url;
    this.#folder = folder;
  }

  static async start(settings: Omit<LoadSettings, "file">): Promise<LoadProcess> {
    const folder = await mkdtemp(join(tmpdir(), "selvedge-load-"));
    const argument = JSON.stringify({ ...settings, file: join(folder, "load.db") });
    const child = fork(SERVER, [argument], { execArgv: ["--conditions=selvedge-source", "--expose-gc"] });
    const [{ url }] = (await once(child, "message")) as [LoadAnswer];
    return new LoadProcess(child, url!, folder);
  }

  /** Runs the agent on a thread, and answers how long that took. */
  async run(threadId: string): Promise<Required<Pick<LoadAnswer, "ms" | "cpuMs" | "peak" | "streams">>> {
    return this.#ask({ type: "run", threadId }) as never;
  }

  async memory(): Promise<Required<Pick<LoadAnswer, "used" | "streams">>> {
    return this.#ask({ type: "memory" }) as never;
  }

  async close(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.send({ type: "close" });
    await exited;
    await rm(this.#folder, { recursive: true });
  }

  async #ask(request: LoadRequest): Promise<LoadAnswer> {
    const answered = once(this.#child, "message");
    this.#child.send(request);
    const [answer] = (await answered) as [LoadAnswer];
    return answer;
  }
}
