import type { ModelPart } from "./model.ts";

type Delta = ModelPart & { type: "text-delta" | "reasoning-delta" | "tool-input-delta" };

/**
 * Keeps the halves of a character together. A model may cut a surrogate pair into two deltas, and half a pair alone has no
 * form in UTF-8: whoever writes each delta to a file or a terminal would write two replacement characters.
 */
export class WholeCharacters {
  /** First halves that wait for the next delta, by the id of their text. */
  #held: Map<string, string> | undefined;

  /** The part, with a half at the end of its delta moved to the next one. */
  of(part: ModelPart): ModelPart {
    if (!isDelta(part)) return part;
    const { id, delta } = part;
    const held = this.#held?.get(id);
    if (held === undefined && !endsInHalf(delta)) return part;
    const text = (held ?? "") + delta;
    const isCut = endsInHalf(text);
    if (isCut) (this.#held ??= new Map()).set(id, text.slice(-1));
    else this.#held?.delete(id);
    return { ...part, delta: isCut ? text.slice(0, -1) : text };
  }
}

function isDelta(part: ModelPart): part is Delta {
  const { type } = part;
  if (type !== "text-delta" && type !== "reasoning-delta" && type !== "tool-input-delta") return false;
  return typeof part.delta === "string";
}

/** Whether the last unit of a text is the first half of a surrogate pair. */
function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
