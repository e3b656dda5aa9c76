import type { MessagePart, ToolInvocation } from "@selvedge/protocol";
import type { Wire } from "@selvedge/protocol/routes";
import type { AgentControllerMessage, AgentControllerMessageContent } from "@selvedge/protocol/session";
import type { SentMessage, ThreadMessage } from "@selvedge/react";

type Part = Wire<MessagePart>;
type Content<Type extends AgentControllerMessageContent["type"]> = Extract<
  AgentControllerMessageContent,
  { type: Type }
>;

const known = new WeakMap<AgentControllerMessage, ThreadMessage>();

/** A message of a session as the view of a thread shows it. The same message gives the same object. */
export function toThreadMessage(message: AgentControllerMessage, isLive: boolean): ThreadMessage {
  const state = isLive && message.stopReason === undefined ? "streaming" : "done";
  const before = known.get(message);
  if (before?.state === state) return before;
  const made = { ...toRow(message), state } as const;
  known.set(message, made);
  return made;
}

function toRow(message: AgentControllerMessage): Omit<ThreadMessage, "state"> {
  const { id, role, content, attributes, stopReason, errorMessage } = message;
  const base = { id, createdAt: message.createdAt.toISOString(), ...(attributes && { attributes }) };
  if (role === "system") return { ...base, ...toSignal(content[0]) };
  return {
    ...base,
    role,
    parts: toParts(content),
    ...(stopReason === "aborted" && { metadata: { incomplete: true } }),
    ...(errorMessage !== undefined && { error: new Error(errorMessage) }),
  };
}

/** What was sent here and no run has read yet. */
export function fromSent({ id, content, files, createdAt, state, error }: SentMessage): ThreadMessage {
  const text: Part[] = content === "" ? [] : [{ type: "text", text: content }];
  return {
    id,
    role: "user",
    createdAt: createdAt.toISOString(),
    parts: [...text, ...files.map(({ data, mediaType, filename }) => toFile(data, mediaType, filename))],
    state,
    ...(error && { error }),
  };
}

/** A call and its result are one part. */
function toParts(content: readonly AgentControllerMessageContent[]): Part[] {
  const results = new Map(
    content.flatMap((part) => (part.type === "tool_result" ? [[part.id, part] as const] : [])),
  );
  return content.flatMap((part): Part[] => {
    switch (part.type) {
      case "text":
        return [{ type: "text", text: part.text }];
      case "thinking":
        return [{ type: "reasoning", reasoning: part.thinking, details: [] }];
      case "tool_call":
        return [{ type: "tool-invocation", toolInvocation: toCall(part, results.get(part.id)) }];
      case "image":
        return [toFile(part.data, part.mimeType)];
      case "file":
        return [toFile(part.data, part.mediaType, part.filename)];
      default:
        return [];
    }
  });
}

function toCall(
  { id, name, args }: Content<"tool_call">,
  result: Content<"tool_result"> | undefined,
): ToolInvocation {
  const call = { toolCallId: id, toolName: name, args };
  if (!result) return { ...call, state: "call" } as ToolInvocation;
  return { ...call, state: "result", result: result.result, isError: result.isError } as ToolInvocation;
}

function toFile(data: string, mimeType: string, filename?: string): Part {
  return { type: "file", data, mimeType, ...(filename !== undefined && { filename }) };
}

/** What no person said. */
function toSignal(
  content: AgentControllerMessageContent | undefined,
): Pick<ThreadMessage, "role" | "type" | "parts" | "metadata" | "attributes"> {
  const signal = Object(content) as { type?: string; message?: string; stateId?: string; tagName?: string };
  const parts: Part[] = [{ type: "text", text: signal.message ?? "" }];
  switch (content?.type) {
    case "state_signal":
      return { role: "signal", type: content.stateId, parts, metadata: { state: {} } };
    case "notification": {
      const { source, kind, priority } = content;
      const attributes = Object.fromEntries(
        Object.entries({ source, kind, priority }).filter(([, value]) => value !== undefined),
      );
      return { role: "signal", type: "notification", parts, attributes, metadata: { notification: {} } };
    }
    case "notification_summary":
      return { role: "signal", type: "notification-summary", parts, metadata: { notification: {} } };
    default:
      return { role: "signal", type: signal.tagName ?? "system-reminder", parts };
  }
}
