import type { MessagePart, MessageRole, StoredMessage } from "@selvedge/protocol";
import { realSystem, type System } from "../system.ts";
import { checkId } from "./check-id.ts";
import { toMessage, toMillis } from "./message-rows.ts";
import { mergeMessages } from "./merge-messages.ts";
import { type Page, type PageOptions, toWindow } from "./page.ts";
import type { Comparison, Select, Storage, Where } from "./storage.ts";
import { selectMessages } from "./select-messages.ts";
import { MESSAGES, MESSAGE_STEPS, type MessageRow, type MessageStepRow } from "./tables.ts";

export interface ListMessagesOptions extends PageOptions {
  threadId: string | string[];
  resourceId?: string | undefined;
  orderBy?: { direction?: "ASC" | "DESC" | undefined; field?: "createdAt" | undefined } | undefined;
  /** Messages to bring along wherever they are, each with its neighbours in its own thread. */
  include?:
    | {
        id: string;
        threadId?: string | undefined;
        withPreviousMessages?: number | undefined;
        withNextMessages?: number | undefined;
      }[]
    | undefined;
  filter?:
    | {
        /** Both ends belong to the range. */
        dateRange?: { start?: Date | undefined; end?: Date | undefined } | undefined;
        /** `user` are also the messages that people sent into the thread, which are stored as signals. */
        roles?: MessageRole[] | undefined;
      }
    | undefined;
  /** Refuses a page whose messages have more than this together, about. What steps added to answers does not count. */
  maxBytes?: number | undefined;
}

export interface ListMessagesResult extends Page {
  messages: StoredMessage[];
}

/** A page of messages in the order of their threads; `total` and `hasMore` do not count what `include` added. */
export async function listMessages(
  storage: Storage,
  options: ListMessagesOptions,
  system: System = realSystem,
): Promise<ListMessagesResult> {
  const window = toWindow(options, 40);
  const wheres = toWheres(options);
  const direction = options.orderBy?.direction === "DESC" ? "desc" : "asc";
  const [counts, included] = await Promise.all([
    Promise.all(wheres.map((where) => storage.count({ table: MESSAGES, where }))),
    includedRows(storage, options),
  ]);
  const filled = wheres.filter((_, index) => counts[index]! > 0);
  const rows =
    window.limit === 0 || filled.length === 0
      ? []
      : filled.length > 1
        ? await mergeMessages(storage, filled, window, direction, options.maxBytes, system)
        : await selectMessages(
            storage,
            {
              where: filled[0]!,
              ...(window.limit !== undefined && { limit: window.limit, offset: window.offset }),
            },
            direction,
            options.maxBytes,
            system,
          );
  const total = counts.reduce((sum, count) => sum + count, 0);
  const all = [...new Map([...rows, ...included].map((row) => [row.id, row])).values()];
  if (included.length > 0) {
    const sign = direction === "asc" ? 1 : -1;
    all.sort((a, b) => sign * ((a.seq as number) - (b.seq as number)));
  }
  return { messages: await assemble(storage, all), ...window.page(total) };
}

/** The newest messages of a thread, newest first. Costs the same however long the thread is. */
export function recentSelect(threadId: string, limit: number): Select<MessageRow> {
  return {
    table: MESSAGES,
    where: { thread_id: threadId },
    orderBy: [{ column: "seq", direction: "desc" }],
    limit,
  };
}

/** Rows become messages; one more select brings the parts that steps added. */
export async function assemble(storage: Storage, rows: readonly MessageRow[]): Promise<StoredMessage[]> {
  // Only a run adds steps, and only to what the assistant says.
  const ids = rows.filter((row) => row.role === "assistant").map((row) => row.id);
  return withSteps(rows, await readSteps(storage, ids));
}

/** What later steps added to messages, in order. */
export async function readSteps(storage: Storage, messageIds: readonly string[]): Promise<MessageStepRow[]> {
  if (messageIds.length === 0) return [];
  return storage.select({
    table: MESSAGE_STEPS,
    where: { message_id: { in: messageIds } },
    orderBy: [{ column: "message_id" }, { column: "step" }],
  });
}

export function withSteps(rows: readonly MessageRow[], steps: readonly MessageStepRow[]): StoredMessage[] {
  const parts = new Map<string, MessagePart[]>();
  for (const step of steps) {
    const id = step.message_id;
    const added = step.parts as MessagePart[];
    const known = parts.get(id);
    if (known) known.push(...added);
    else parts.set(id, [...added]);
  }
  return rows.map((row) => toMessage(row, parts.get(row.id)));
}

/** Conditions of which a message fits one. */
function toWheres({ threadId, resourceId, filter }: ListMessagesOptions): Where<MessageRow>[] {
  const threadIds = Array.isArray(threadId) ? threadId : [threadId];
  for (const id of threadIds) checkId("threadId", id);
  const created: Comparison<number> = {
    ...(filter?.dateRange?.start && { gte: toMillis("dateRange.start", filter.dateRange.start) }),
    ...(filter?.dateRange?.end && { lte: toMillis("dateRange.end", filter.dateRange.end) }),
  };
  const where: Where<MessageRow> = {
    thread_id: threadIds.length === 1 ? threadIds[0]! : { in: threadIds },
    ...(resourceId !== undefined && { resource_id: checkId("resourceId", resourceId) }),
    ...(Object.keys(created).length > 0 && { created_at: created }),
  };
  const roles = filter?.roles;
  if (!roles) return [where];
  const named = { ...where, role: { in: roles } };
  const isMore = roles.includes("user") && !roles.includes("signal");
  return isMore ? [named, { ...where, role: "signal", type: "user" }] : [named];
}

async function includedRows(
  storage: Storage,
  { include = [], resourceId }: ListMessagesOptions,
): Promise<MessageRow[]> {
  if (include.length === 0) return [];
  const anchors = await storage.select({
    table: MESSAGES,
    where: {
      id: { in: include.map((item) => checkId("include.id", item.id)) },
      // What belongs to someone else is not brought along, whatever id was asked for.
      ...(resourceId !== undefined && { resource_id: resourceId }),
    },
  });
  const byId = new Map(anchors.map((row) => [row.id, row]));
  const groups = await Promise.all(
    include.map(async (item) => {
      const anchor = byId.get(item.id);
      if (!anchor || (item.threadId !== undefined && item.threadId !== anchor.thread_id)) return [];
      const [before, after] = await Promise.all([
        neighbours(storage, anchor, "desc", item.withPreviousMessages),
        neighbours(storage, anchor, "asc", item.withNextMessages),
      ]);
      return [anchor, ...before, ...after];
    }),
  );
  return groups.flat();
}

async function neighbours(
  storage: Storage,
  anchor: MessageRow,
  direction: "asc" | "desc",
  limit = 0,
): Promise<MessageRow[]> {
  if (limit <= 0) return [];
  const seq = anchor.seq;
  return storage.select({
    table: MESSAGES,
    where: {
      thread_id: anchor.thread_id,
      resource_id: anchor.resource_id,
      seq: direction === "desc" ? { lt: seq } : { gt: seq },
    },
    orderBy: [{ column: "seq", direction }],
    limit,
  });
}
