import type { MessagePart, StoredMessage } from "@selvedge/protocol";
import type { MessageList } from "../message/message-list.ts";
import type { SignalRecord } from "@selvedge/protocol/session";
import type { ProcessInputArgs, ProcessInputStepArgs } from "./processor.ts";

/** The messages that are new in this run and not checked before. */
export function newMessages(list: MessageList, lastOnly = false): StoredMessage[] {
  const messages = list.get.input.db().filter(({ role }) => role !== "system");
  return lastOnly ? messages.slice(-1) : messages;
}

/** What a guardrail must check: the new messages, and before a step the user messages that joined the run since. */
export function messagesToCheck(
  { messageList, state, ...args }: ProcessInputArgs | ProcessInputStepArgs,
  lastOnly = false,
): StoredMessage[] {
  if (!("stepNumber" in args)) return newMessages(messageList, lastOnly);
  const known = (state["joined"] ??= new Set()) as Set<string>;
  const joined = messageList.get.response.db().filter((one) => isFromPerson(one) && !known.has(one.id));
  for (const { id } of joined) known.add(id);
  return joined;
}

function isFromPerson({ role, content }: StoredMessage): boolean {
  const signal = content.metadata?.["signal"] as Partial<SignalRecord> | undefined;
  return role === "user" || (role === "signal" && signal?.type === "user");
}

/** All text of a message. */
export function messageText({ content }: StoredMessage): string {
  const texts = content.parts.flatMap((part) =>
    part.type === "text" && part.text !== "" ? [part.text] : [],
  );
  return texts.length > 0 ? texts.join("\n") : (content.content ?? "");
}

/** Replaces all texts of a message with one. */
export function setMessageText(message: StoredMessage, text: string): void {
  const at = message.content.parts.findIndex((part) => part.type === "text");
  const others: MessagePart[] = message.content.parts.filter((part) => part.type !== "text");
  const parts = others.toSpliced(Math.max(0, at), 0, { type: "text", text });
  const { content: _, ...rest } = message.content;
  message.content = { ...rest, parts };
}

/** Changes each text and reasoning part of a message. */
export function mapTexts(message: StoredMessage, map: (text: string) => string): void {
  const { content, ...rest } = message.content;
  const parts = message.content.parts.map((part): MessagePart => {
    if (part.type === "text") return { ...part, text: map(part.text) };
    if (part.type !== "reasoning") return part;
    const reasoning = map(part.reasoning);
    if (reasoning === part.reasoning) return part;
    return { ...part, reasoning, details: [{ type: "text", text: reasoning }] };
  });
  message.content = { ...rest, parts, ...(content !== undefined && { content: map(content) }) };
}
