import type { MessagePart } from "@selvedge/protocol";

/**
 * A part as a person may see it: if a tool's transform prepared arguments or a result for the transcript, they replace
 * the raw ones. Any other part is returned unchanged.
 */
export function transcriptPart(part: MessagePart): MessagePart {
  if (part.type !== "tool-invocation" || !part.toolInvocation.transcript) return part;
  // The model's view derives from the raw result, so it is left out too.
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
