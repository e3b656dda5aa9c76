import { sliceByTokens } from "tokenx";
import type { FileMessagePart, MessagePart, StoredMessage, ToolInvocation } from "@selvedge/protocol";
import { isFromPerson } from "../is-from-person.ts";
import { countText } from "./count-tokens.ts";
import { escapeName, escapeNotes } from "./escape-notes.ts";
import { toLocalTime } from "./local-time.ts";
import type { ObservationConfig } from "./om-config.ts";
import { isTemporalMarker, withTemporalMarkers } from "./temporal-markers.ts";

const MOST_ARGUMENT_TOKENS = 2_000;
const MOST_RESULT_TOKENS = 5_000;

export interface RenderObservedOptions {
  timeZone?: string | undefined;
  observeAttachments?: Exclude<ObservationConfig["observeAttachments"], "auto"> | undefined;
  /** Also write the pauses between messages. */
  temporalMarkers?: boolean | undefined;
  /** Resource scope: put each thread into its own block. */
  byThread?: boolean | undefined;
  /** Cut each text after this many tokens: for a message that is too long for the observer. */
  maxTextTokens?: number | undefined;
}

export interface RenderedConversation {
  /** One quoted block. */
  text: string;
  /** What is sent to the observer beside it, in the order of the placeholders. */
  attachments: FileMessagePart[];
  /** Whether the messages contain anything to observe. */
  isEmpty: boolean;
}

/**
 * A conversation as the observer reads it: what people and the assistant said, calls and results of tools, placeholders
 * for attachments. No system messages, reminders, states, notifications or reasoning.
 */
export function renderObserved(
  messages: readonly StoredMessage[],
  options: RenderObservedOptions = {},
): RenderedConversation {
  const zone = options.timeZone ?? "UTC";
  const time = toLocalTime(zone);
  const attachments: FileMessagePart[] = [];
  let placeholders = 0;
  const partText = (part: MessagePart): string[] => {
    if (part.type === "text") return part.text.trim() === "" ? [] : [limit(part.text, options.maxTextTokens)];
    if (part.type === "tool-invocation") return toolLines(part.toolInvocation);
    if (part.type !== "file" || part.reasoning) return [];
    if (isObserved(part.mimeType, options.observeAttachments ?? true)) attachments.push(part);
    const kind = part.mimeType.startsWith("image/") ? "Image" : "File";
    return [`[${kind} #${++placeholders}: ${part.filename ?? part.mimeType}]`];
  };
  const entry = (message: StoredMessage): string | undefined => {
    const isMarker = isTemporalMarker(message);
    const speaker = isMarker ? "pause" : isFromPerson(message) ? "user" : message.role;
    if (speaker !== "user" && speaker !== "assistant" && speaker !== "pause") return undefined;
    const { parts, content } = message.content;
    const lines = parts.length === 0 && content ? [content] : parts.flatMap(partText);
    if (lines.length === 0) return undefined;
    return escapeNotes(`[${time(message.createdAt)}] ${speaker}: ${lines.join("\n")}`);
  };
  const block = (own: readonly StoredMessage[]): string[] => {
    const shown = options.temporalMarkers ? withTemporalMarkers(own, { timeZone: zone }) : own;
    return shown.map(entry).filter((one) => one !== undefined);
  };
  const threads = options.byThread ? Map.groupBy(messages, ({ threadId }) => threadId ?? "") : undefined;
  const bodies = threads
    ? [...threads].map(([id, own]) => {
        const lines = block(own);
        return lines.length === 0 ? "" : `<thread id="${escapeName(id)}">\n${lines.join("\n")}\n</thread>`;
      })
    : [block(messages).join("\n")];
  const body = bodies.filter((one) => one !== "").join("\n");
  return {
    text: `<conversation time-zone="${escapeName(zone)}">\n${body}\n</conversation>`,
    attachments,
    isEmpty: body === "",
  };
}

function toolLines(call: ToolInvocation): string[] {
  if (call.state === "partial-call") return [];
  const { toolName } = call;
  const lines = [`[call ${toolName}] ${limit(json(call.args), MOST_ARGUMENT_TOKENS)}`];
  const denied = call.state === "approval-responded" && call.approval?.approved === false;
  if (call.state === "output-denied" || denied) {
    lines.push(`[denied ${toolName}] ${call.approval?.reason ?? "The call was not allowed."}`);
  } else if (call.state === "result" || call.state === "output-error") {
    const failed = call.isError || call.state === "output-error";
    const result = limit(json(call.modelOutput ?? call.result), MOST_RESULT_TOKENS);
    lines.push(`[${failed ? "error" : "result"} ${toolName}] ${result}`);
  } else lines.push(`[no result ${toolName}]`);
  return lines;
}

function json(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function limit(text: string, tokens: number | undefined): string {
  if (tokens === undefined || countText(text) <= tokens) return text;
  return `${sliceByTokens(text, 0, tokens)} … [cut: ${countText(text) - tokens} more tokens]`;
}

function isObserved(mimeType: string, which: boolean | readonly string[]): boolean {
  if (typeof which === "boolean") return which;
  return which.some((pattern) =>
    pattern.endsWith("/*")
      ? mimeType.startsWith(pattern.slice(0, -1))
      : pattern === "*/*" || pattern === mimeType,
  );
}
