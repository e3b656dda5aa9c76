/** A run and its agent. The agent of a run known only from elsewhere is unknown. */
export interface RunOfAgent {
  runId: string;
  agentId: string | undefined;
}

/** What a process knows about the active run of a thread, for answers that cannot wait for the store. */
export class KnownRun {
  #active: RunOfAgent | undefined;
  /** The run that a send of this process is about to open. */
  #reserved: RunOfAgent | undefined;
  #abort: (() => void) | undefined;
  /** A run that stops as it starts here. */
  #abortWanted: string | undefined;

  /** The run that a message joins: the active one, or one that is about to be opened here. */
  get current(): RunOfAgent | undefined {
    return this.#active ?? this.#reserved;
  }

  /** The active run according to the store, as far as known. */
  get active(): RunOfAgent | undefined {
    return this.#active;
  }

  /** Called when the thread's row was read. What is known here is newer. */
  heardOf(runId: string | undefined): void {
    if (runId !== undefined) this.#active ??= { runId, agentId: undefined };
  }

  /** Called when the store was read. */
  found(run: RunOfAgent | undefined): void {
    this.#active = run;
    if (run) this.#reserved = undefined;
  }

  /** Nothing here is about to open a run. */
  dropReserved(): void {
    this.#reserved = undefined;
  }

  /** Returns a function that cancels the reservation. */
  reserve(runId: string, agentId: string): () => void {
    this.#reserved = { runId, agentId };
    return () => {
      if (this.#reserved?.runId === runId) this.#reserved = undefined;
    };
  }

  /** From here on a run can be aborted; if an abort was requested before, it stops now. */
  canAbort(runId: string, abort: () => void): void {
    this.#abort = abort;
    if (this.#abortWanted === runId) abort();
  }

  /** Another process asked for a run to be aborted. */
  abortHere(runId: string): void {
    if (this.#active?.runId !== runId) return;
    this.#abortWanted = runId;
    this.#abort?.();
  }

  /** Aborts the run, if this process can. Returns the run that another process must abort. */
  abort(isHere: boolean): string | undefined {
    const runId = this.current?.runId;
    if (this.#active && this.#abort) this.#abort();
    else {
      this.#abortWanted = runId;
      if (this.#active && !isHere) return runId;
    }
    return undefined;
  }

  /** The run left this process. One that waits for a person stays the active one. */
  left(waits: boolean): void {
    this.#abort = undefined;
    this.#abortWanted = undefined;
    if (!waits) this.#active = undefined;
  }
}
