import type {
  AgentControllerDisplayState,
  AgentControllerEvent,
  AgentControllerMessage,
  AgentControllerMessageContent,
} from "@selvedge/protocol/session";
import type { DiffLine } from "@selvedge/protocol";
import { oneLine, printable } from "./printable.ts";
import { hasExitCode, type ShownCall } from "./tool-call.ts";

/** A piece of a conversation, ready to be shown. */
export type Block = (
  | { kind: "user" | "text" | "thinking" | "signal" | "info" | "error"; text: string }
  | { kind: "tool"; call: ShownCall }
) & {
  /** Unique in the conversation, and stable. */
  id: string;
  /** The message it belongs to. */
  entry: string;
  /** It does not change any more. */
  isFinal: boolean;
};

interface Entry {
  id: string;
  /** A message that was closed and goes on later comes in pieces. */
  pieces: AgentControllerMessage[];
  isOpen: boolean;
  /** Notes, each after so many parts of the message. */
  notes: { after: number; note: Block }[];
}

type Waiting = Pick<AgentControllerDisplayState, "pendingApprovals" | "pendingSuspensions">;

/** A conversation as a chat shows it: stored messages, what comes after them, and notes for the person in front of it. */
export class Transcript {
  #entries: Entry[] = [];
  readonly #results = new Map<string, { result: unknown; isError: boolean }>();
  /** What calls change, by their ids. */
  readonly diffs: Map<string, readonly DiffLine[]> = new Map();
  #notes = 0;

  clear(): void {
    this.#entries = [];
    this.#results.clear();
    this.diffs.clear();
  }

  /** Takes stored messages in, beside what has come meanwhile. */
  load(stored: readonly AgentControllerMessage[], current: AgentControllerMessage | null): void {
    const isFirst = this.#entries.every(({ pieces }) => pieces.length === 0);
    let at = stored.some(({ id }) => this.#find(id)) || isFirst ? 0 : this.#entries.length;
    for (const message of stored) {
      this.#note(message.content);
      const known = this.#entries.findIndex(({ id }) => id === message.id);
      if (known >= 0) at = known + 1;
      else this.#entries.splice(at++, 0, { id: message.id, pieces: [message], isOpen: false, notes: [] });
    }
    if (!current) return;
    this.#note(current.content);
    this.#put(current, true);
  }

  take(event: AgentControllerEvent): void {
    switch (event.type) {
      case "message_start":
      case "message_update":
        return this.#put(event.message, event.message.role === "assistant", event.type === "message_start");
      case "message_end":
        return this.#put(event.message, false);
      case "tool_end":
        this.#results.set(event.toolCallId, event);
        return;
      case "agent_end":
        if (event.reason !== "suspended") for (const entry of this.#entries) entry.isOpen = false;
    }
  }

  /** Adds a note for the person in front of this chat. It stays where it was made, also within a message that grows. */
  add(kind: "info" | "error", text: string): void {
    const id = `note-${this.#notes++}`;
    const last = this.#entries.at(-1);
    const open = last?.isOpen ? last : undefined;
    const note: Block = { kind, text: printable(text), id, entry: open?.id ?? id, isFinal: true };
    if (open) open.notes.push({ after: contentOf(open).length, note });
    else this.#entries.push({ id, pieces: [], isOpen: false, notes: [{ after: 0, note }] });
  }

  /** What is to be shown, from the oldest on. Those in `without` are left out. */
  blocks(waiting: Waiting, without: ReadonlySet<string> = NONE): Block[] {
    return this.#entries.flatMap((entry) => (without.has(entry.id) ? [] : this.#blocksOf(entry, waiting)));
  }

  /** Calls of tools, the newest first. */
  calls(waiting: Waiting): ShownCall[] {
    return this.blocks(waiting)
      .flatMap((block) => (block.kind === "tool" ? [block.call] : []))
      .toReversed();
  }

  /** What the person said, from the oldest on. */
  said(): string[] {
    return this.#entries.flatMap(({ pieces }) =>
      pieces.filter(({ role }) => role === "user").map(({ content }) => textOf(content)),
    );
  }

  #find(id: string): Entry | undefined {
    return this.#entries.findLast((entry) => entry.id === id);
  }

  #put(message: AgentControllerMessage, isOpen: boolean, isStart = false): void {
    const entry = this.#find(message.id);
    if (!entry) this.#entries.push({ id: message.id, pieces: [message], isOpen, notes: [] });
    else if (isStart && !entry.isOpen && message.role === "assistant") entry.pieces.push(message);
    else entry.pieces[entry.pieces.length - 1] = message;
    if (entry) entry.isOpen = isOpen;
  }

  #note(content: readonly AgentControllerMessageContent[]): void {
    for (const part of content) if (part.type === "tool_result") this.#results.set(part.id, part);
  }

  #blocksOf(entry: Entry, waiting: Waiting): Block[] {
    const content = contentOf(entry);
    const blocks: Block[] = [];
    for (let index = 0; index <= content.length; index++) {
      for (const { after, note } of entry.notes) if (after === index) blocks.push(note);
      if (index < content.length) blocks.push(...this.#part(entry, content, index, waiting));
    }
    return blocks;
  }

  #part(
    { id, pieces, isOpen }: Entry,
    content: readonly AgentControllerMessageContent[],
    index: number,
    waiting: Waiting,
  ): Block[] {
    const part = content[index]!;
    if (pieces[0]!.role === "user")
      return index > 0 ? [] : [{ kind: "user", text: textOf(content), id, entry: id, isFinal: true }];
    const about = { id: `${id}-${index}`, entry: id, isFinal: !isOpen || index < content.length - 1 };
    switch (part.type) {
      case "text":
        return part.text.trim() === "" ? [] : [{ kind: "text", text: printable(part.text), ...about }];
      case "thinking":
        return part.thinking.trim() === ""
          ? []
          : [{ kind: "thinking", text: oneLine(part.thinking), ...about }];
      case "tool_call": {
        const call = this.#call(part, isOpen, waiting);
        const isFinal = call.status !== "running" && call.status !== "waiting";
        return [{ kind: "tool", call, ...about, id: `call-${part.id}`, isFinal }];
      }
      case "image":
      case "file":
        return [{ kind: "info", text: nameOf(part), ...about }];
      case "notification":
      case "notification_summary":
      case "reactive_signal": {
        const from = part.type === "notification" && part.source ? ` from ${part.source}` : "";
        return [{ kind: "signal", text: oneLine(`News${from}: ${part.message}`), ...about }];
      }
      default:
        return [];
    }
  }

  #call(
    { id, name, args }: Extract<AgentControllerMessageContent, { type: "tool_call" }>,
    isOpen: boolean,
    { pendingApprovals, pendingSuspensions }: Waiting,
  ): ShownCall {
    const answer = this.#results.get(id);
    const diff = this.diffs.get(id);
    const call = { id, name, args, ...(diff && { diff }) };
    if (answer) {
      const { result, isError } = answer;
      const { isError: saysSo } = Object(result) as { isError?: unknown };
      const failed = isError || saysSo === true || hasExitCode(args, result);
      return { ...call, status: failed ? "failed" : "done", result };
    }
    const waits = pendingApprovals.has(id) || pendingSuspensions.has(id);
    return { ...call, status: waits ? "waiting" : isOpen ? "running" : "stopped" };
  }
}

const NONE: ReadonlySet<string> = new Set();

function contentOf({ pieces }: Entry): AgentControllerMessageContent[] {
  return pieces.length === 1 ? pieces[0]!.content : pieces.flatMap((piece) => piece.content);
}

/** The words of a message. */
export function textOf(content: readonly AgentControllerMessageContent[]): string {
  const parts = content.flatMap((part) => {
    if (part.type === "text") return [part.text];
    return part.type === "image" || part.type === "file" ? [nameOf(part)] : [];
  });
  return printable(parts.join("\n"));
}

function nameOf(part: Extract<AgentControllerMessageContent, { type: "image" | "file" }>): string {
  return part.type === "image" ? "[image]" : `[file ${oneLine(part.filename ?? part.mediaType)}]`;
}
