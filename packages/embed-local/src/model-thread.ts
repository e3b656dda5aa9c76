import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { AgentError, errorMessage } from "@selvedge/core/errors";
import type { Runner } from "./model-pool.ts";

/** A thread's response to a batch of texts. */
export type Answer = { vectors: Float32Array } | { failed: { code: AgentError["code"]; message: string } };

/**
 * A thread that loads the model and computes. It keeps the process alive only while computing. After any failure it is
 * unusable.
 */
export class ModelThread implements Runner {
  readonly #worker: Worker;
  #waiting: PromiseWithResolvers<Float32Array> | undefined;
  #failure: AgentError | undefined;

  constructor(file: URL) {
    // This process's flags do not apply to the thread: --eval or a debugger would interfere.
    const execArgv = file.pathname.endsWith(".ts") ? ["--conditions=selvedge-source"] : [];
    try {
      this.#worker = new Worker(file, { execArgv, name: "selvedge embedder" });
    } catch (cause) {
      const message = `The local embedder could not start a thread: ${errorMessage(cause)}`;
      throw new AgentError("model-failed", message, { cause });
    }
    this.#worker.on("message", (answer: Answer) => this.#hear(answer));
    this.#worker.on("messageerror", (error) => this.#fail(error.message));
    this.#worker.on("error", (error) => this.#fail(errorMessage(error)));
    this.#worker.on("exit", (code) => this.#fail(`exit code ${code}`));
  }

  run(texts: readonly string[]): Promise<Float32Array> {
    if (this.#failure) return Promise.reject(this.#failure);
    this.#waiting = Promise.withResolvers();
    this.#worker.ref();
    this.#worker.postMessage(texts);
    return this.#waiting.promise;
  }

  end(): void {
    this.#fail("it was ended");
    void this.#worker.terminate();
  }

  #hear(answer: Answer): void {
    this.#worker.unref();
    if ("vectors" in answer) this.#waiting?.resolve(answer.vectors);
    else this.#waiting?.reject(new AgentError(answer.failed.code, answer.failed.message));
    this.#waiting = undefined;
  }

  #fail(reason: string): void {
    this.#failure ??= new AgentError(
      "model-failed",
      `The thread of the local embedder stopped (${reason}). Call embed again to start a new one.`,
    );
    this.#waiting?.reject(this.#failure);
    this.#waiting = undefined;
  }
}

/**
 * The file that a thread runs, from source or as built. Undefined if this code was bundled into another file, or if the
 * process may not start threads.
 */
export function findWorkerFile(): URL | undefined {
  const permission = process.permission as typeof process.permission | undefined;
  if (permission && !permission.has("worker")) return undefined;
  const from = import.meta.url as string | undefined;
  if (!from?.startsWith("file:")) return undefined;
  const file = new URL(from.endsWith(".ts") ? "./model-worker.ts" : "./model-worker.js", from);
  return existsSync(file) ? file : undefined;
}
