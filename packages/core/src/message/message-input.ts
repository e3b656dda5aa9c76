import type {
  FileMessagePart,
  MessagePart,
  MessageRole,
  ProviderMetadata,
  StoredMessage,
  TextMessagePart,
} from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { isStoredPart } from "./stored-part.ts";

export interface TextPart {
  type: "text";
  text: string;
  providerOptions?: Record<string, any>;
}

export interface FilePart {
  type: "file";
  data: string | URL | Uint8Array | ArrayBuffer;
  mediaType?: string;
  mimeType?: string;
  filename?: string;
  providerOptions?: Record<string, any>;
}

/** A message in any form a caller may have: AI SDK model messages, UI messages, or stored messages. */
export interface MessageLike {
  id?: string;
  role: string;
  content?: unknown;
  parts?: readonly unknown[];
  createdAt?: Date | string | number;
  metadata?: unknown;
  providerOptions?: Record<string, any>;
  [key: string]: any;
}

/** What `stream()` and `generate()` take. */
export type MessagesInput = string | MessageLike | readonly (string | MessageLike)[];

type LoosePart = { type?: unknown; [key: string]: any };

/** Input as stored messages. Throws `invalid-message` with the offending value; nothing is half taken. */
export function toStoredMessages(
  input: MessagesInput,
  make: { newId(): string; now(): number },
): StoredMessage[] {
  const list = Array.isArray(input) ? input : [input as string | MessageLike];
  const messages: StoredMessage[] = [];
  for (const item of list) {
    if (typeof item === "string") {
      messages.push(build(make, { role: "user" }, [{ type: "text", text: item.toWellFormed() }]));
    } else if (item && typeof item === "object" && item.role === "tool") {
      attachResults(messages, item, make);
    } else {
      messages.push(fromObject(item as MessageLike, make));
    }
  }
  return messages;
}

function fromObject(item: MessageLike, make: { newId(): string; now(): number }): StoredMessage {
  const role = item?.role;
  if (role !== "user" && role !== "assistant" && role !== "system" && role !== "signal") {
    throw invalid(`A message needs a role ("system", "user", "assistant" or "tool")`, item);
  }
  const stored = item.content as StoredMessage["content"] | undefined;
  if (
    stored &&
    typeof stored === "object" &&
    !Array.isArray(stored) &&
    stored.format === 2 &&
    Array.isArray(stored.parts)
  ) {
    for (const part of stored.parts)
      if (!isStoredPart(part)) throw invalid("This is not a part of a stored message", part);
    const message = build(make, item as { role: MessageRole }, stored.parts);
    message.content = { ...stored, parts: stored.parts };
    if (typeof item.type === "string") message.type = item.type;
    return message;
  }
  if (typeof item.content === "string" && !item.parts?.length) {
    return build(make, item as { role: MessageRole }, [{ type: "text", text: item.content.toWellFormed() }]);
  }
  const parts = (item.parts ?? item.content) as unknown;
  if (!Array.isArray(parts)) throw invalid("A message needs content: a string or an array of parts", item);
  const results = (parts as LoosePart[]).filter(isResult);
  const others = (parts as LoosePart[]).filter((part) => !isResult(part));
  const message = build(
    make,
    item as { role: MessageRole },
    others.map((part) => toPart(part, item)),
  );
  for (const part of results)
    if (!attachResult([message], part)) message.content.parts.push(callWithResult(part));
  return message;
}

function build(
  make: { newId(): string; now(): number },
  item: { role: string } & Partial<MessageLike>,
  parts: MessagePart[],
): StoredMessage {
  const createdAt = item.createdAt === undefined ? new Date(make.now()) : toDate(item.createdAt);
  return {
    id: typeof item.id === "string" && item.id !== "" ? item.id : make.newId(),
    role: item.role as MessageRole,
    createdAt,
    content: {
      format: 2,
      parts,
      ...(isRecord(item.metadata) && { metadata: item.metadata }),
      ...(item.providerOptions && { providerMetadata: item.providerOptions as ProviderMetadata }),
    },
  };
}

function toDate(value: unknown): Date {
  const known = value instanceof Date || typeof value === "string" || typeof value === "number";
  const date = known ? new Date(value) : undefined;
  if (!date || Number.isNaN(date.getTime())) throw invalid("createdAt is not a date", value);
  return date;
}

function toPart(part: LoosePart, message: unknown): MessagePart {
  const type = part?.type;
  if (typeof type !== "string") throw invalid("A message part needs a type", part ?? message);
  const provider = (part["providerOptions"] ?? part["providerMetadata"]) as ProviderMetadata | undefined;
  const base = provider ? { providerMetadata: provider } : {};
  switch (type) {
    case "text":
      if (typeof part["text"] !== "string") throw invalid("A text part needs text", part);
      return { ...base, type: "text", text: part["text"].toWellFormed() } satisfies TextMessagePart;
    case "image":
    case "file":
      return { ...base, ...toFilePart(part) };
    case "reasoning": {
      const text: unknown = part["text"] ?? part["reasoning"] ?? "";
      if (typeof text !== "string") throw invalid("A reasoning part needs text", part);
      return { ...base, type: "reasoning", reasoning: text, details: [{ type: "text", text }] };
    }
    case "tool-invocation":
    case "source":
      if (!isStoredPart(part)) throw invalid(`A ${type} part of a message is incomplete`, part);
      return part;
    case "tool-call":
      return {
        ...base,
        type: "tool-invocation",
        toolInvocation: {
          state: "call",
          toolCallId: text(part, "toolCallId"),
          toolName: text(part, "toolName"),
          args: part["input"] ?? part["args"] ?? {},
        },
      };
    case "step-start":
      return { type: "step-start" };
  }
  if (type.startsWith("data-")) return { ...base, type: type as `data-${string}`, data: part["data"] };
  // AI SDK UI messages spell a tool part `tool-<name>` or `dynamic-tool`.
  if (type.startsWith("tool-") || type === "dynamic-tool") return { ...base, ...fromUiToolPart(part, type) };
  throw invalid(`Unknown message part type "${type}"`, part);
}

function fromUiToolPart(part: LoosePart, type: string): MessagePart {
  const done = part["state"] === "output-available";
  const failed = part["state"] === "output-error";
  return {
    type: "tool-invocation",
    toolInvocation: {
      state: done ? "result" : failed ? "output-error" : "call",
      toolCallId: text(part, "toolCallId"),
      toolName: type === "dynamic-tool" ? text(part, "toolName") : type.slice("tool-".length),
      args: part["input"] ?? {},
      ...(done && { result: part["output"] }),
      ...(failed && { result: part["errorText"], isError: true }),
    },
  };
}

function toFilePart(part: LoosePart): FileMessagePart {
  const source: unknown = part["data"] ?? part["image"] ?? part["url"];
  const mimeType = part["mediaType"] ?? part["mimeType"] ?? (part.type === "image" ? "image/*" : undefined);
  if (typeof mimeType !== "string") throw invalid("A file part needs mediaType", { ...part, data: "…" });
  const filename = typeof part["filename"] === "string" ? { filename: part["filename"] } : {};
  const data = toFileString(source);
  if (/^https?:/.test(data) && !URL.canParse(data))
    throw invalid("A file part needs a URL that can be read", data);
  return { type: "file", data, mimeType, ...filename };
}

function text(part: LoosePart, name: string): string {
  const value: unknown = part[name];
  if (typeof value !== "string" || value === "")
    throw invalid(`A ${String(part.type)} part needs ${name}`, part);
  return value;
}

function toFileString(source: unknown): string {
  if (typeof source === "string") return source;
  if (source instanceof URL) return source.href;
  if (source instanceof Uint8Array)
    return Buffer.from(source.buffer, source.byteOffset, source.byteLength).toString("base64");
  if (source instanceof ArrayBuffer) return Buffer.from(source).toString("base64");
  throw invalid("A file part needs data: a base64 string, a URL or bytes", typeof source);
}

/** A `tool` message answers calls of the assistant message before it (client tools come back this way). */
function attachResults(
  messages: StoredMessage[],
  item: MessageLike,
  make: { newId(): string; now(): number },
): void {
  if (!Array.isArray(item.content)) throw invalid("A tool message needs an array of results", item);
  for (const part of item.content as LoosePart[]) {
    if (!isResult(part)) throw invalid("A tool message takes tool-result parts", part);
    if (!attachResult(messages, part))
      messages.push(build(make, { role: "assistant" }, [callWithResult(part)]));
  }
}

function isResult(part: LoosePart | null | undefined): boolean {
  return part?.type === "tool-result";
}

function attachResult(messages: StoredMessage[], part: LoosePart): boolean {
  const call = findCall(messages, text(part, "toolCallId"));
  if (call) Object.assign(call, { state: "result", ...unwrapOutput(part["output"] ?? part["result"]) });
  return call !== undefined;
}

/** A result whose call is not among the messages: it brings the call along, as far as it knows it. */
function callWithResult(part: LoosePart): MessagePart {
  return {
    type: "tool-invocation",
    toolInvocation: {
      state: "result",
      toolCallId: text(part, "toolCallId"),
      toolName: text(part, "toolName"),
      args: part["input"] ?? part["args"] ?? {},
      ...unwrapOutput(part["output"] ?? part["result"]),
    },
  };
}

function findCall(messages: StoredMessage[], toolCallId: string): object | undefined {
  for (const message of messages) {
    for (const part of message.content.parts) {
      if (part.type === "tool-invocation" && part.toolInvocation.toolCallId === toolCallId)
        return part.toolInvocation;
    }
  }
  return undefined;
}

function unwrapOutput(output: unknown): { result: unknown; isError?: boolean; modelOutput?: unknown } {
  const tagged = output as { type?: unknown; value?: unknown } | null;
  if (isRecord(tagged) && typeof tagged.type === "string" && "value" in tagged) {
    const isError = tagged.type.startsWith("error-");
    return {
      result: tagged.value,
      ...(isError && { isError }),
      ...(tagged.type === "content" && { modelOutput: tagged }),
    };
  }
  return { result: output };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(problem: string, value: unknown): AgentError {
  return new AgentError("invalid-message", `${problem}, got ${showValue(value)}.`);
}
