import { transcriptPart } from "@selvedge/core/guards";
import type { MessagePart, StoredMessage } from "@selvedge/protocol";

/**
 * Messages as a person may see them, without what transforms hide. Messages without such calls are returned unchanged.
 */
export function transcriptView(messages: readonly StoredMessage[]): StoredMessage[] {
  return messages.map((message) => {
    if (!message.content.parts.some(hasTranscript)) return message;
    return { ...message, content: { ...message.content, parts: message.content.parts.map(transcriptPart) } };
  });
}

function hasTranscript(part: MessagePart): boolean {
  return part.type === "tool-invocation" && part.toolInvocation.transcript !== undefined;
}
