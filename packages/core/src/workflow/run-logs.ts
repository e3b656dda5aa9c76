import type { Storage } from "../storage/storage.ts";
import type { System } from "../system.ts";
import { RunLog } from "./run-log.ts";

/** The logs that someone in this process reads or writes. */
export class RunLogs {
  readonly #storage: Storage;
  readonly #system: System;
  readonly #logs = new Map<string, RunLog>();

  constructor(storage: Storage, system: System) {
    this.#storage = storage;
    this.#system = system;
  }

  of(runId: string): RunLog {
    let log = this.#logs.get(runId);
    if (!log) {
      log = new RunLog(this.#storage, this.#system, runId, () => this.#logs.delete(runId));
      this.#logs.set(runId, log);
    }
    return log;
  }

  /** The events of a run were replaced or deleted. */
  refresh(runId: string): void {
    this.#logs.get(runId)?.tail.refresh();
  }

  /** The store may have more events of these runs. */
  areBehind(which: (runId: string) => boolean): void {
    for (const { runId, tail } of this.#logs.values()) if (which(runId)) tail.behind();
  }

  /** Readers look again: the process closes. */
  wakeAll(): void {
    for (const log of this.#logs.values()) log.tail.wake();
  }
}
