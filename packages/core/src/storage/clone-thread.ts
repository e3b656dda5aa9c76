import type { MessagePart, StoredMessage, StoredThread } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import type { System } from "../system.ts";
import { checkId, checkMetadata } from "./check-id.ts";
import { assemble } from "./list-messages.ts";
import { cloneOmWrites } from "./om-clone.ts";
import { OM_DOMAIN } from "./om-domain.ts";
import { toMillis, toThread, toThreadRow } from "./message-rows.ts";
import { insertMessage } from "./message-writes.ts";
import { selectMessages } from "./select-messages.ts";
import type { Comparison, Storage, Where } from "./storage.ts";
import { THREADS } from "./tables.ts";
import { ACTORS } from "./thread-tables.ts";
import { insert, requireNone } from "./writes.ts";

export interface CloneThreadOptions {
  sourceThreadId: string;
  /** The owner of the source. A thread of another counts as absent. `resourceId`, when absent. */
  sourceResourceId?: string | undefined;
  newThreadId?: string | undefined;
  /** The owner of the clone; without it, the owner of the source. Another than that needs `sourceResourceId`. */
  resourceId?: string | undefined;
  title?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
  options?:
    | {
        /** Only the last so many. */
        messageLimit?: number | undefined;
        /** Refuses to copy more than this, about. */
        maxBytes?: number | undefined;
        messageFilter?:
          | { startDate?: Date | undefined; endDate?: Date | undefined; messageIds?: string[] | undefined }
          | undefined;
      }
    | undefined;
}

export interface CloneThreadResult {
  thread: StoredThread;
  clonedMessages: StoredMessage[];
}

/** Copies a thread and its messages under new ids, in one commit. */
export async function cloneThread(
  storage: Storage,
  options: CloneThreadOptions,
  context: {
    newId: () => string;
    now: number;
    system: System;
    /** Only messages up to this number, as they are after `edit`. */
    untilSeq?: number | undefined;
    edit?: ((message: StoredMessage) => StoredMessage) | undefined;
  },
): Promise<CloneThreadResult> {
  const sourceId = checkId("sourceThreadId", options.sourceThreadId);
  const [sourceRow] = await storage.select({ table: THREADS, where: { id: sourceId }, limit: 1 });
  const owner = options.sourceResourceId ?? options.resourceId;
  if (!sourceRow || (owner !== undefined && sourceRow.resource_id !== owner))
    throw new AgentError(
      "not-found",
      owner === undefined
        ? `There is no thread ${sourceId} to clone.`
        : `Resource ${owner} has no thread ${sourceId} to clone. To copy a thread of another resource, name its owner in sourceResourceId.`,
    );
  const source = toThread(sourceRow);
  const now = new Date(context.now);
  const title = options.title ?? source.title;
  const thread: StoredThread = {
    id: options.newThreadId ?? context.newId(),
    resourceId: options.resourceId ?? source.resourceId,
    ...(title !== undefined && { title }),
    metadata: {
      ...source.metadata,
      ...(options.metadata && checkMetadata("metadata", options.metadata)),
      clone: { sourceThreadId: sourceId, clonedAt: now.toISOString() },
    },
    createdAt: now,
    updatedAt: now,
  };
  const { edit = (message: StoredMessage) => message } = context;
  const { messages, seqs } = await sourceMessages(storage, sourceId, options.options ?? {}, context);
  const clonedMessages = messages.map((message) => ({
    ...withoutOpenCalls(edit(message)),
    id: context.newId(),
    threadId: thread.id,
    resourceId: thread.resourceId,
  }));
  await storage.domain(OM_DOMAIN);
  const copied = clonedMessages.map(({ id }, index) => ({ id, seq: seqs[index]! }));
  const log = await cloneOmWrites(storage, source, thread, copied, context.system);
  const elsewhere = { thread_id: thread.id, resource_id: { ne: thread.resourceId } };
  await storage.commit([
    requireNone(ACTORS, elsewhere),
    insert(THREADS, toThreadRow(thread)),
    ...clonedMessages.map((message) => insertMessage(message)),
    ...log,
  ]);
  return { thread, clonedMessages };
}

const NOT_COPIED = "This call was waiting when the thread was copied. It belongs to the original thread.";

/** Calls that wait for an answer stay in the original: they cannot be answered in a copy. */
function withoutOpenCalls(message: StoredMessage): StoredMessage {
  const { parts } = message.content;
  const isOpen = (part: MessagePart) =>
    part.type === "tool-invocation" &&
    (part.toolInvocation.state === "call" || part.toolInvocation.state === "approval-requested");
  if (!parts.some(isOpen)) return message;
  const answered = parts.map((part) =>
    isOpen(part) && part.type === "tool-invocation"
      ? {
          ...part,
          toolInvocation: {
            ...part.toolInvocation,
            state: "output-error" as const,
            result: NOT_COPIED,
            isError: true,
          },
        }
      : part,
  );
  return { ...message, content: { ...message.content, parts: answered as MessagePart[] } };
}

async function sourceMessages(
  storage: Storage,
  threadId: string,
  { messageLimit, messageFilter, maxBytes }: NonNullable<CloneThreadOptions["options"]>,
  { untilSeq, system }: { untilSeq?: number | undefined; system: System },
): Promise<{ messages: StoredMessage[]; seqs: number[] }> {
  const created: Comparison = {
    ...(messageFilter?.startDate && { gte: toMillis("startDate", messageFilter.startDate) }),
    ...(messageFilter?.endDate && { lte: toMillis("endDate", messageFilter.endDate) }),
  };
  const where: Where = {
    thread_id: threadId,
    ...(untilSeq !== undefined && { seq: { lte: untilSeq } }),
    ...(Object.keys(created).length > 0 && { created_at: created }),
    ...(messageFilter?.messageIds && { id: { in: messageFilter.messageIds } }),
  };
  const query = { where, ...(messageLimit !== undefined && { limit: messageLimit }) };
  const rows = await selectMessages(storage, query, "desc", maxBytes, system);
  rows.reverse();
  return { messages: await assemble(storage, rows), seqs: rows.map(({ seq }) => seq) };
}
