import { MESSAGES, MESSAGE_STEPS, type Write } from "@selvedge/core/storage";
import type { MessagePart, StoredMessage } from "@selvedge/protocol";
import { countTokens } from "./count-tokens.ts";

/** A message after the cursor. */
interface Counted {
  readonly id: string;
  readonly isAssistant: boolean;
  /** Counted on demand, for a message that was read. */
  tokens: number | (() => number);
  /** Whether a call in it has no result. */
  isOpen: boolean;
  /** The tokens of its steps, as far as this run stored them. */
  readonly steps: Map<number, number>;
}

/** What a commit changes, until it takes effect. */
export interface SumsChange {
  tokens: number;
  count: number;
  /** The change is unknown: the sums must be computed again. */
  isUncertain: boolean;
  readonly changed: Map<string, Counted>;
  readonly added: Counted[];
}

/** The messages that a job may cover now. */
export interface ClosedRange {
  /** The last message; `undefined` if there is none. */
  toId: string | undefined;
  /** Tokens of the messages after it, which cannot be covered yet. */
  openTokens: number;
}

/** The cost of a message beyond its parts. */
const EMPTY = countTokens(toMessage("assistant", []));

/** The tokens of a thread's messages after the cursor, counted as they are stored. */
export class MessageSums {
  readonly #known = new Map<string, Counted>();
  /** Messages without a job, in order. */
  #unplanned: Counted[] = [];

  /** Messages in the store, in order; `isPlanned` if they have a job. */
  constructor(stored: readonly { message: StoredMessage; isPlanned: boolean }[] = []) {
    for (const { message, isPlanned } of stored) {
      const { id, role, content } = message;
      const one: Counted = {
        id,
        isAssistant: role === "assistant",
        tokens: () => countTokens(message),
        isOpen: hasOpenCall(content.parts),
        steps: new Map(),
      };
      // Only these may be changed by the run that follows.
      if (one.isOpen) one.tokens = countTokens(message);
      this.#known.set(id, one);
      if (!isPlanned) this.#unplanned.push(one);
    }
  }

  /** What the writes of a commit add to the thread. Nothing counts before `stored`. */
  read(writes: readonly Write[], threadId: string): SumsChange {
    const change: SumsChange = { tokens: 0, count: 0, isUncertain: false, changed: new Map(), added: [] };
    for (const write of writes) {
      if (write.op !== "insert" || write.row["thread_id"] !== threadId) continue;
      if (write.table.name === MESSAGES.name) this.#readMessage(write, change);
      else if (write.table.name === MESSAGE_STEPS.name) this.#readStep(write, change);
    }
    return change;
  }

  #readMessage({ row, onConflict }: Write & { op: "insert" }, change: SumsChange): void {
    const id = row["id"] as string;
    const content = row["content"] as unknown as StoredMessage["content"];
    const before = change.changed.get(id) ?? this.#known.get(id);
    // An existing message stays unchanged.
    if (before && onConflict !== "update") return;
    const tokens = countTokens({ ...toMessage(row["role"] as StoredMessage["role"], []), content });
    const after: Counted = {
      id,
      isAssistant: row["role"] === "assistant",
      tokens,
      isOpen: hasOpenCall(content.parts),
      steps: new Map([[0, tokens - EMPTY]]),
    };
    if (before) change.tokens += tokens - tokensOf(before);
    else {
      change.tokens += tokens;
      change.count++;
      change.added.push(after);
    }
    change.changed.set(id, after);
  }

  #readStep({ row }: Write & { op: "insert" }, change: SumsChange): void {
    const id = row["message_id"] as string;
    const step = row["step"] as number;
    const parts = row["parts"] as unknown as MessagePart[];
    const before = change.changed.get(id) ?? this.#known.get(id);
    const tokens = countTokens(toMessage("assistant", parts)) - EMPTY;
    const replaced = before?.steps.get(step);
    // A step that another process stored while its calls waited is stored again with their results.
    if (!before || (replaced === undefined && before.isOpen)) change.isUncertain = true;
    const added = tokens - (replaced ?? 0);
    change.tokens += added;
    if (!before) return;
    const after: Counted = {
      ...before,
      tokens: tokensOf(before) + added,
      isOpen: hasOpenCall(parts),
      steps: new Map([...before.steps, [step, tokens]]),
    };
    change.changed.set(id, after);
  }

  /** The commit took effect. */
  stored({ changed, added }: SumsChange): void {
    for (const [id, one] of changed) this.#known.set(id, one);
    this.#unplanned = [...this.#unplanned, ...added].map((one) => changed.get(one.id) ?? one);
  }

  /**
   * What can be covered once the change takes effect: whole messages, none of which waits for a result. The assistant
   * message at the end is still being written, unless the run `ends` or it is the one that is `complete`.
   */
  closed(change: SumsChange, at: { ends: boolean; complete: string | undefined }): ClosedRange {
    const all = [...this.#unplanned, ...change.added].map((one) => change.changed.get(one.id) ?? one);
    const isOpen = (one: Counted, index: number): boolean =>
      one.isOpen || (index === all.length - 1 && one.isAssistant && !at.ends && one.id !== at.complete);
    const end = all.findIndex(isOpen);
    const closed = end < 0 ? all : all.slice(0, end);
    const openTokens = end < 0 ? 0 : all.slice(end).reduce((sum, one) => sum + tokensOf(one), 0);
    return { toId: closed.at(-1)?.id, openTokens };
  }

  /** Marks the messages up to this one as covered by a job. */
  planned(toId: string): void {
    const index = this.#unplanned.findIndex(({ id }) => id === toId);
    this.#unplanned = this.#unplanned.slice(index + 1);
  }
}

/** Tokens of parts that a step adds to its message. */
export function countParts(parts: readonly MessagePart[]): number {
  return countTokens(toMessage("assistant", parts)) - EMPTY;
}

export function hasOpenCall(parts: readonly MessagePart[]): boolean {
  return parts.some(
    (part) =>
      part.type === "tool-invocation" &&
      (part.toolInvocation.state === "call" ||
        part.toolInvocation.state === "partial-call" ||
        part.toolInvocation.state === "approval-requested"),
  );
}

function tokensOf({ tokens }: Counted): number {
  return typeof tokens === "number" ? tokens : tokens();
}

function toMessage(role: StoredMessage["role"], parts: readonly MessagePart[]): StoredMessage {
  return { id: "", role, createdAt: new Date(0), content: { format: 2, parts: [...parts] } };
}
