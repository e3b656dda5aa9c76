import type { MessagePart, StoredMessage } from "@selvedge/protocol";
import type { MessageList } from "../message/message-list.ts";

/** The messages that came with this run, which have not been checked before. */
export function newMessages(list: MessageList, lastOnly = false): StoredMessage[] {
  const messages = list.get.input.db().filter(({ role }) => role !== "system");
  return lastOnly ? messages.slice(-1) : messages;
}

/** Changes each text and reasoning of a message. */
export function mapTexts(message: StoredMessage, map: (text: string) => string): void {
  const { content, ...rest } = message.content;
  const parts = message.content.parts.map((part): MessagePart => {
    if (part.type === "text") return { ...part, text: map(part.text) };
    if (part.type !== "reasoning") return part;
    const reasoning = map(part.reasoning);
    if (reasoning === part.reasoning) return part;
    return { ...part, reasoning, details: [{ type: "text", text: reasoning }] };
  });
  message.content = { ...rest, parts, ...(content !== undefined && { content: map(content) }) };
}
