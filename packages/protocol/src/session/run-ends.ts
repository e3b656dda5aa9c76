import type { AgentChunk } from "../chunk.ts";
import type { AgentControllerEvent, EventOf } from "./events.ts";

export type RunEnd = {
  reason: EventOf<"agent_end">["reason"];
  couldNotStart: Error | undefined;
};

const REMEMBERED = 100;
const LEFT: RunEnd = { reason: "aborted", couldNotStart: undefined };

/** How the runs of a thread end, for callers that wait for them. */
export class RunEnds {
  readonly #ends = new Map<string, RunEnd>();
  readonly #waiters = new Map<string, ((end: RunEnd) => void)[]>();
  /** The last run that asked a model, and the last error of the run under way. */
  #asked: string | undefined;
  #error: Error | undefined;
  #epoch = 0;

  /** Rises whenever the thread is left. Ask for it before a run begins. */
  get epoch(): number {
    return this.#epoch;
  }

  /** How a run ends, or comes to wait. Of one that began before the thread was left nothing is heard. */
  of(runId: string, epoch: number = this.#epoch): Promise<RunEnd> {
    if (epoch !== this.#epoch) return Promise.resolve(LEFT);
    const known = this.#ends.get(runId);
    if (known) return Promise.resolve(known);
    return new Promise((resolve) => {
      this.#waiters.set(runId, [...(this.#waiters.get(runId) ?? []), resolve]);
    });
  }

  /** Before the events that come of it. */
  takeChunk({ type, runId }: AgentChunk): void {
    if (type === "step-start") this.#asked = runId;
  }

  takeEvent(event: AgentControllerEvent): void {
    if (event.type === "error") this.#error = event.error;
    else if (event.type === "agent_start") {
      this.#error = undefined;
      // One that waited ends once more.
      this.#ends.delete(event.runId);
    } else if (event.type === "agent_end") this.#ended(event);
  }

  /** Releases all waiting callers. The runs continue. */
  leave(): void {
    this.#epoch++;
    for (const resolvers of this.#waiters.values()) for (const resolve of resolvers) resolve(LEFT);
    this.#waiters.clear();
  }

  #ended({ runId, reason }: EventOf<"agent_end">): void {
    const failed = reason === "error" && this.#asked !== runId;
    const end = { reason, couldNotStart: failed ? this.#error : undefined };
    this.#ends.set(runId, end);
    if (this.#ends.size > REMEMBERED) this.#ends.delete(this.#ends.keys().next().value!);
    for (const resolve of this.#waiters.get(runId) ?? []) resolve(end);
    this.#waiters.delete(runId);
  }
}
