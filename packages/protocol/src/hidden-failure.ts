import { UNEXPECTED_CODES } from "./error-codes.ts";
import type { MessagePart } from "./message.ts";

/** What is told of a failed call to those whom its words are not meant for. The log has the words under the call's id. */
export function toolFailed(toolName: string, toolCallId: string): string {
  return `Tool "${toolName}" failed (call ${toolCallId}).`;
}

/** Whether a part is a failed call whose words are for the model and the log alone. */
export function isHiddenFailure(
  part: MessagePart,
): part is Extract<MessagePart, { type: "tool-invocation" }> {
  if (part.type !== "tool-invocation") return false;
  const { state, errorCode } = part.toolInvocation;
  return state === "output-error" && UNEXPECTED_CODES.has(errorCode);
}
