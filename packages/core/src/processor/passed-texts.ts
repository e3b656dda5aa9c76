import type { AgentChunk, MessagePart } from "@selvedge/protocol";
import type { ProcessOutputResultArgs } from "./processor.ts";
import { isDelta } from "./text-gate.ts";

interface Passed {
  /** Texts in progress, by id. */
  open: Map<string, string>;
  whole: Set<string>;
}

/** Records text that a guardrail has let pass, so that it is not checked twice. */
export function notePassed<Chunks extends AgentChunk | AgentChunk[] | null>(
  chunks: Chunks,
  state: Record<string, unknown>,
): Chunks {
  const { open, whole } = passedIn(state);
  for (const chunk of [chunks ?? []].flat() as AgentChunk[]) {
    if (isDelta(chunk)) {
      const key = `${chunk.type === "text-delta" ? "text-end" : "reasoning-end"} ${chunk.payload.id}`;
      open.set(key, (open.get(key) ?? "") + chunk.payload.text);
    } else if (chunk.type === "text-end" || chunk.type === "reasoning-end") {
      const key = `${chunk.type} ${chunk.payload.id}`;
      whole.add(open.get(key) ?? "");
      open.delete(key);
    }
  }
  return chunks;
}

/** The texts of the answer that the guardrail has not seen on the stream because others added them. */
export function unseenTexts({
  messageList,
  state,
}: ProcessOutputResultArgs): Extract<MessagePart, { type: "text" }>[] {
  const { whole } = passedIn(state);
  return messageList.get.response
    .db()
    .filter(({ role }) => role === "assistant")
    .flatMap(({ content }) => content.parts)
    .filter((part) => part.type === "text" && part.text.trim() !== "" && !whole.has(part.text)) as Extract<
    MessagePart,
    { type: "text" }
  >[];
}

function passedIn(state: Record<string, unknown>): Passed {
  return (state["passed"] ??= { open: new Map(), whole: new Set() }) as Passed;
}
