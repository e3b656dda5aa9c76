import type { MessagePart } from "@selvedge/protocol";

/**
 * A part as a person may see it: where a tool's transform prepared arguments or a result for the transcript, those stand in
 * the place of the raw ones, which do not appear. Any other part is the same object.
 */
export function transcriptPart(part: MessagePart): MessagePart {
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
