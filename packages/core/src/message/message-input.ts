import type { IdPurpose } from "../system.ts";
import { isObject } from "@selvedge/protocol";
import type {
  MessagePart,
  MessageRole,
  ProviderMetadata,
  StoredMessage,
  TextMessagePart,
} from "@selvedge/protocol";
import { toFilePart } from "./file-part.ts";
import { invalid, type LoosePart, textOf } from "./invalid-message.ts";
import { isStoredPart } from "./stored-part.ts";
import { fromUiPart } from "./ui-part.ts";

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

/** A message in any accepted form: AI SDK model messages, UI messages, or stored messages. */
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

/** The input of `stream()` and `generate()`. */
export type MessagesInput = string | MessageLike | readonly (string | MessageLike)[];

interface Make {
  newId(purpose?: IdPurpose): string;
  now(): number;
}

/** Converts input to stored messages. Throws `invalid-message` with the offending value, before anything is used. */
export function toStoredMessages(input: MessagesInput, make: Make): StoredMessage[] {
  const list = Array.isArray(input) ? input : [input as string | MessageLike];
  const messages: StoredMessage[] = [];
  for (const item of list) {
    if (typeof item === "string") {
      messages.push(build(make, { role: "user" }, [{ type: "text", text: item.toWellFormed() }]));
    } else if (item && typeof item === "object" && item.role === "tool") {
      attachResults(messages, item, make);
    } else {
      messages.push(...splitSteered(item as MessageLike).map((message) => fromObject(message, make)));
    }
  }
  return messages;
}

/** A UI message may contain user messages sent while it was written; it then becomes several messages. */
function splitSteered(item: MessageLike): MessageLike[] {
  const { parts } = item ?? {};
  if (!Array.isArray(parts) || !parts.some(isSteering)) return [item];
  const messages: MessageLike[] = [];
  let rest: unknown[] = [];
  const close = () => {
    const id = item.id && messages.length > 0 ? `${item.id}-${messages.length}` : item.id;
    if (rest.length > 0) messages.push({ ...item, ...(id && { id }), parts: rest });
    rest = [];
  };
  for (const part of parts as LoosePart[]) {
    if (!isSteering(part)) {
      rest.push(part);
      continue;
    }
    close();
    messages.push({ ...part, role: "user" });
  }
  close();
  return messages;
}

function isSteering(part: unknown): boolean {
  return (part as LoosePart | null | undefined)?.type === "steering-message";
}

function fromObject(item: MessageLike, make: Make): StoredMessage {
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
  make: Make,
  item: { role: string } & Partial<MessageLike>,
  parts: MessagePart[],
): StoredMessage {
  const createdAt =
    item.createdAt === undefined ? (shownDate(item) ?? new Date(make.now())) : toDate(item.createdAt);
  return {
    id: typeof item.id === "string" && item.id !== "" ? item.id : make.newId({ idType: "message" }),
    role: item.role as MessageRole,
    createdAt,
    content: {
      format: 2,
      parts,
      ...(isObject(item.metadata) && { metadata: item.metadata }),
      ...(item.providerOptions && { providerMetadata: item.providerOptions as ProviderMetadata }),
    },
  };
}

/** A UI message has no date; ours carry it in their metadata. */
function shownDate({ parts, metadata }: Partial<MessageLike>): Date | undefined {
  const value = parts && isObject(metadata) ? metadata["createdAt"] : undefined;
  const date = value instanceof Date || typeof value === "string" ? new Date(value) : undefined;
  return date && !Number.isNaN(date.getTime()) ? date : undefined;
}

function toDate(value: unknown): Date {
  const known = value instanceof Date || typeof value === "string" || typeof value === "number";
  const date = known ? new Date(value) : undefined;
  if (!date || Number.isNaN(date.getTime())) throw invalid("createdAt is not a valid date", value);
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
    case "reasoning-file":
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
          toolCallId: textOf(part, "toolCallId"),
          toolName: textOf(part, "toolName"),
          args: part["input"] ?? part["args"] ?? {},
        },
      };
    case "step-start":
      return { type: "step-start" };
  }
  if (type.startsWith("data-")) return { ...base, type: type as `data-${string}`, data: part["data"] };
  const shown = fromUiPart(part, type);
  if (shown) return { ...base, ...shown };
  throw invalid(`Unknown message part type "${type}"`, part);
}

/** A `tool` message answers calls of the preceding assistant message (client tools return this way). */
function attachResults(messages: StoredMessage[], item: MessageLike, make: Make): void {
  if (!Array.isArray(item.content)) throw invalid("A tool message needs an array of results", item);
  for (const part of item.content as LoosePart[]) {
    if (!isResult(part)) throw invalid("A tool message accepts only tool-result parts", part);
    if (!attachResult(messages, part))
      messages.push(build(make, { role: "assistant" }, [callWithResult(part)]));
  }
}

function isResult(part: LoosePart | null | undefined): boolean {
  return part?.type === "tool-result";
}

function attachResult(messages: StoredMessage[], part: LoosePart): boolean {
  const call = findCall(messages, textOf(part, "toolCallId"));
  if (call) Object.assign(call, { state: "result", ...unwrapOutput(part["output"] ?? part["result"]) });
  return call !== undefined;
}

/** A result whose call is not among the messages: adds the call as far as it is known. */
function callWithResult(part: LoosePart): MessagePart {
  return {
    type: "tool-invocation",
    toolInvocation: {
      state: "result",
      toolCallId: textOf(part, "toolCallId"),
      toolName: textOf(part, "toolName"),
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
  if (isObject(tagged) && typeof tagged.type === "string" && "value" in tagged) {
    const isError = tagged.type.startsWith("error-");
    return {
      result: tagged.value,
      ...(isError && { isError }),
      ...(tagged.type === "content" && { modelOutput: tagged }),
    };
  }
  return { result: output };
}
