import { UNEXPECTED_CODES } from "./error-codes.ts";
import type { MessagePart } from "./message.ts";

/** The message for a failed call whose error is private. The log has the error under the call's id. */
export function toolFailed(toolName: string, toolCallId: string): string {
  return `Tool "${toolName}" failed (call ${toolCallId}).`;
}

/** Whether a part is a failed call whose error is only for the model and the log. */
export function isHiddenFailure(
  part: MessagePart,
): part is Extract<MessagePart, { type: "tool-invocation" }> {
  if (part.type !== "tool-invocation") return false;
  const { state, errorCode } = part.toolInvocation;
  return state === "output-error" && UNEXPECTED_CODES.has(errorCode);
}
