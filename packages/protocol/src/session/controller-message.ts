import type { MessagePart, StoredMessage, ToolInvocation } from "../message.ts";
import { AgentError } from "../agent-error.ts";
import type { Said, SignalRecord } from "./signal-record.ts";

/** A piece of a message, as shown on a page. */
export type AgentControllerMessageContent =
  | { type: "text"; text: string }
  | { type: "thinking"; thinking: string }
  | { type: "tool_call"; id: string; name: string; args: unknown }
  | { type: "tool_result"; id: string; name: string; result: unknown; isError: boolean }
  | { type: "image"; data: string; mimeType: string }
  | { type: "file"; data: string; mediaType: string; filename?: string }
  | SignalContent;

/** Content that was not written by a person. */
export type SignalContent =
  | { type: "system_reminder"; id?: string; message: string; reminderType?: string; path?: string }
  | {
      type: "state_signal";
      id?: string;
      stateId: string;
      mode: string;
      cacheKey?: string;
      version?: number;
      message: string;
    }
  | {
      type: "reactive_signal";
      id?: string;
      tagName: string;
      message: string;
      attributes?: Record<string, unknown>;
      metadata?: Record<string, unknown>;
    }
  | {
      type: "notification";
      id?: string;
      notificationId?: string;
      message: string;
      source?: string;
      kind?: string;
      priority?: string;
      status?: string;
      attributes?: Record<string, unknown>;
      metadata?: Record<string, unknown>;
    }
  | {
      type: "notification_summary";
      id?: string;
      message: string;
      pending: number;
      bySource: Record<string, number>;
      byPriority: Record<string, number>;
      notificationIds: string[];
    };

export interface AgentControllerMessage {
  id: string;
  role: "user" | "assistant" | "system";
  /** For a message in progress: created on first read, and unchanged afterwards. */
  readonly content: AgentControllerMessageContent[];
  createdAt: Date;
  attributes?: Record<string, unknown>;
  stopReason?: "complete" | "tool_use" | "aborted" | "error";
  errorMessage?: string;
}

/** A stored message as shown on a page. */
export function toControllerMessage(message: StoredMessage): AgentControllerMessage {
  const base = { id: message.id, createdAt: message.createdAt };
  const signal = message.content.metadata?.["signal"] as SignalRecord | undefined;
  if (message.role !== "signal" || !signal)
    return {
      ...base,
      role: message.role === "signal" ? "user" : message.role,
      content: message.content.parts.flatMap(toContent),
    };
  if (signal.type === "user")
    return {
      ...base,
      role: "user",
      content: message.content.parts.flatMap(toContent),
      ...(signal.attributes && { attributes: signal.attributes }),
    };
  const text = message.content.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  return { ...base, role: "system", content: [toSignalContent({ ...signal, contents: text })] };
}

/** The content of a user message. */
export function fromContents(contents: Said): AgentControllerMessageContent[] {
  if (typeof contents === "string") return [{ type: "text", text: contents }];
  return contents.map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : fileContent(part.data as string, part.mediaType ?? "", part.filename),
  );
}

/** A signal as a piece of a message. */
export function toSignalContent(signal: SignalRecord & { contents: Said }): SignalContent {
  const { id, type, tagName, attributes = {}, metadata = {} } = signal;
  const message =
    typeof signal.contents === "string"
      ? signal.contents
      : signal.contents.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const optional = {
    ...(Object.keys(attributes).length > 0 && { attributes }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
  if (type === "state") {
    const state = Object(metadata["state"]) as {
      id?: string;
      mode?: string;
      cacheKey?: string;
      version?: number;
    };
    return {
      type: "state_signal",
      id,
      stateId: state.id ?? tagName,
      mode: state.mode ?? "snapshot",
      ...(state.cacheKey !== undefined && { cacheKey: state.cacheKey }),
      ...(state.version !== undefined && { version: state.version }),
      message,
    };
  }
  if (type === "notification") return notificationContent(signal, message, optional);
  if (tagName !== "system-reminder") return { type: "reactive_signal", id, tagName, message, ...optional };
  const { type: reminderType, path } = attributes as { type?: string; path?: string };
  return {
    type: "system_reminder",
    id,
    message,
    ...(reminderType !== undefined && { reminderType }),
    ...(path !== undefined && { path }),
  };
}

function notificationContent(
  { id, tagName, attributes = {}, metadata = {} }: SignalRecord,
  message: string,
  optional: object,
): SignalContent {
  const about = { ...Object(metadata["notification"]), ...attributes } as Record<string, unknown>;
  if (tagName.includes("summary"))
    return {
      type: "notification_summary",
      id,
      message,
      pending: Number(about["pending"] ?? 0),
      bySource: (about["bySource"] ?? {}) as Record<string, number>,
      byPriority: (about["byPriority"] ?? {}) as Record<string, number>,
      notificationIds: (about["notificationIds"] ?? []) as string[],
    };
  const text = (key: string, name: string) => (typeof about[key] === "string" ? { [name]: about[key] } : {});
  return {
    type: "notification",
    id,
    message,
    ...text("id", "notificationId"),
    ...text("source", "source"),
    ...text("type", "kind"),
    ...text("priority", "priority"),
    ...text("status", "status"),
    ...optional,
  };
}

export function fileContent(
  data: string,
  mediaType: string,
  filename?: string,
): AgentControllerMessageContent {
  if (mediaType.startsWith("image/")) return { type: "image", data, mimeType: mediaType };
  return { type: "file", data, mediaType, ...(filename !== undefined && { filename }) };
}

function toContent(part: MessagePart): AgentControllerMessageContent[] {
  switch (part.type) {
    case "text":
      return [{ type: "text", text: (part as { text: string }).text }];
    case "reasoning":
      return [{ type: "thinking", thinking: (part as { reasoning: string }).reasoning }];
    case "file": {
      const { data, mimeType, filename } = part as { data: string; mimeType: string; filename?: string };
      return [fileContent(data, mimeType, filename)];
    }
    case "tool-invocation":
      return toolContents((part as { toolInvocation: ToolInvocation }).toolInvocation);
    default:
      return [];
  }
}

function toolContents(call: ToolInvocation): AgentControllerMessageContent[] {
  const { toolCallId: id, toolName: name, state, transcript } = call;
  const shown = { ...call, ...transcript };
  const made: AgentControllerMessageContent = { type: "tool_call", id, name, args: shown.args };
  if (state === "result" || state === "output-error")
    return [made, { type: "tool_result", id, name, result: shown.result, isError: call.isError === true }];
  if (state === "output-denied")
    return [
      made,
      { type: "tool_result", id, name, result: call.approval?.reason ?? "Denied.", isError: true },
    ];
  return [made];
}

/** Restores an error from a stream. */
export function toError(value: unknown): Error {
  if (value instanceof Error) return value;
  if (typeof value !== "object" || value === null) return new AgentError("internal", String(value));
  const { message, code } = value as { message?: unknown; code?: unknown };
  const text = typeof message === "string" ? message : JSON.stringify(value);
  return new AgentError(typeof code === "string" ? (code as AgentError["code"]) : "internal", text);
}
