import type { StoredMessage } from "@selvedge/protocol";
import type { Storage, Write } from "../../storage/storage.ts";
import { ACTORS, MAILBOX, type MailboxRow } from "../../storage/thread-tables.ts";
import { type CreatedAgentSignal, reviveSignal } from "../../signal/signal.ts";
import type { StoredOptions } from "../../run/stored-options.ts";
import { insert, remove, requireNone, update } from "../../storage/writes.ts";

/**
 * `NOW` joins the active run at its next step, or opens one; the others open a separate run: results of a client's
 * tools before anything queued.
 */
export const NOW = 0;
export const CONTINUE = 1;
export const NEXT = 2;
export type Due = typeof NOW | typeof CONTINUE | typeof NEXT;

/** A waiting signal, or waiting messages: the signal is then only their envelope. */
export interface MailboxItem {
  seq: number;
  threadId: string;
  resourceId: string;
  agentId: string;
  due: Due;
  /** The run it opens, or the one it was to join. */
  runId: string;
  opens: boolean;
  signal: CreatedAgentSignal;
  /** The input of a `CONTINUE` run. */
  messages?: StoredMessage[] | undefined;
  options: StoredOptions | undefined;
  bytes: number;
  /** How often a run that it opened failed before taking it. */
  attempts?: number;
}

export interface MailboxLimits {
  messages: number;
  bytes: number;
}

export const DEFAULT_MAILBOX_LIMITS: MailboxLimits = { messages: 10_000, bytes: 64 << 20 };

/** The size of an item, including its options. */
export function itemBytes(contents: unknown, options: StoredOptions | undefined): number {
  return (
    Buffer.byteLength(JSON.stringify(contents)) + (options ? Buffer.byteLength(JSON.stringify(options)) : 0)
  );
}

/** Adds an item, unless the mailbox is full: the second write then fails. */
export function postItem(item: Omit<MailboxItem, "seq">, limits: MailboxLimits): [Write, Write] {
  const room = {
    thread_id: item.threadId,
    mailbox_count: { lt: limits.messages },
    mailbox_bytes: { lte: limits.bytes - item.bytes },
  };
  return [
    insertItem(item),
    update(ACTORS, {
      where: room,
      set: { has_mail: 1 },
      increment: { mailbox_count: 1, mailbox_bytes: item.bytes },
      require: true,
    }),
  ];
}

export function insertItem(item: Omit<MailboxItem, "seq">): Write {
  const { messages, options = null } = item;
  return insert(MAILBOX, {
    id: item.signal.id,
    thread_id: item.threadId,
    resource_id: item.resourceId,
    agent_id: item.agentId,
    due: item.due,
    run_id: item.runId,
    opens: item.opens ? 1 : 0,
    signal: item.signal.toJSON() as never,
    options: (messages ? { ...options, messages } : options) as never,
    bytes: item.bytes,
  });
}

/** Takes items out. In one commit with their effects, so each is taken once. */
export function takeItems(threadId: string, items: readonly MailboxItem[]): Write[] {
  if (items.length === 0) return [];
  const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
  return [
    ...items.map((item): Write => remove(MAILBOX, { id: item.signal.id }, { require: true })),
    update(ACTORS, {
      where: { thread_id: threadId },
      increment: { mailbox_count: -items.length, mailbox_bytes: -bytes },
    }),
    noteEmpty(threadId),
  ];
}

/** After something was taken out. */
export function noteEmpty(threadId: string): Write {
  return update(ACTORS, { where: { thread_id: threadId, mailbox_count: 0 }, set: { has_mail: null } });
}

/** The run that an item opened failed before it took the item. */
export function countAttempt(threadId: string, runId: string): Write[] {
  const count = { attempts: 1 };
  return [
    update(MAILBOX, { where: { thread_id: threadId, opens: 1, run_id: runId }, increment: count }),
    update(MAILBOX, { where: { thread_id: threadId, opens: 0, id: runId }, increment: count }),
  ];
}

/** Nothing waits for the active run, or to open one: of one agent, or of any. */
export function nothingDueNow(threadId: string, agentId?: string): Write {
  const where = { thread_id: threadId, due: NOW, ...(agentId !== undefined && { agent_id: agentId }) };
  return requireNone(MAILBOX, where);
}

export function nothingWaits(threadId: string): Write {
  return requireNone(MAILBOX, { thread_id: threadId });
}

/** The run an item opens: the one its sender was promised, or a new one if that run is over. */
export function runOpenedBy(item: MailboxItem): string {
  return item.opens ? item.runId : item.signal.id;
}

/** Waiting items, those due now first, oldest first. */
export async function readMailbox(
  storage: Storage,
  threadId: string,
  options: { due?: Due; agentId?: string; id?: string; limit: number },
): Promise<MailboxItem[]> {
  const rows = await storage.select({
    table: MAILBOX,
    where: {
      thread_id: threadId,
      ...(options.due !== undefined && { due: options.due }),
      ...(options.agentId !== undefined && { agent_id: options.agentId }),
      ...(options.id !== undefined && { id: options.id }),
    },
    orderBy: [{ column: "due" }, { column: "seq" }],
    limit: options.limit,
  });
  return rows.map(toItem);
}

function toItem(row: MailboxRow): MailboxItem {
  const { messages, ...options } = (row.options ?? {}) as StoredOptions;
  return {
    seq: row.seq,
    threadId: row.thread_id,
    resourceId: row.resource_id,
    agentId: row.agent_id,
    due: row.due as Due,
    runId: row.run_id,
    opens: row.opens === 1,
    signal: reviveSignal(row.signal as never),
    ...(messages !== undefined && { messages: messages as unknown as StoredMessage[] }),
    options: row.options ? options : undefined,
    bytes: row.bytes,
    attempts: row.attempts ?? 0,
  };
}
