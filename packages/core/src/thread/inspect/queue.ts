import { AgentError } from "../../errors.ts";
import { createSignal, DEFAULT_SIGNAL_LIMITS, type SignalContents } from "../../signal/signal.ts";
import type { CreatedAgentSignal, SignalLimits } from "../../signal/signal.ts";
import { checkId } from "../../storage/check-id.ts";
import type { Storage, Write } from "../../storage/storage.ts";
import { type ActorRow, ACTORS, MAILBOX } from "../../storage/thread-tables.ts";
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

/** An accepted message that no run has taken yet. */
export interface QueuedMessage {
  id: string;
  agentId: string;
  /** `now` joins the active run at its next step; `next` opens a separate run. */
  due: "now" | "next";
  /** The run it opens, or was to join. */
  runId: string;
  signal: CreatedAgentSignal;
}

const MAX_LISTED = 1000;

/** A thread's queue, in the order in which it is taken. */
export async function listQueued(storage: Storage, threadId: string): Promise<QueuedMessage[]> {
  const items = await readMailbox(storage, checkId("threadId", threadId), { limit: MAX_LISTED });
  const actor = items.length > 0 ? await readActor(storage, threadId) : undefined;
  // Results of a client's tools also wait there, but are not messages. The message that opened the active run no longer
  // waits.
  return items.filter((item) => item.due !== CONTINUE && runOpenedBy(item) !== actor?.runId).map(toQueued);
}

/** Changes a queued message. Once a run has taken it: `not-found`. */
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

/** Removes a queued message before a run takes it. */
export async function removeQueued(
  storage: Storage,
  address: { threadId: string; messageId: string },
): Promise<void> {
  await change(storage, address, ({ signal, bytes }) => ({
    writes: [remove(MAILBOX, { id: signal.id })],
    increment: { mailbox_count: -1, mailbox_bytes: -bytes },
  }));
}

/** Lets a queued message join the active run, or open one at once. Afterwards, notify the thread's run. */
export async function hurryQueued(
  storage: Storage,
  address: { threadId: string; messageId: string },
): Promise<void> {
  // It joins the line again: what waits there for the same run was promised that it opens it.
  await change(storage, address, (item) => ({
    writes: [remove(MAILBOX, { id: item.signal.id }), insertItem({ ...item, due: NOW })],
  }));
}

/** Moves a queued message to another position: 0 is taken first. */
export async function moveQueued(
  storage: Storage,
  address: { threadId: string; messageId: string },
  to: number,
): Promise<void> {
  const { threadId, messageId } = address;
  await change(storage, address, async (_, { run_id, mailbox_count }) => {
    // All of them: what is numbered again comes after everything that is not.
    const rows = await storage.select({
      table: MAILBOX,
      where: { thread_id: threadId, due: NEXT },
      orderBy: [{ column: "seq" }],
    });
    const moved = rows.find(({ id }) => id === messageId);
    if (!moved) throw gone(threadId, messageId);
    const wanted = rows.filter((row) => row !== moved).toSpliced(to, 0, moved);
    const first = wanted.findIndex((row, index) => row !== rows[index]);
    if (first < 0) return undefined;
    const tail = wanted.slice(first);
    if (tail.some((row) => run_id === (row.opens === 1 ? row.run_id : row.id)))
      throw gone(threadId, messageId);
    return {
      // A message that is added in the meantime must not end up before these.
      where: { mailbox_count },
      writes: [
        // The store numbers them again, in this order.
        ...tail.map(({ id }) => remove(MAILBOX, { id, thread_id: threadId, due: NEXT }, { require: true })),
        ...tail.map(({ seq: _, ...row }) => insert(MAILBOX, row)),
      ],
    };
  });
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

/** What a change of the queue writes, beside the counts in the thread's row. */
interface QueueChange {
  writes: readonly Write[];
  increment?: Record<string, number>;
  /** What else must be true of the thread's row. */
  where?: Partial<ActorRow>;
}

const ATTEMPTS = 20;

/**
 * A process that is about to open a run has read the item together with the fence. Raising the fence makes it read
 * again, so a run never starts with a message that was changed or removed. Two changes do not collide either. The row
 * with the fence is read first: what changes afterwards is noticed.
 */
async function change(
  storage: Storage,
  address: { threadId: string; messageId: string },
  make: (item: MailboxItem, actor: ActorRow) => QueueChange | undefined | Promise<QueueChange | undefined>,
): Promise<MailboxItem> {
  const { threadId, messageId } = address;
  for (let attempt = 1; ; attempt++) {
    const [actor] = await storage.select({ table: ACTORS, where: { thread_id: threadId }, limit: 1 });
    const item = await findQueued(storage, address);
    if (!actor || actor.run_id === runOpenedBy(item)) throw gone(threadId, messageId);
    const wanted = await make(item, actor);
    if (!wanted) return item;
    try {
      await storage.commit([
        update(ACTORS, {
          where: { thread_id: threadId, fence: actor.fence, run_id: actor.run_id, ...wanted.where },
          increment: { fence: 1, ...wanted.increment },
          require: true,
        }),
        requireRow(MAILBOX, { id: item.signal.id, thread_id: threadId, due: NEXT }),
        ...wanted.writes,
        noteEmpty(threadId),
      ]);
    } catch (error) {
      if (AgentError.is(error, "conflict") && attempt < ATTEMPTS) continue;
      throw error;
    }
    QueueWatch.of(storage).changed(threadId);
    return item;
  }
}

function toQueued({ signal, agentId, due, runId }: MailboxItem): QueuedMessage {
  return { id: signal.id, agentId, due: due === NEXT ? "next" : "now", runId, signal };
}

function gone(threadId: string, messageId: string): AgentError {
  return new AgentError("not-found", `No message "${messageId}" waits on thread "${threadId}".`);
}
