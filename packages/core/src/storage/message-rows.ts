import {
  MESSAGE_ROLES,
  type MessageContent,
  type MessagePart,
  type MessageRole,
  type StoredMessage,
  type StoredThread,
} from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import { checkId, checkMetadata, cleanText } from "./check-id.ts";
import type { MessageRow, ThreadRow } from "./tables.ts";

/** A message row as written: its number comes from the store. */
export type NewMessageRow = Omit<MessageRow, "seq" | "resource_id"> & { resource_id?: string };

const ROLES: ReadonlySet<string> = new Set(MESSAGE_ROLES);

export function toThreadRow(thread: StoredThread): ThreadRow {
  return {
    id: checkId("thread.id", thread.id),
    resource_id: checkId("thread.resourceId", thread.resourceId),
    title: thread.title === undefined ? null : cleanText(thread.title),
    metadata: thread.metadata ? checkMetadata("thread.metadata", thread.metadata) : null,
    parent_id: parentIn(thread.metadata) ?? null,
    created_at: toMillis("thread.createdAt", thread.createdAt),
    updated_at: toMillis("thread.updatedAt", thread.updatedAt),
  };
}

/** The parent thread of a subagent's thread, from its metadata. */
export function parentIn(metadata: Record<string, unknown> | undefined): string | undefined {
  const { subagent, forkedSubagent, parentThreadId } = metadata ?? {};
  if (subagent !== true && forkedSubagent !== true) return undefined;
  return typeof parentThreadId === "string" ? parentThreadId : "";
}

export function toThread(row: ThreadRow): StoredThread {
  return {
    id: row.id,
    resourceId: row.resource_id,
    ...(row.title !== null && { title: row.title }),
    ...(row.metadata !== null && { metadata: row.metadata as Record<string, unknown> }),
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  };
}

/** Without a `resourceId`, the resource of a stored message stays unchanged. */
export function toMessageRow(message: StoredMessage): NewMessageRow {
  const id = checkId("message.id", message.id);
  if (!ROLES.has(message.role)) {
    throw new AgentError(
      "invalid-message",
      `Message ${id} has the unknown role ${JSON.stringify(message.role)}`,
    );
  }
  if (!Array.isArray(message.content?.parts)) {
    throw new AgentError(
      "invalid-message",
      `Message ${id} needs content of the form { format: 2, parts: [...] }`,
    );
  }
  const { metadata, ...content } = message.content;
  return {
    id,
    thread_id: checkId("message.threadId", message.threadId),
    ...(message.resourceId !== undefined && {
      resource_id: checkId("message.resourceId", message.resourceId),
    }),
    role: message.role,
    type: message.type === undefined ? null : cleanText(message.type),
    content,
    metadata: metadata ? checkMetadata("message.content.metadata", metadata) : null,
    created_at: toMillis("message.createdAt", message.createdAt),
  };
}

/** The message of a row, with the parts that later steps added. */
export function toMessage(row: MessageRow, stepParts: readonly MessagePart[] = []): StoredMessage {
  const content = row.content as MessageContent;
  return {
    id: row.id,
    role: row.role as MessageRole,
    createdAt: new Date(row.created_at),
    threadId: row.thread_id,
    ...(row.resource_id !== null && { resourceId: row.resource_id }),
    ...(row.type !== null && { type: row.type }),
    content: {
      ...content,
      parts: stepParts.length === 0 ? content.parts : [...content.parts, ...stepParts],
      ...(row.metadata !== null && { metadata: row.metadata as Record<string, unknown> }),
    },
  };
}

/** Dates are `Date` outside and milliseconds inside. Values from a wire may also be text or a number. */
export function toMillis(name: string, value: Date | string | number): number {
  const millis = value instanceof Date ? value.getTime() : new Date(value).getTime();
  if (Number.isNaN(millis)) {
    throw new AgentError(
      "invalid-argument",
      `${name} is not a date: ${JSON.stringify(value) ?? typeof value}`,
    );
  }
  return Math.trunc(millis);
}
