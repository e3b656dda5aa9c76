import type { Storage, Write } from "../../storage/storage.ts";
import { ACTORS, EVENTS, type ActorRow } from "../../storage/thread-tables.ts";
import { insert, requireRow } from "../../storage/writes.ts";
import { noThread } from "../../storage/no-thread.ts";

/** The state of a thread's actor row. */
export interface Actor {
  threadId: string;
  resourceId: string;
  owner: string | undefined;
  fence: number;
  runId: string | undefined;
  runState: "idle" | "running" | "suspended";
  agentId: string | undefined;
  nextSeq: number;
  abortRun: string | undefined;
  mailboxCount: number;
}

export function toActor(row: ActorRow): Actor {
  return {
    threadId: row.thread_id,
    resourceId: row.resource_id,
    owner: row.owner ?? undefined,
    fence: row.fence,
    runId: row.run_id ?? undefined,
    runState: row.run_state,
    agentId: row.agent_id ?? undefined,
    nextSeq: row.next_seq,
    abortRun: row.abort_run ?? undefined,
    mailboxCount: row.mailbox_count ?? 0,
  };
}

/** Changes whenever a thread gets events, except while a run is working. */
export function markOf(actor: Actor | undefined): string {
  return actor ? `${actor.fence} ${actor.runId} ${actor.nextSeq}` : "";
}

export async function readActor(storage: Storage, threadId: string): Promise<Actor | undefined> {
  const [row] = await storage.select({ table: ACTORS, where: { thread_id: threadId }, limit: 1 });
  return row && toActor(row);
}

/** The row of a thread without any activity. */
export function newActor(threadId: string, resourceId: string): Partial<ActorRow> {
  return {
    thread_id: threadId,
    resource_id: resourceId,
    fence: 0,
    run_state: "idle",
    next_seq: 1,
    mailbox_count: 0,
    mailbox_bytes: 0,
  };
}

/** Creates the row of a thread that has none. */
export function insertActor(threadId: string, resourceId: string): Write {
  return insert(ACTORS, newActor(threadId, resourceId), "ignore");
}

/** The row as it must still be for a write to count. */
export function requireRun(threadId: string, runId: string | undefined): Write {
  return requireRow(ACTORS, { thread_id: threadId, run_id: runId ?? null });
}

/** The first unused event number of the thread. */
export async function firstFreeSeq(storage: Storage, actor: Actor): Promise<number> {
  const [last] = await storage.select({
    table: EVENTS,
    where: { thread_id: actor.threadId, first: { gte: actor.nextSeq } },
    orderBy: [{ column: "first", direction: "desc" }],
    limit: 1,
  });
  return last ? last.last + 1 : actor.nextSeq;
}

/** The owner of a thread, without revealing more than the caller said. */
export function checkOwnership(
  actor: { resourceId: string } | undefined,
  threadId: string,
  resourceId: string | undefined,
): void {
  if (!actor || resourceId === undefined || actor.resourceId === resourceId) return;
  throw noThread(threadId, resourceId);
}
