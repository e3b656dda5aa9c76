import { isHiddenFailure, type StoredMessage, toolFailed } from "@selvedge/protocol";
import type { FullOutput } from "../stream/run-output.ts";

/** A stored message without the text of failed tools, which may contain an address or a password. The log has it. */
export function safeMessage<Message extends Pick<StoredMessage, "content">>(message: Message): Message {
  const { content } = Object(message) as Partial<Message>;
  if (!Array.isArray(content?.parts)) return message;
  return { ...message, content: { ...content, parts: content.parts.map(safePart) } };
}

/** The outcome of a run without the text of failed tools. */
export function safeOutput(output: FullOutput): FullOutput {
  const failures = output.steps.flatMap((step) => step.content.filter(isHiddenFailure));
  const hidden = new Set(failures.map(({ toolInvocation }) => toolInvocation.toolCallId));
  if (hidden.size === 0) return output;
  const safeResult = <Result extends FullOutput["toolResults"][number]>(result: Result): Result => {
    if (!hidden.has(result.toolCallId)) return result;
    const safe = { result: toolFailed(result.toolName, result.toolCallId) };
    return { ...result, ...safe, payload: { ...result.payload, ...safe } };
  };
  const { response } = output;
  return {
    ...output,
    toolResults: output.toolResults.map(safeResult),
    messages: output.messages.map(safeMessage),
    response: { ...response, messages: response.messages.map(safeMessage) },
    steps: output.steps.map((step) => ({
      ...step,
      toolResults: step.toolResults.map(safeResult),
      content: step.content.map(safePart),
    })),
  };
}

type Part = StoredMessage["content"]["parts"][number];

function safePart(part: Part): Part {
  if (!isHiddenFailure(part)) return part;
  const { toolName, toolCallId } = part.toolInvocation;
  const result = toolFailed(toolName, toolCallId);
  return { ...part, toolInvocation: { ...part.toolInvocation, result } };
}
