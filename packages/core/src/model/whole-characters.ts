import type { ModelPart } from "./model.ts";

type Delta = ModelPart & { type: "text-delta" | "reasoning-delta" | "tool-input-delta" };

/**
 * Keeps surrogate pairs together. A model may split a pair across two deltas, and half a pair has no UTF-8 form:
 * writing each delta to a file or terminal would produce two replacement characters.
 */
export class WholeCharacters {
  /** First halves waiting for the next delta, by text id. */
  #held: Map<string, string> | undefined;

  /** The part, with a trailing half moved to the next delta. */
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

/** Whether a text ends with the first half of a surrogate pair. */
function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
