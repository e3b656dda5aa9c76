import { errorFromWire } from "@selvedge/client-js";
import { type AgentChunk, LiveAnswer } from "@selvedge/protocol";
import type { WireMessage, WireSignal } from "@selvedge/protocol/routes";
import { fromSignal, fromStored, type ThreadMessage } from "./thread-message.ts";

/**
 * The messages of a thread, from store and stream. Both identify a message by the same id: the store is authoritative
 * for finished messages, the stream for those in progress.
 *
 * confirmed  in thread order; the last ones may be streaming
 * pending    shown by this client, until their echo tells their position on the thread
 */
export class Transcript {
  #confirmed: ThreadMessage[] = [];
  #pending: ThreadMessage[] = [];
  readonly #answers = new Map<string, LiveAnswer>();
  /** The answer that chunks are added to. */
  #currentId: string | undefined;
  #dirty = new Set<string>();
  #view: readonly ThreadMessage[] = [];
  #changed = false;
  /** When each message was last changed by a chunk, counted in chunks. */
  #clock = 0;
  readonly #touched = new Map<string, number>();

  constructor(messages: readonly ThreadMessage[] = []) {
    this.set(messages);
  }

  /** All messages, oldest first. The same array until something changes. */
  get view(): readonly ThreadMessage[] {
    this.#settle();
    if (this.#changed) {
      this.#changed = false;
      this.#view = [...this.#confirmed, ...this.#pending];
    }
    return this.#view;
  }

  /** A time for comparison: a store read that started now does not override later chunks. */
  get clock(): number {
    return this.#clock;
  }

  /** How many messages are known to be stored. */
  get doneCount(): number {
    return this.#confirmed.filter(({ state }) => state === "done").length;
  }

  /** Whether a message has its position on the thread. */
  has(id: string): boolean {
    return this.#confirmed.some((message) => message.id === id);
  }

  /** Call this when the stream is left: nothing is known to be in progress any more. */
  rest(): void {
    this.#settle();
    this.#answers.clear();
    this.#currentId = undefined;
    this.#confirmed = this.#confirmed.map((message) =>
      message.state === "streaming" ? { ...message, state: "done" } : message,
    );
    this.#changed = true;
  }

  set(messages: readonly ThreadMessage[]): void {
    this.#confirmed = [...messages];
    this.#pending = [];
    this.#answers.clear();
    this.#touched.clear();
    this.#dirty.clear();
    this.#currentId = undefined;
    this.#changed = true;
  }

  /** Shows a message before the server has it. */
  show(message: ThreadMessage): void {
    this.#pending = [...this.#pending.filter(({ id }) => id !== message.id), message];
    this.#changed = true;
  }

  /** Changes a pending message, unless it has its position on the thread. */
  change(id: string, change: Partial<ThreadMessage>): void {
    this.#pending = this.#pending.map((message) => (message.id === id ? { ...message, ...change } : message));
    this.#changed = true;
  }

  withdraw(id: string): void {
    this.#pending = this.#pending.filter((message) => message.id !== id);
    this.#changed = true;
  }

  /** Gives a pending message its position: after everything else. */
  confirm(message: ThreadMessage): void {
    this.#clock++;
    this.#touched.set(message.id, this.#clock);
    this.#pending = this.#pending.filter(({ id }) => id !== message.id);
    const at = this.#confirmed.findIndex(({ id }) => id === message.id);
    if (at === -1) this.#confirmed = [...this.#confirmed, message];
    this.#changed = true;
  }

  /** Applies a chunk. `rebuild`: the run is read from its start, so a partly stored answer starts again. */
  take(chunk: AgentChunk, rebuild: boolean): void {
    this.#clock++;
    if (chunk.type === "data-user-message" || chunk.type === "data-signal") {
      this.confirm(fromSignal(chunk.data as WireSignal, chunk.runId));
      this.#currentId = undefined;
      return;
    }
    if (chunk.type === "step-start") this.#begin(chunk.payload.messageId, chunk.runId, rebuild);
    const id = this.#currentId ?? this.#messageOfCall(chunk);
    if (id !== undefined && this.#answerOf(id)?.take(chunk) !== undefined) this.#touch(id);
    if (chunk.type === "abort") this.#end(chunk.runId, { metadata: { incomplete: true } });
    else if (chunk.type === "error")
      this.#end(chunk.runId, { state: "failed", error: errorFromWire(chunk.payload.error) });
    else if (chunk.type === "finish") this.#end(chunk.runId, {});
    // The same answer continues once the call is decided.
    if (chunk.type === "finish" && chunk.payload.stepResult.reason === "suspended") this.#currentId = id;
  }

  /** Merges the newest stored messages, as of `clock`. Returns whether older ones are no longer shown. */
  merge(page: readonly WireMessage[], clock: number): boolean {
    const ours = new Map(this.view.map((message) => [message.id, message]));
    const stored = page.map((message) => {
      const known = ours.get(message.id);
      const newer = (this.#touched.get(message.id) ?? -1) > clock || known?.state === "streaming";
      if (known && newer) return known;
      this.#answers.delete(message.id);
      const fresh = fromStored(message);
      return {
        ...fresh,
        ...(known?.runId !== undefined && { runId: known.runId }),
        ...(known?.state === "failed" && known.error && { state: known.state, error: known.error }),
      };
    });
    const inPage = new Set(stored.map(({ id }) => id));
    const first = this.#confirmed.findIndex(({ id }) => inPage.has(id));
    const last = this.#confirmed.findLastIndex(({ id }) => inPage.has(id));
    const older = first === -1 ? [] : this.#confirmed.slice(0, first);
    const newer = this.#confirmed.slice(last + 1).filter(({ id }) => {
      // No overlap: only what arrived while the page was read remains.
      return last !== -1 || (this.#touched.get(id) ?? -1) > clock;
    });
    this.#confirmed = [...older, ...stored, ...newer];
    this.#pending = this.#pending.filter(({ id }) => !inPage.has(id));
    this.#changed = true;
    return older.length === 0;
  }

  /** Prepends an older page. Returns whether it contained anything new. */
  prepend(page: readonly WireMessage[]): boolean {
    const known = new Set(this.#confirmed.map(({ id }) => id));
    const older = page.filter(({ id }) => !known.has(id)).map(fromStored);
    this.#confirmed = [...older, ...this.#confirmed];
    this.#changed = true;
    return older.length > 0;
  }

  #touch(id: string): void {
    this.#touched.set(id, this.#clock);
    this.#dirty.add(id);
  }

  /** Updates the parts of changed answers. An empty answer is not shown. */
  #settle(): void {
    if (this.#dirty.size === 0) return;
    this.#confirmed = this.#confirmed.flatMap((message) => {
      const answer = this.#dirty.has(message.id) ? this.#answers.get(message.id) : undefined;
      if (!answer) return [message];
      return answer.parts.length > 0 ? [{ ...message, parts: answer.parts }] : [];
    });
    this.#dirty.clear();
    this.#changed = true;
  }

  #begin(id: string, runId: string, rebuild: boolean): void {
    const left = this.#currentId;
    // Its process died during a step: another process writes that step again, as another message.
    if (left !== undefined && left !== id && this.#answers.get(left)?.dropStep() !== undefined)
      this.#touch(left);
    this.#currentId = id;
    const at = this.#confirmed.findIndex((message) => message.id === id);
    if (at === -1) {
      this.#answers.set(id, new LiveAnswer());
      const message: ThreadMessage = {
        id,
        role: "assistant",
        createdAt: new Date().toISOString(),
        parts: [],
        runId,
        state: "streaming",
      };
      this.#confirmed = [...this.#confirmed, message];
    } else {
      const message = this.#confirmed[at] as ThreadMessage;
      if (!this.#answers.has(id)) this.#answers.set(id, new LiveAnswer(rebuild ? [] : message.parts));
      this.#confirmed = this.#confirmed.with(at, { ...message, runId, state: "streaming" });
    }
    this.#changed = true;
  }

  #end(runId: string, change: Partial<ThreadMessage>): void {
    this.#currentId = undefined;
    this.#confirmed = this.#confirmed.map((message) =>
      message.runId === runId && message.state === "streaming"
        ? {
            ...message,
            state: "done",
            ...change,
            ...(change.metadata && { metadata: { ...message.metadata, ...change.metadata } }),
          }
        : message,
    );
    this.#changed = true;
  }

  /** For readers that started in the middle: the answer that contains the chunk's call. */
  #messageOfCall(chunk: AgentChunk): string | undefined {
    const { toolCallId } = Object("payload" in chunk && chunk.payload) as { toolCallId?: string };
    if (toolCallId === undefined) return undefined;
    return this.#confirmed.findLast(({ id }) => this.#answerOf(id)?.answer.calls.has(toolCallId))?.id;
  }

  #answerOf(id: string): LiveAnswer | undefined {
    const answer = this.#answers.get(id);
    if (answer) return answer;
    const message = this.#confirmed.find((each) => each.id === id);
    if (message?.role !== "assistant") return undefined;
    const fresh = new LiveAnswer(message.parts);
    this.#answers.set(id, fresh);
    return fresh;
  }
}
