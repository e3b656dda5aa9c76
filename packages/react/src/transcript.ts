import { errorFromWire } from "@selvedge/client-js";
import type { AgentChunk, MessagePart } from "@selvedge/protocol";
import type { Wire, WireMessage, WireSignal } from "@selvedge/protocol/routes";
import { AnswerBuilder } from "./answer-builder.ts";
import { fromSignal, fromStored, type ThreadMessage } from "./thread-message.ts";

const CALL_CHUNKS: ReadonlySet<string> = new Set([
  "tool-result",
  "tool-error",
  "tool-output-denied",
  "tool-call-approval",
]);

/**
 * The messages of a thread, from what is stored and what is streamed. Both name a message by the same id: the store is
 * the truth about what is over, the stream about what is being written.
 *
 *     confirmed  in the order of the thread; the last ones may be streaming
 *     pending    shown by this client, until their echo says where on the thread they stand
 */
export class Transcript {
  #confirmed: ThreadMessage[] = [];
  #pending: ThreadMessage[] = [];
  #builders = new Map<string, AnswerBuilder>();
  /** The answer that chunks are added to. */
  #currentId: string | undefined;
  #dirty = new Set<string>();
  #view: readonly ThreadMessage[] = [];
  #changed = false;
  /** When each message was last changed by a chunk, in chunks. */
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

  /** A time to compare with: what a reader of the store began to read now does not overrule later chunks. */
  get clock(): number {
    return this.#clock;
  }

  /** How many messages are surely stored. */
  get doneCount(): number {
    return this.#confirmed.filter(({ state }) => state === "done").length;
  }

  /** Whether a message has its place on the thread. */
  has(id: string): boolean {
    return this.#confirmed.some((message) => message.id === id);
  }

  /** The stream was left: nothing is being written any more, as far as we know. */
  rest(): void {
    this.#settle();
    this.#builders.clear();
    this.#currentId = undefined;
    this.#confirmed = this.#confirmed.map((message) =>
      message.state === "streaming" ? { ...message, state: "done" } : message,
    );
    this.#changed = true;
  }

  set(messages: readonly ThreadMessage[]): void {
    this.#confirmed = [...messages];
    this.#pending = [];
    this.#builders.clear();
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

  /** Changes a shown message, unless it has its place on the thread by now. */
  change(id: string, change: Partial<ThreadMessage>): void {
    this.#pending = this.#pending.map((message) => (message.id === id ? { ...message, ...change } : message));
    this.#changed = true;
  }

  withdraw(id: string): void {
    this.#pending = this.#pending.filter((message) => message.id !== id);
    this.#changed = true;
  }

  /** Gives a shown message its place: after everything so far. */
  confirm(message: ThreadMessage): void {
    this.#clock++;
    this.#touched.set(message.id, this.#clock);
    this.#pending = this.#pending.filter(({ id }) => id !== message.id);
    const at = this.#confirmed.findIndex(({ id }) => id === message.id);
    if (at === -1) this.#confirmed = [...this.#confirmed, message];
    this.#changed = true;
  }

  /**
   * Takes in a chunk. `rebuild`: the run is read from its start, so an answer that the store gave in part begins anew.
   */
  take(chunk: AgentChunk, rebuild: boolean): void {
    this.#clock++;
    switch (chunk.type) {
      case "data-user-message":
      case "data-signal":
        this.confirm(fromSignal(chunk.data as WireSignal, chunk.runId));
        this.#currentId = undefined;
        return;
      case "step-start":
        this.#begin(chunk.payload.messageId ?? chunk.runId, chunk.runId, rebuild);
        break;
      case "finish":
      case "abort":
        this.#end(chunk.runId, chunk.type === "abort" ? { metadata: { incomplete: true } } : {});
        return;
      case "error":
        this.#end(chunk.runId, { state: "failed", error: errorFromWire(chunk.payload.error) });
        return;
    }
    const id = CALL_CHUNKS.has(chunk.type) ? this.#messageOfCall(chunk) : this.#currentId;
    const builder = id === undefined ? undefined : this.#builderOf(id);
    if (id === undefined || !builder) return;
    builder.take(chunk);
    this.#touched.set(id, this.#clock);
    this.#dirty.add(id);
  }

  /** Brings in the newest stored messages, as they were at `clock`. Answers whether older ones are shown no longer. */
  merge(page: readonly WireMessage[], clock: number): boolean {
    const ours = new Map(this.view.map((message) => [message.id, message]));
    const stored = page.map((message) => {
      const known = ours.get(message.id);
      const newer = (this.#touched.get(message.id) ?? -1) > clock || known?.state === "streaming";
      if (known && newer) return known;
      this.#builders.delete(message.id);
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
      // Nothing in common: what is left is what came while the page was read.
      return last !== -1 || (this.#touched.get(id) ?? -1) > clock;
    });
    this.#confirmed = [...older, ...stored, ...newer];
    this.#pending = this.#pending.filter(({ id }) => !inPage.has(id));
    this.#changed = true;
    return older.length === 0;
  }

  /** Puts an older page before everything. Answers whether it held anything new. */
  prepend(page: readonly WireMessage[]): boolean {
    const known = new Set(this.#confirmed.map(({ id }) => id));
    const older = page.filter(({ id }) => !known.has(id)).map(fromStored);
    this.#confirmed = [...older, ...this.#confirmed];
    this.#changed = true;
    return older.length > 0;
  }

  /** Gives the answers that have changed their new parts. */
  #settle(): void {
    if (this.#dirty.size === 0) return;
    this.#confirmed = this.#confirmed.map((message) => {
      const builder = this.#dirty.has(message.id) ? this.#builders.get(message.id) : undefined;
      return builder ? { ...message, parts: builder.parts } : message;
    });
    this.#dirty.clear();
    this.#changed = true;
  }

  #begin(id: string, runId: string, rebuild: boolean): void {
    this.#currentId = id;
    const at = this.#confirmed.findIndex((message) => message.id === id);
    if (at === -1) {
      this.#builders.set(id, new AnswerBuilder());
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
      if (!this.#builders.has(id))
        this.#builders.set(id, new AnswerBuilder(rebuild ? [] : (message.parts as Wire<MessagePart>[])));
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

  #messageOfCall(chunk: AgentChunk): string | undefined {
    const { toolCallId } = (chunk as { payload: { toolCallId: string } }).payload;
    if (this.#currentId !== undefined && this.#builderOf(this.#currentId)?.hasCall(toolCallId))
      return this.#currentId;
    return this.#confirmed.findLast((message) => this.#builderOf(message.id)?.hasCall(toolCallId))?.id;
  }

  #builderOf(id: string): AnswerBuilder | undefined {
    const builder = this.#builders.get(id);
    if (builder) return builder;
    const message = this.#confirmed.find((each) => each.id === id);
    if (message?.role !== "assistant") return undefined;
    const fresh = new AnswerBuilder(message.parts);
    this.#builders.set(id, fresh);
    return fresh;
  }
}
