import type { MessagePart, StoredMessage, StoredThread } from "@selvedge/protocol";
import { checkId, checkMetadata, cleanText } from "./check-id.ts";
import { parentIn, toMessageRow, toThreadRow } from "./message-rows.ts";
import type { ColumnValue, Row, Write } from "./storage.ts";
import { MESSAGES, MESSAGE_STEPS, THREADS } from "./tables.ts";
import { insert, remove, update } from "./writes.ts";

/** Creates the thread unless it is there. */
export function insertThread(thread: StoredThread): Write {
  return insert(THREADS, toThreadRow(thread), "ignore");
}

/** Gives a thread its title, and metadata by key; `null` deletes a key. */
export function describeThread(
  threadId: string,
  { title, metadata }: { title?: string | undefined; metadata?: StoredThread["metadata"] | undefined },
): Write[] {
  if (title === undefined && !metadata) return [];
  const parent = parentIn(metadata);
  return [
    update(THREADS, {
      where: { id: checkId("threadId", threadId) },
      set: {
        ...(title !== undefined && { title: cleanText(title) }),
        ...(parent !== undefined && { parent_id: parent }),
      },
      ...(metadata && { merge: { metadata: checkMetadata("metadata", metadata) as Row } }),
    }),
  ];
}

/** Adds a message at the end of its thread; a message id that exists is a `conflict` unless it is to be ignored. */
export function insertMessage(message: StoredMessage, onConflict: "fail" | "ignore" = "fail"): Write {
  return insert(MESSAGES, toMessageRow(message), onConflict);
}

/** Puts a whole message in the place of what was stored of it; it keeps its place in the thread. */
export function replaceMessage(message: StoredMessage): Write[] {
  return [
    insert(MESSAGES, toMessageRow(message), "update"),
    remove(MESSAGE_STEPS, { message_id: message.id }),
  ];
}

/** Stores the first step of an assistant message, and with it the message. Again replaces it, not its metadata. */
export function putFirstStep(message: StoredMessage, parts: readonly MessagePart[]): Write {
  const content = { ...message.content, parts: [...parts] };
  const row = { ...toMessageRow({ ...message, content }), metadata: undefined };
  return insert(MESSAGES, row, "update");
}

/** Stores what a later step added to its assistant message. Storing the same step again replaces it. */
export function putStep(step: {
  messageId: string;
  threadId: string;
  step: number;
  parts: readonly MessagePart[];
}): Write {
  return insert(
    MESSAGE_STEPS,
    {
      message_id: checkId("messageId", step.messageId),
      thread_id: checkId("threadId", step.threadId),
      step: step.step,
      parts: step.parts as unknown as ColumnValue,
    },
    "update",
  );
}

/** Notes that something happened on the thread. `now` is in milliseconds. */
export function touchThread(threadId: string, now: number): Write {
  const updatedAt = Math.trunc(now);
  return update(THREADS, {
    where: { id: checkId("threadId", threadId), updated_at: { ne: updatedAt } },
    set: { updated_at: updatedAt },
  });
}

/** The same, and a `conflict` unless the thread is the resource's. */
export function touchOwnThread(threadId: string, resourceId: string, now: number): Write {
  const where = { id: checkId("threadId", threadId), resource_id: resourceId };
  return update(THREADS, { where, set: { updated_at: Math.trunc(now) }, require: true });
}

/** Changes `content.metadata` of a message by key; `null` and `undefined` delete a key. */
export function setMessageMetadata(messageId: string, patch: Record<string, unknown>): Write {
  return update(MESSAGES, {
    where: { id: checkId("messageId", messageId) },
    merge: { metadata: checkMetadata("metadata", patch) as Row },
  });
}
