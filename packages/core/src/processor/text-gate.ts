import type { AgentChunk, PayloadChunk } from "@selvedge/protocol";

/** Text held back while more may follow. */
export interface WaitingText {
  text: string;
  /** The end of the preceding text, for patterns that look back. */
  before: string;
  /** Whether no more text follows. */
  ended: boolean;
}

/** The decision about held-back text: how many characters are done, and what is sent for them. */
export interface Passage {
  used: number;
  text: string;
}

type TextDelta = PayloadChunk<"text-delta" | "reasoning-delta">;

const CONTEXT_LENGTH = 64;

/**
 * Holds back the text and reasoning of an answer until `check` releases it. Held-back text belongs to its step: it is
 * released at the end of its text and discarded when a step starts. Everything else passes.
 */
export async function gateText(
  part: AgentChunk,
  state: Record<string, unknown>,
  check: (waiting: WaitingText) => Passage | Promise<Passage>,
): Promise<AgentChunk | AgentChunk[] | null> {
  if (part.type === "step-start") delete state["waiting"];
  const waiting = (state["waiting"] ??= new Map()) as Map<string, WaitingText>;
  if (isDelta(part)) {
    const key = keyOf(part);
    const { text: earlier, before } = waiting.get(key) ?? { text: "", before: "" };
    const text = earlier + part.payload.text;
    const passage = text === "" ? { used: 0, text: "" } : await check({ text, before, ended: false });
    const passed = before + text.slice(0, passage.used);
    waiting.set(key, { text: text.slice(passage.used), before: passed.slice(-CONTEXT_LENGTH), ended: false });
    // Some providers sign a text in a chunk without text.
    return passage.text === "" && !part.payload.providerMetadata ? null : withText(part, passage.text);
  }
  if (part.type !== "text-end" && part.type !== "reasoning-end") return part;
  const delta = { ...part, type: part.type === "text-end" ? "text-delta" : "reasoning-delta" } as TextDelta;
  const key = keyOf(delta);
  const rest = waiting.get(key);
  waiting.delete(key);
  if (!rest?.text) return part;
  const { text } = await check({ ...rest, ended: true });
  const { id } = part.payload;
  return text === "" ? part : [{ ...delta, payload: { id, text } } as TextDelta, part];
}

export function isDelta(part: AgentChunk): part is TextDelta {
  return part.type === "text-delta" || part.type === "reasoning-delta";
}

export function withText(part: TextDelta, text: string): TextDelta {
  return { ...part, payload: { ...part.payload, text } } as TextDelta;
}

function keyOf(part: TextDelta): string {
  return `${part.type} ${part.payload.id}`;
}
