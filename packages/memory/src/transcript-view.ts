import type { MessagePart, StoredMessage } from "@selvedge/protocol";

/**
 * Messages as a person may see them: where a tool's transform prepared arguments or a result for the transcript, those
 * stand in the place of the raw ones, which do not appear. Messages without such calls are the same objects.
 */
export function transcriptView(messages: readonly StoredMessage[]): StoredMessage[] {
  return messages.map((message) => {
    if (!message.content.parts.some(hasTranscript)) return message;
    return { ...message, content: { ...message.content, parts: message.content.parts.map(viewPart) } };
  });
}

function hasTranscript(part: MessagePart): boolean {
  return part.type === "tool-invocation" && part.toolInvocation.transcript !== undefined;
}

function viewPart(part: MessagePart): MessagePart {
  if (part.type !== "tool-invocation" || !part.toolInvocation.transcript) return part;
  // What the model was shown comes from the raw result, so it is left out as well.
  const { transcript, modelOutput: _, ...call } = part.toolInvocation;
  return {
    ...part,
    toolInvocation: {
      ...call,
      ...("args" in transcript && { args: transcript.args }),
      ...("result" in transcript && { result: transcript.result }),
    },
  };
}
