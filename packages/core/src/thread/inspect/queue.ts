import { AgentError } from "../../errors.ts";
import { createSignal, DEFAULT_SIGNAL_LIMITS, type SignalContents } from "../../signal/signal.ts";
import type { CreatedAgentSignal, SignalLimits } from "../../signal/signal.ts";
import { checkId } from "../../storage/check-id.ts";
import type { Storage, Write } from "../../storage/storage.ts";
import { ACTORS, MAILBOX } from "../../storage/thread-tables.ts";
import {
  CONTINUE,
  type MailboxItem,
  insertItem,
  itemBytes,
  NEXT,
  NOW,
  noteEmpty,
  readMailbox,
  runOpenedBy,
} from "../admit/mailbox.ts";
import { readActor } from "../hold/actor.ts";
import { QueueWatch } from "./queue-watch.ts";
import { insert, remove, requireRow, update } from "../../storage/writes.ts";

/** A message that was accepted and that no run has taken yet. */
export interface QueuedMessage {
  id: string;
  agentId: string;
  /** `now` joins the run under way at its next step; `next` opens a run of its own. */
  due: "now" | "next";
  /** The run it opens, or was to join. */
  runId: string;
  signal: CreatedAgentSignal;
}

const MAX_LISTED = 1000;
const MOVE_ATTEMPTS = 20;

/** What waits on a thread, in the order in which it is taken. */
export async function listQueued(storage: Storage, threadId: string): Promise<QueuedMessage[]> {
  const items = await readMailbox(storage, checkId("threadId", threadId), { limit: MAX_LISTED });
  const actor = items.length > 0 ? await readActor(storage, threadId) : undefined;
  // Results of a client's tools wait there too; nobody said them. What opened the active run does not wait any more.
  return items.filter((item) => item.due !== CONTINUE && runOpenedBy(item) !== actor?.runId).map(toQueued);
}

/** Changes what a queued message says. Once a run has taken it there is nothing to change: `not-found`. */
export async function editQueued(
  storage: Storage,
  address: { threadId: string; messageId: string },
  contents: SignalContents,
  limits: SignalLimits = DEFAULT_SIGNAL_LIMITS,
): Promise<QueuedMessage> {
  let edited: CreatedAgentSignal | undefined;
  const item = await change(storage, address, ({ signal, options, bytes: before }) => {
    const { acceptedAt = signal.createdAt } = signal;
    edited = createSignal(
      { ...signal.toJSON(), contents },
      { newId: () => signal.id, now: () => acceptedAt.getTime() },
      limits,
    );
    const json = edited.toJSON();
    const bytes = itemBytes(json, options);
    return {
      writes: [update(MAILBOX, { where: { id: signal.id }, set: { signal: json as never, bytes } })],
      increment: { mailbox_bytes: bytes - before },
    };
  });
  return toQueued({ ...item, signal: edited! });
}

/** Takes a queued message back, before a run takes it. */
export async function removeQueued(
  storage: Storage,
  address: { threadId: string; messageId: string },
): Promise<void> {
  await change(storage, address, ({ signal, bytes }) => ({
    writes: [remove(MAILBOX, { id: signal.id })],
    increment: { mailbox_count: -1, mailbox_bytes: -bytes },
  }));
}

/** Lets a queued message join the run under way, or open one at once. Tell the thread's run that mail may have come. */
export async function hurryQueued(
  storage: Storage,
  address: { threadId: string; messageId: string },
): Promise<void> {
  // It gets in line again: what waits there for the same run was promised that it opens it.
  await change(storage, address, (item) => ({
    writes: [remove(MAILBOX, { id: item.signal.id }), insertItem({ ...item, due: NOW })],
    increment: {},
  }));
}

/** Puts a queued message at another place among those that wait: 0 is taken first. */
export async function moveQueued(
  storage: Storage,
  address: { threadId: string; messageId: string },
  to: number,
): Promise<void> {
  const { threadId, messageId } = address;
  for (let attempt = 0; ; attempt++) {
    await findQueued(storage, address);
    // In this order: what is changed after the first look raises the fence.
    const [actor] = await storage.select({ table: ACTORS, where: { thread_id: threadId }, limit: 1 });
    const rows = await storage.select({
      table: MAILBOX,
      where: { thread_id: threadId, due: NEXT },
      orderBy: [{ column: "seq" }],
      limit: MAX_LISTED,
    });
    const others = rows.filter(({ id }) => id !== messageId);
    const moved = rows.find(({ id }) => id === messageId);
    if (!actor || !moved) throw gone(threadId, messageId);
    const wanted = others.toSpliced(to, 0, moved);
    const first = wanted.findIndex(({ id }, index) => id !== rows[index]!.id);
    if (first < 0) return;
    const tail = wanted.slice(first);
    if (tail.some((row) => actor.run_id === (row.opens === 1 ? row.run_id : row.id)))
      throw gone(threadId, messageId);
    const { fence, run_id, mailbox_count } = actor;
    try {
      await storage.commit([
        // Whoever takes a message or adds one meanwhile was faster: then this is looked at again.
        update(ACTORS, {
          where: { thread_id: threadId, fence, run_id, mailbox_count },
          increment: { fence: 1 },
          require: true,
        }),
        // The store numbers them anew, in this order.
        ...tail.map(({ id }) => remove(MAILBOX, { id, thread_id: threadId, due: NEXT }, { require: true })),
        ...tail.map(({ seq: _, ...row }) => insert(MAILBOX, row)),
      ]);
    } catch (error) {
      if (AgentError.is(error, "conflict") && attempt < MOVE_ATTEMPTS) continue;
      throw error;
    }
    return QueueWatch.of(storage).changed(threadId);
  }
}

async function findQueued(
  storage: Storage,
  { threadId, messageId }: { threadId: string; messageId: string },
): Promise<MailboxItem> {
  checkId("threadId", threadId);
  checkId("messageId", messageId);
  const items = await readMailbox(storage, threadId, { id: messageId, limit: 1 });
  const [item] = items;
  if (!item || item.due === CONTINUE) throw gone(threadId, messageId);
  if (item.due === NEXT) return item;
  throw new AgentError(
    "conflict",
    `Message "${messageId}" joins the active run at its next step, so it cannot be changed. Only queued messages can be changed.`,
  );
}

const ATTEMPTS = 20;

/**
 * A process that is about to open a run has read the item together with the fence. Raising the fence makes it look
 * again, so a run never begins with a message that was changed or taken back. Nor does a change meet another.
 */
async function change(
  storage: Storage,
  address: { threadId: string; messageId: string },
  make: (item: MailboxItem) => { writes: readonly Write[]; increment: Record<string, number> },
): Promise<MailboxItem> {
  const { threadId, messageId } = address;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const [actor] = await storage.select({ table: ACTORS, where: { thread_id: threadId }, limit: 1 });
    const item = await findQueued(storage, address);
    if (!actor || actor.run_id === runOpenedBy(item)) break;
    const { writes, increment } = make(item);
    try {
      await storage.commit([
        update(ACTORS, {
          where: { thread_id: threadId, fence: actor.fence, run_id: actor.run_id },
          increment: { fence: 1, ...increment },
          require: true,
        }),
        requireRow(MAILBOX, { id: item.signal.id, thread_id: threadId, due: NEXT }),
        ...writes,
        noteEmpty(threadId),
      ]);
    } catch (error) {
      if (AgentError.is(error, "conflict")) continue;
      throw error;
    }
    QueueWatch.of(storage).changed(threadId);
    return item;
  }
  throw gone(threadId, messageId);
}

function toQueued({ signal, agentId, due, runId }: MailboxItem): QueuedMessage {
  return { id: signal.id, agentId, due: due === NEXT ? "next" : "now", runId, signal };
}

function gone(threadId: string, messageId: string): AgentError {
  return new AgentError("not-found", `No message "${messageId}" waits on thread "${threadId}".`);
}
