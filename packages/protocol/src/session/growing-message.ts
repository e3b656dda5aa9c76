import type { AgentControllerMessage, AgentControllerMessageContent } from "./controller-message.ts";

type Change = { part: AgentControllerMessageContent } | { at: number; text: string } | { keep: number };

/**
 * A message that is being written, as a list of changes. A view of it costs the same however long the message is: its
 * content is assembled when it is read, as of the time of the view.
 */
export class GrowingMessage {
  readonly id: string;
  readonly #role: AgentControllerMessage["role"];
  readonly #createdAt: Date;
  readonly #changes: Change[] = [];
  #parts = 0;

  constructor(id: string, role: AgentControllerMessage["role"], createdAt: Date) {
    this.id = id;
    this.#role = role;
    this.#createdAt = createdAt;
  }

  /** How many pieces it has. */
  get size(): number {
    return this.#parts;
  }

  /** Adds a piece and answers its place. */
  add(part: AgentControllerMessageContent): number {
    this.#changes.push({ part });
    return this.#parts++;
  }

  /** Adds to the text of the piece in a place. */
  append(at: number, text: string): void {
    this.#changes.push({ at, text });
  }

  /** Takes back the pieces after the first few. */
  keep(count: number): void {
    this.#changes.push({ keep: count });
    this.#parts = count;
  }

  view(end: Pick<AgentControllerMessage, "stopReason" | "errorMessage"> = {}): AgentControllerMessage {
    const changes = this.#changes;
    const count = changes.length;
    let content: AgentControllerMessageContent[] | undefined;
    return {
      id: this.id,
      role: this.#role,
      createdAt: this.#createdAt,
      get content() {
        return (content ??= putTogether(changes, count));
      },
      ...end,
    };
  }
}

function putTogether(changes: readonly Change[], count: number): AgentControllerMessageContent[] {
  const parts: AgentControllerMessageContent[] = [];
  for (let index = 0; index < count; index++) {
    const change = changes[index]!;
    if ("part" in change) parts.push({ ...change.part });
    else if ("keep" in change) parts.length = change.keep;
    else {
      const part = parts[change.at];
      if (part?.type === "text") part.text += change.text;
      else if (part?.type === "thinking") part.thinking += change.text;
    }
  }
  return parts;
}
