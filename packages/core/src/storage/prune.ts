import { NOTIFICATION_STATUSES } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { sleep, type System } from "../system.ts";
import { COMMITS } from "./commit-table.ts";
import type { RowOf } from "./table.ts";
import { NOTIFICATIONS, type NotificationRow } from "./notification-table.ts";
import { pruners } from "./pruners.ts";
import type { Select, Storage, Where } from "./storage.ts";
import { ACTORS, EVENTS, RUNS, type RunRow, SENDS, type SendRow } from "./thread-tables.ts";
import { remove, requireNone } from "./writes.ts";

/**
 * Ids of commits are kept at least this long. A process that was paused between two attempts may send a commit again,
 * and it must not take effect twice.
 */
export const KEEP_COMMITS_MS = 3_600_000;

/** How long finished data is kept, in milliseconds. */
export interface Retention {
  /** Chunks of threads' streams, and finished runs. */
  retentionMs: number;
  /** The results of sends with an idempotency key: for this long, the same key means the same message. */
  idempotencyMs: number;
  /** Notifications that are no longer pending. */
  inboxMs: number;
  /** Runs of workflows that are over, with their steps and events. */
  workflowRunsMs: number;
  /** What scorers found. */
  scoresMs: number;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export const DEFAULT_RETENTION: Retention = {
  retentionMs: HOUR,
  idempotencyMs: DAY,
  inboxMs: 90 * DAY,
  workflowRunsMs: 30 * DAY,
  scoresMs: 90 * DAY,
};

export function checkRetention(retention: Retention): Retention {
  for (const [name, value] of Object.entries(retention))
    if (typeof value !== "number" || !(value >= 0))
      throw new AgentError(
        "invalid-argument",
        `${name} must be a number of milliseconds, got ${showValue(value)}.`,
      );
  return retention;
}

/** What was deleted. */
export interface PruneReport {
  events: number;
  runs: number;
  idempotencyKeys: number;
  notifications: number;
  workflowRuns: number;
  scores: number;
}

/** The most rows one commit deletes, so that other writers do not wait long. */
const BATCH = 500;
const SETTLED = NOTIFICATION_STATUSES.filter((status) => status !== "pending");

/**
 * Deletes old finished data of all threads, in small commits. Messages, threads, waiting work and the chunks of active
 * or waiting runs are never touched.
 */
export async function prune(storage: Storage, system: System, retention: Retention): Promise<PruneReport> {
  const { retentionMs, idempotencyMs, inboxMs } = retention;
  const before = (age: number) => Math.trunc(system.now() - age);
  const events = await pruneEvents(storage, system, before(retentionMs));
  const runs = await pruneBatches<RunRow>(storage, system, {
    select: { table: RUNS, where: { ended_at: { lt: before(retentionMs) } }, columns: ["id"] },
    order: "ended_at",
    rows: (found) => [{ id: { in: found.map((row) => row.id) } }],
  });
  const idempotencyKeys = await pruneBatches<SendRow>(storage, system, {
    select: {
      table: SENDS,
      where: { created_at: { lt: before(idempotencyMs) } },
      columns: ["thread_id", "key"],
    },
    order: "created_at",
    rows: (found) => byThread(found, "key"),
  });
  await pruneBatches<RowOf<typeof COMMITS>>(storage, system, {
    select: {
      table: COMMITS,
      where: { created_at: { lt: before(Math.max(retentionMs, KEEP_COMMITS_MS)) } },
      columns: ["id"],
    },
    order: "created_at",
    rows: (found) => [{ id: { in: found.map(({ id }) => id) } }],
  });
  const notifications = await pruneBatches<NotificationRow>(storage, system, {
    select: {
      table: NOTIFICATIONS,
      where: { status: { in: SETTLED }, updated_at: { lt: before(inboxMs) } },
      columns: ["thread_id", "id"],
    },
    order: "updated_at",
    rows: (found) => byThread(found, "id"),
  });
  const workflowRuns = (await pruners(storage).get("workflowRuns")?.(storage, system, retention)) ?? 0;
  const scores = (await pruners(storage).get("scores")?.(storage, system, retention)) ?? 0;
  return { events, runs, idempotencyKeys, notifications, workflowRuns, scores };
}

export async function pruneBatches<R extends object>(
  storage: Storage,
  system: System,
  {
    select,
    order,
    rows,
  }: { select: Select<R>; order: keyof R & string; rows(found: readonly R[]): Where<R>[] },
): Promise<number> {
  for (let deleted = 0; ;) {
    const found = await storage.select({ ...select, orderBy: [{ column: order }], limit: BATCH });
    if (found.length > 0) {
      // The condition again: a record may have changed since it was read.
      const writes = rows(found).map((where) => remove(select.table, { ...where, ...select.where }));
      const { changes } = await storage.commit(writes);
      deleted += changes.reduce((sum, count) => sum + count, 0);
    }
    if (found.length < BATCH) return deleted;
    await sleep(system, 0);
  }
}

async function pruneEvents(storage: Storage, system: System, before: number): Promise<number> {
  let deleted = 0;
  let from: number | undefined;
  for (;;) {
    const found = await storage.select({
      table: EVENTS,
      where: { rested_at: { lt: before, ...(from !== undefined && { gte: from }) } },
      columns: ["thread_id", "first", "rested_at"],
      orderBy: [{ column: "rested_at" }],
      limit: BATCH,
    });
    const last = new Map<string, number>();
    for (const row of found) {
      const threadId = row.thread_id;
      last.set(threadId, Math.max(last.get(threadId) ?? 0, row.first));
    }
    const actors = await storage.select({
      table: ACTORS,
      where: { thread_id: { in: [...last.keys()] }, run_id: { ne: null } },
      columns: ["thread_id"],
    });
    // Readers of an unfinished run may still ask for its start.
    for (const row of actors) last.delete(row.thread_id);
    for (const [threadId, first] of last) deleted += await deleteEvents(storage, threadId, first);
    if (found.length < BATCH) return deleted;
    const newest = found.at(-1)!.rested_at!;
    // Chunks of threads with a run stay, and must not be read again and again.
    if (actors.length > 0) from = from === newest ? newest + 1 : newest;
    await sleep(system, 0);
  }
}

async function deleteEvents(storage: Storage, threadId: string, first: number): Promise<number> {
  try {
    const { changes } = await storage.commit([
      requireNone(ACTORS, { thread_id: threadId, run_id: { ne: null } }),
      remove(EVENTS, { thread_id: threadId, first: { lte: first } }),
    ]);
    return changes[1] ?? 0;
  } catch (error) {
    // A run started in the meantime.
    if (AgentError.is(error, "conflict")) return 0;
    throw error;
  }
}

function byThread<R extends { thread_id: string }>(rows: readonly R[], key: keyof R & string): Where<R>[] {
  return [...Map.groupBy(rows, (row) => row.thread_id)].map(
    ([thread_id, some]) => ({ thread_id, [key]: { in: some.map((row) => row[key]) } }) as Where<R>,
  );
}
