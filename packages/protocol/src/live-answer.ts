import type { AgentChunk } from "./chunk.ts";
import { type Answer, answerFrom, type Changed, dropStep, foldChunk } from "./fold-chunk.ts";
import type { MessagePart } from "./message.ts";

/** An answer that is read while it grows. Its parts are created on read and never change afterwards. */
export class LiveAnswer {
  readonly answer: Answer;
  #shown: readonly MessagePart[] = [];
  readonly #changed = new Set<number>();
  #several = true;

  constructor(parts?: readonly MessagePart[]) {
    this.answer = answerFrom(parts?.map(copyPart));
  }

  take(chunk: AgentChunk): Changed {
    return this.#note(foldChunk(this.answer, chunk));
  }

  /** Discards a step that its run has given up. */
  dropStep(): Changed {
    return this.#note(dropStep(this.answer));
  }

  /** The parts so far. An unchanged part is the same object as before. */
  get parts(): readonly MessagePart[] {
    if (!this.#several && this.#changed.size === 0) return this.#shown;
    const fresh = (at: number) => this.#several || this.#changed.has(at) || at >= this.#shown.length;
    this.#shown = this.answer.parts.map((part, at) => (fresh(at) ? copyPart(part) : this.#shown[at]!));
    this.#changed.clear();
    this.#several = false;
    return this.#shown;
  }

  #note(changed: Changed): Changed {
    if (changed === "several") this.#several = true;
    else if (changed !== undefined) this.#changed.add(changed);
    return changed;
  }
}

function copyPart(part: MessagePart): MessagePart {
  return part.type === "tool-invocation"
    ? { ...part, toolInvocation: { ...part.toolInvocation } }
    : { ...part };
}
