import type { AgentThreadSubscription } from "@selvedge/core/agent";
import type { AgentChunk } from "@selvedge/protocol";

type NumberedChunk = AgentChunk & { seq: number };

const AT_ONCE = 64;

/** A finished run, as its reader sees it: the number of its last stored chunk, and how it ended. */
export interface RunOver {
  lastSeq: number;
  /** For a run that ended without a chunk on the thread. */
  lastChunk?: AgentChunk | undefined;
}

/** The chunks of one run on a thread, to its last. */
export class RunEvents {
  readonly #subscription: AgentThreadSubscription;
  readonly #runId: string;
  readonly #over: Promise<RunOver>;
  #ended: RunOver | undefined;
  #reading: Promise<readonly NumberedChunk[]> | undefined;
  #done = false;

  /** `over` resolves when the run ends. If only the thread can tell, it never resolves. */
  constructor(subscription: AgentThreadSubscription, runId: string, over: Promise<RunOver>) {
    this.#subscription = subscription;
    this.#runId = runId;
    this.#over = over.then((ended) => (this.#ended = ended));
    this.#over.catch(() => {});
  }

  get after(): number {
    return this.#subscription.after;
  }

  /** The next chunks; none at the end. */
  async next(): Promise<readonly AgentChunk[]> {
    for (;;) {
      if (this.#done) return [];
      if (this.#ended && this.#subscription.after >= this.#ended.lastSeq) return this.#close();
      this.#reading ??= this.#subscription.read(AT_ONCE);
      const read = await (this.#ended ? this.#reading : Promise.race([this.#reading, this.#over]));
      if (!Array.isArray(read)) continue;
      this.#reading = undefined;
      if (read.length === 0) return this.#close();
      const mine = (read as readonly NumberedChunk[]).filter((chunk) => chunk.runId === this.#runId);
      const last = mine.findIndex(isLast);
      if (last >= 0) this.#done = true;
      if (mine.length > 0) return last >= 0 ? mine.slice(0, last + 1) : mine;
    }
  }

  leave(): void {
    this.#done = true;
    this.#subscription.unsubscribe();
  }

  #close(): readonly AgentChunk[] {
    this.#done = true;
    return this.#ended?.lastChunk ? [this.#ended.lastChunk] : [];
  }
}

/** Whether a run ends with this chunk or waits for a person. */
export function isLast(chunk: AgentChunk): boolean {
  return chunk.type === "finish" || chunk.type === "abort" || chunk.type === "error";
}
