import type { NumberedWorkflowChunk, WorkflowChunk } from "@selvedge/protocol";

/** Passes the events of a run to a function, from the moment it is created. */
export class RunWatcher {
  readonly #callback: (chunk: WorkflowChunk) => void;
  readonly #over = Promise.withResolvers<void>();
  #reader: AsyncIterableIterator<NumberedWorkflowChunk> | undefined;
  #seen = 0;
  #isOver = false;
  #waiting: { seq: number; resolve: () => void }[] = [];

  /** `from` is the number of the last event before it. */
  constructor(
    from: Promise<number>,
    read: (after: number) => AsyncIterableIterator<NumberedWorkflowChunk>,
    callback: (chunk: WorkflowChunk) => void,
  ) {
    this.#callback = callback;
    void this.#run(from, read)
      .catch(() => {})
      .finally(() => this.stop());
  }

  /** Resolves when every event up to this number was passed on, or the watching is over. */
  reached(seq: number): Promise<void> {
    if (this.#isOver || this.#seen >= seq) return Promise.resolve();
    return Promise.race([
      this.#over.promise,
      new Promise<void>((resolve) => this.#waiting.push({ seq, resolve })),
    ]);
  }

  stop(): void {
    this.#isOver = true;
    this.#over.resolve();
    void this.#reader?.return?.();
  }

  async #run(
    from: Promise<number>,
    read: (after: number) => AsyncIterableIterator<NumberedWorkflowChunk>,
  ): Promise<void> {
    this.#seen = await from;
    if (this.#isOver) return;
    this.#reader = read(this.#seen);
    for await (const chunk of this.#reader) {
      if (this.#isOver) return;
      this.#callback(chunk);
      this.#seen = chunk.seq;
      for (const { seq, resolve } of this.#waiting) if (seq <= chunk.seq) resolve();
      this.#waiting = this.#waiting.filter(({ seq }) => seq > chunk.seq);
    }
  }
}
