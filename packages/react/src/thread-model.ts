import type { Lane, QueuedMessage, ThreadState } from "@selvedge/protocol/routes";
import type { Approval } from "./approval.ts";
import { fromSignal, type ThreadMessage } from "./thread-message.ts";
import { Transcript } from "./transcript.ts";

export interface ThreadSnapshot {
  readonly status: "loading" | "ready" | "error";
  /** Why the thread cannot be shown. */
  readonly error?: Error;
  readonly connection: "connecting" | "live" | "reconnecting";
  /** Oldest first; messages sent here that are not yet on the thread come last. */
  readonly messages: readonly ThreadMessage[];
  /** Whether there are messages before the first. */
  readonly hasMore: boolean;
  readonly run?: { readonly runId: string; readonly state: "running" | "suspended" };
  /** Why the last run failed. */
  readonly runError?: Error;
  /** Messages queued for separate runs. */
  readonly queue: readonly QueuedMessage[];
  readonly lanes: readonly Lane[];
  /** Calls that wait for a person. */
  readonly approvals: readonly Approval[];
}

/** The state of a thread. Loader, follower and sender change it; it depends on none of them. */
export class ThreadModel {
  readonly transcript: Transcript;
  status: ThreadSnapshot["status"] = "loading";
  error: Error | undefined;
  connection: ThreadSnapshot["connection"] = "connecting";
  hasMore = false;
  run: ThreadSnapshot["run"];
  runError: Error | undefined;
  queue: readonly QueuedMessage[] = [];
  lanes: readonly Lane[] = [];
  approvals: readonly Approval[] = [];
  /** Whether anything may be stored of it. */
  exists: boolean;
  /** Changes with every start and stop, so that work of an earlier start ends at its next check. */
  life: object = {};

  constructor(messages: readonly ThreadMessage[] = [], isNew = false) {
    this.transcript = new Transcript(messages);
    this.exists = !isNew;
  }

  toSnapshot(): ThreadSnapshot {
    return {
      status: this.status,
      ...(this.error && { error: this.error }),
      connection: this.connection,
      messages: this.transcript.view,
      hasMore: this.hasMore,
      ...(this.run && { run: this.run }),
      ...(this.runError && { runError: this.runError }),
      queue: this.queue,
      lanes: this.lanes,
      approvals: this.approvals,
    };
  }

  /** A thread that does not exist yet has no state. */
  takeState(state: ThreadState | undefined): void {
    this.takeQueue(state);
    this.approvals = state?.approvals ?? [];
    const runId = state?.activeRunId ?? undefined;
    this.run =
      state === undefined || state.runState === "idle" || runId === undefined
        ? undefined
        : { runId, state: state.runState };
  }

  /** The part of the state that is not on the stream. */
  takeQueue(state: ThreadState | undefined): void {
    this.lanes = state?.lanes ?? [];
    const waiting = (state?.queue ?? []).filter(({ id }) => !this.transcript.has(id));
    const known = new Set(waiting.map(({ id }) => id));
    const sending = this.queue.filter(({ id, runId }) => runId === "" && !known.has(id));
    this.queue = [...waiting.filter(({ due }) => due === "next"), ...sending];
    for (const { due, signal, runId } of waiting)
      if (due === "now") this.transcript.show({ ...fromSignal(signal, runId), state: "waiting" });
  }

  dropQueued(id: string): void {
    this.queue = this.queue.filter((message) => message.id !== id);
  }

  dropApproval(toolCallId: string): void {
    this.approvals = this.approvals.filter((approval) => approval.toolCallId !== toolCallId);
  }
}
