import type { MessagePart, StoredMessage } from "@selvedge/protocol";
import { type MessagesInput, toStoredMessages } from "./message-input.ts";
import type { System } from "../system.ts";
import type { ModelMessage, ModelPrompt } from "./model-message.ts";
import { type SystemMessage, toSystemMessages } from "./system-message.ts";
import { partsToModelMessages, toModelMessages } from "./to-model-messages.ts";
import { toUIMessage, type UIMessage } from "./to-ui-message.ts";

/**
 * Where a message comes from. `memory` and `context` are read and never stored again; `feedback` is a processor's note
 * to the model about a rejected answer.
 */
export type MessageSource = "memory" | "context" | "input" | "response" | "feedback";

interface Entry {
  message: StoredMessage;
  source: MessageSource;
  /** The converted form for the model; dropped whenever the message may have changed. */
  model: ModelMessage[] | undefined;
}

interface MessageListSnapshot {
  readonly entries: readonly Omit<Entry, "model">[];
  readonly system: readonly SystemMessage[];
}

export interface MessageView {
  /** The messages in stored form. */
  db(): StoredMessage[];
  /** The messages as the model reads them. */
  model(): ModelMessage[];
  /** The messages for a UI of the AI SDK. */
  ui(): UIMessage[];
  /** The older place of `model()` and `ui()`. */
  aiV5: { model(): ModelMessage[]; ui(): UIMessage[] };
}

/**
 * The messages of one run, in the order the model reads them: memory, context, input, response. Each message and each
 * step's parts are converted once, so a step costs only what it added.
 */
export class MessageList {
  readonly #make: Pick<System, "newId" | "now">;
  readonly #entries: Entry[] = [];
  #system: SystemMessage[] = [];

  /** Views by source: `messageList.get.all.db()`. */
  readonly get: Record<"all" | "remembered" | "context" | "input" | "response", MessageView> = {
    all: new EntryView(this.#entries, undefined),
    remembered: new EntryView(this.#entries, "memory"),
    context: new EntryView(this.#entries, "context"),
    input: new EntryView(this.#entries, "input"),
    response: new EntryView(this.#entries, "response"),
  };

  constructor(make: Pick<System, "newId" | "now">) {
    this.#make = make;
  }

  /** Appends messages of a source. A message whose id is present stays unchanged. */
  add(input: MessagesInput, source: MessageSource): this {
    const known = new Set(this.#entries.map((entry) => entry.message.id));
    const fresh = toStoredMessages(input, this.#make).filter((message) => !known.has(message.id));
    const entries = fresh.map((message): Entry => ({ message, source, model: undefined }));
    this.#entries.splice(this.#endOf(source), 0, ...entries);
    return this;
  }

  /** Prepends remembered messages: they are older than everything in the list. */
  prepend(messages: StoredMessage[]): this {
    const known = new Set(this.#entries.map((entry) => entry.message.id));
    const fresh = messages.filter((message) => !known.has(message.id));
    this.#entries.unshift(
      ...fresh.map((message): Entry => ({ message, source: "memory", model: undefined })),
    );
    return this;
  }

  /** Appends a message after everything else. */
  append(message: StoredMessage, source: MessageSource): this {
    this.#entries.push({ message, source, model: undefined });
    return this;
  }

  /** Adds a step's output to a response message, converting only those parts. */
  appendResponse(message: StoredMessage, parts: readonly MessagePart[]): void {
    let entry = this.#entries.at(-1);
    if (entry?.message.id !== message.id) {
      entry = {
        message: { ...message, content: { ...message.content, parts: [] } },
        source: "response",
        model: [],
      };
      this.#entries.push(entry);
    }
    // One by one: there may be more than a call can have arguments.
    for (const part of parts) entry.message.content.parts.push(part);
    if (entry.model) for (const one of partsToModelMessages(parts)) entry.model.push(one);
  }

  /** Replaces the list with these messages. Known ids keep their source; unknown ones get `source`. */
  replace(messages: StoredMessage[], source: MessageSource): this {
    const sources = new Map(this.#entries.map((entry) => [entry.message.id, entry.source]));
    const stored = messages.flatMap((message) =>
      message?.content?.format === 2 ? message : toStoredMessages(message, this.#make),
    );
    const entries = stored.map((message): Entry => ({
      message,
      source: sources.get(message.id) ?? source,
      model: undefined,
    }));
    this.#entries.splice(0, this.#entries.length, ...entries);
    return this;
  }

  removeByIds(ids: string[]): void {
    const gone = new Set(ids);
    const kept = this.#entries.filter((entry) => !gone.has(entry.message.id));
    this.#entries.splice(0, this.#entries.length, ...kept);
  }

  /** Call this after passing messages to code that may change them in place. */
  invalidate(): void {
    for (const entry of this.#entries) entry.model = undefined;
  }

  /** A snapshot of the list, unaffected by later changes. */
  snapshot(): MessageListSnapshot {
    const entries = this.#entries.map(({ message, source }) => ({
      message: { ...message, content: { ...message.content, parts: [...message.content.parts] } },
      source,
    }));
    return { entries, system: [...this.#system] };
  }

  restore({ entries, system }: MessageListSnapshot): void {
    const restored = entries.map((entry): Entry => ({ ...entry, model: undefined }));
    this.#entries.splice(0, this.#entries.length, ...restored);
    this.#system = [...system];
  }

  getSystemMessages(): SystemMessage[] {
    return this.#system;
  }

  setSystemMessages(messages: SystemMessage[]): void {
    this.#system = messages;
  }

  addSystem(message: string | SystemMessage): void {
    this.#system.push(...toSystemMessages(message));
  }

  /** The whole prompt: system messages, then everything else. */
  toPrompt(): ModelPrompt {
    const prompt: ModelPrompt = [...this.#system];
    for (const entry of this.#entries) {
      entry.model ??= toModelMessages(entry.message);
      for (const message of entry.model) prompt.push(message);
    }
    return prompt;
  }

  #endOf(source: MessageSource): number {
    const rank = RANK[source];
    let index = this.#entries.length;
    while (index > 0 && RANK[(this.#entries[index - 1] as Entry).source] > rank) index--;
    return index;
  }
}

/** The entries of one source, or all. */
class EntryView implements MessageView {
  readonly #entries: readonly Entry[];
  readonly #source: MessageSource | undefined;

  constructor(entries: readonly Entry[], source: MessageSource | undefined) {
    this.#entries = entries;
    this.#source = source;
  }

  db(): StoredMessage[] {
    return this.#picked().map((entry) => entry.message);
  }

  model(): ModelMessage[] {
    return this.#picked().flatMap((entry) => (entry.model ??= toModelMessages(entry.message)));
  }

  ui(): UIMessage[] {
    return this.#picked().map((entry) => toUIMessage(entry.message));
  }

  get aiV5(): this {
    return this;
  }

  #picked(): readonly Entry[] {
    const source = this.#source;
    return source ? this.#entries.filter((entry) => entry.source === source) : this.#entries;
  }
}

const RANK: Record<MessageSource, number> = { memory: 0, context: 1, input: 2, response: 3, feedback: 3 };
