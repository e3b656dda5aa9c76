import type { FileMessagePart, MessagePart, MessageRole, ProviderMetadata, StoredMessage, TextMessagePart } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";

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
export function toStoredMessages(input: MessagesInput, make: { newId(): string; now(): number }): StoredMessage[] {
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
  if (stored && typeof stored === "object" && !Array.isArray(stored) && stored.format === 2 && Array.isArray(stored.parts)) {
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
  return build(make, item as { role: MessageRole }, parts.map((part) => toPart(part as LoosePart, item)));
}

function build(make: { newId(): string; now(): number }, item: { role: string } & Partial<MessageLike>, parts: MessagePart[]): StoredMessage {
  const createdAt = item.createdAt === undefined ? new Date(make.now()) : new Date(item.createdAt);
  if (Number.isNaN(createdAt.getTime())) throw invalid("createdAt is not a date", item.createdAt);
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
      const text = String(part["text"] ?? part["reasoning"] ?? "");
      return { ...base, type: "reasoning", reasoning: text, details: [{ type: "text", text }] };
    }
    case "tool-invocation":
      return part as MessagePart;
    case "tool-call":
      return {
        ...base,
        type: "tool-invocation",
        toolInvocation: {
          state: "call",
          toolCallId: String(part["toolCallId"]),
          toolName: String(part["toolName"]),
          args: part["input"] ?? part["args"] ?? {},
        },
      };
    case "step-start":
      return { type: "step-start" };
    case "source":
      return part as MessagePart;
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
      toolCallId: String(part["toolCallId"]),
      toolName: type === "dynamic-tool" ? String(part["toolName"]) : type.slice("tool-".length),
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
  return { type: "file", data: toFileString(source), mimeType, ...filename };
}

function toFileString(source: unknown): string {
  if (typeof source === "string") return source;
  if (source instanceof URL) return source.href;
  if (source instanceof Uint8Array) return Buffer.from(source.buffer, source.byteOffset, source.byteLength).toString("base64");
  if (source instanceof ArrayBuffer) return Buffer.from(source).toString("base64");
  throw invalid("A file part needs data: a base64 string, a URL or bytes", typeof source);
}

/** A `tool` message answers calls of the assistant message before it (client tools come back this way). */
function attachResults(messages: StoredMessage[], item: MessageLike, make: { newId(): string; now(): number }): void {
  if (!Array.isArray(item.content)) throw invalid("A tool message needs an array of results", item);
  for (const part of item.content as LoosePart[]) {
    if (part?.type !== "tool-result") throw invalid("A tool message takes tool-result parts", part);
    const result = unwrapOutput(part["output"] ?? part["result"]);
    const call = findCall(messages, String(part["toolCallId"]));
    if (call) Object.assign(call, { state: "result", ...result });
    else {
      messages.push(
        build(make, { role: "assistant" }, [
          {
            type: "tool-invocation",
            toolInvocation: {
              state: "result",
              toolCallId: String(part["toolCallId"]),
              toolName: String(part["toolName"]),
              args: part["input"] ?? part["args"] ?? {},
              ...result,
            },
          },
        ]),
      );
    }
  }
}

function findCall(messages: StoredMessage[], toolCallId: string): object | undefined {
  for (const message of messages) {
    for (const part of message.content.parts) {
      if (part.type === "tool-invocation" && part.toolInvocation.toolCallId === toolCallId) return part.toolInvocation;
    }
  }
  return undefined;
}

function unwrapOutput(output: unknown): { result: unknown; isError?: boolean } {
  const tagged = output as { type?: unknown; value?: unknown } | null;
  if (isRecord(tagged) && typeof tagged.type === "string" && "value" in tagged) {
    return { result: tagged.value, ...(tagged.type.startsWith("error-") && { isError: true }) };
  }
  return { result: output };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(problem: string, value: unknown): AgentError {
  let shown: string;
  try {
    shown = JSON.stringify(value) ?? String(value);
  } catch {
    shown = String(value);
  }
  return new AgentError("invalid-message", `${problem}, got ${shown.length > 300 ? `${shown.slice(0, 300)}…` : shown}.`);
}
