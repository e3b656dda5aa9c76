import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { AgentError, errorMessage } from "../../errors.ts";
import { realSystem } from "../../system.ts";
import { findWorkerFile } from "../contained/worker-file.ts";
import type { ScanRoots } from "../workspace-filesystem.ts";
import type { ScanJobName } from "./scan-jobs.ts";

export interface ThreadRequest {
  roots: ScanRoots;
  job: ScanJobName;
  input: unknown;
}

export type ThreadAnswer =
  | { part: unknown }
  | { result: unknown }
  | { failed: { name: string; code: AgentError["code"]; message: string } };

interface ThreadRun {
  /** Ends the thread, and with it the job. */
  signal: AbortSignal;
  onPart?: ((part: never) => void) | undefined;
}

const MOST_THREADS = 4;
const IDLE_MS = 30_000;
const MEMORY_MB = 512;

/**
 * Threads that list and search files with blocking calls, shared by all workspaces of a process. A thread keeps nothing
 * between jobs. Idle ones end after a while and never keep the process alive.
 */
class ScanThreads {
  readonly #size = Math.min(availableParallelism(), MOST_THREADS);
  readonly #idle: { worker: Worker; cancelEnd: () => void }[] = [];
  readonly #waiting: (() => void)[] = [];
  #busy = 0;
  #file: URL | undefined | null = null;

  /** How many jobs can run at once; 0 if the process has no threads. */
  get size(): number {
    this.#file ??= this.#file === null ? findWorkerFile() : undefined;
    return this.#file ? this.#size : 0;
  }

  /** Waits for a thread and runs a job on it. Rejects with the signal's reason if it aborts. */
  async run(request: ThreadRequest, { signal, onPart }: ThreadRun): Promise<unknown> {
    while (this.#busy >= this.#size) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#busy++;
    try {
      signal.throwIfAborted();
      const worker = this.#take();
      try {
        const result = await answerOf(worker, request, signal, onPart as (part: unknown) => void);
        this.#keep(worker);
        return result;
      } catch (error) {
        if (error instanceof JobError) {
          this.#keep(worker);
          throw error.cause;
        }
        void worker.terminate();
        throw error;
      }
    } finally {
      this.#busy--;
      this.#waiting.shift()?.();
    }
  }

  #take(): Worker {
    const idle = this.#idle.pop();
    idle?.cancelEnd();
    if (idle) return idle.worker;
    const file = this.#file!;
    // This process's flags do not apply to the thread: --eval or a debugger would interfere.
    const execArgv = file.pathname.endsWith(".ts") ? ["--conditions=selvedge-source"] : [];
    const resourceLimits = { maxOldGenerationSizeMb: MEMORY_MB };
    return new Worker(file, { execArgv, resourceLimits, name: "selvedge workspace" });
  }

  #keep(worker: Worker): void {
    worker.unref();
    const end = (): void => {
      this.#idle.splice(
        this.#idle.findIndex((one) => one.worker === worker),
        1,
      );
      void worker.terminate();
    };
    this.#idle.push({ worker, cancelEnd: realSystem.setTimer(IDLE_MS, end, { background: true }) });
  }
}

export const scanThreads: ScanThreads = new ScanThreads();

/** A job failed, and its thread can go on. */
class JobError extends Error {}

function answerOf(
  worker: Worker,
  request: ThreadRequest,
  signal: AbortSignal,
  onPart: ((part: unknown) => void) | undefined,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => settle(() => reject(signal.reason as Error));
    const onError = (error: Error): void =>
      settle(() => reject(new AgentError("internal", `The search thread failed: ${errorMessage(error)}`)));
    const onExit = (code: number): void => onError(new Error(`exit code ${code}`));
    const onMessage = (answer: ThreadAnswer): void => {
      if ("part" in answer) onPart?.(answer.part);
      else if ("result" in answer) settle(() => resolve(answer.result));
      else {
        const { name, code, message } = answer.failed;
        const cause = Object.assign(new AgentError(code, message), { name });
        settle(() => reject(new JobError(message, { cause })));
      }
    };
    function settle(outcome: () => void): void {
      signal.removeEventListener("abort", onAbort);
      worker.off("message", onMessage).off("error", onError).off("exit", onExit);
      outcome();
    }
    signal.addEventListener("abort", onAbort);
    worker.on("message", onMessage).on("error", onError).on("exit", onExit);
    worker.ref();
    worker.postMessage(request);
  });
}
