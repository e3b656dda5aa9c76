import type { Usage } from "@selvedge/protocol";
import { checkId } from "../../storage/check-id.ts";
import type { Storage } from "../../storage/storage.ts";
import { THREADS } from "../../storage/tables.ts";
import { ACTORS, LANES, RUNS, type RunRow } from "../../storage/thread-tables.ts";
import { type Page, toWindow } from "../../storage/page.ts";
import { firstFreeSeq, readActor } from "../hold/actor.ts";
import { type Lane, toLane } from "../../signal/lane.ts";
import { readWaitingCalls, type WaitingCall } from "./waiting-calls.ts";

/** The activity of a thread. */
export interface ThreadOverview {
  threadId: string;
  resourceId: string;
  activeRunId: string | undefined;
  runState: "idle" | "running" | "suspended";
  agentId: string | undefined;
  /** The number of the newest chunk. */
  lastSeq: number;
  /** The number before the first chunk of the active run; `lastSeq` if none is active. */
  activeRunAfter: number;
  /** Tool calls of the active run that wait for a person. */
  waiting: WaitingCall[];
}

/** A run on a thread, while it is stored. */
export interface RunRecord {
  runId: string;
  agentId: string;
  threadId: string;
  state: "running" | "suspended" | "done" | "failed" | "aborted";
  startedAt: Date;
  endedAt: Date | undefined;
  suspendedAt: Date | undefined;
  steps: number;
  usage: Usage | undefined;
  error: Record<string, unknown> | undefined;
  /** The number of the run's first chunk. */
  firstSeq: number;
}

/** The resource that owns a thread; `undefined` if there is no such thread. */
export async function ownerOfThread(storage: Storage, threadId: string): Promise<string | undefined> {
  const actor = await readActor(storage, checkId("threadId", threadId));
  if (actor) return actor.resourceId;
  const [row] = await storage.select({ table: THREADS, where: { id: threadId }, limit: 1 });
  return row?.resource_id;
}

/** How many runs of a resource are active, in any process. Those that wait for a person do not count. */
export function countRunning(storage: Storage, resourceId: string): Promise<number> {
  const where = {
    run_state: "running" as const,
    run_id: { ne: null },
    resource_id: checkId("resourceId", resourceId),
  };
  return storage.count({ table: ACTORS, where });
}

/** The thread and owner of a run; `undefined` if none is stored under this id. */
export async function ownerOfRun(
  storage: Storage,
  runId: string,
): Promise<{ threadId: string; resourceId: string; agentId: string } | undefined> {
  const [row] = await storage.select({ table: RUNS, where: { id: checkId("runId", runId) }, limit: 1 });
  if (!row) return undefined;
  return {
    threadId: row.thread_id,
    resourceId: row.resource_id,
    agentId: row.agent_id,
  };
}

/** The agent of a run, while it is the active run of a thread. */
export async function agentOfActiveRun(
  storage: Storage,
  { threadId, runId }: { threadId: string; runId: string | undefined },
): Promise<string | undefined> {
  const actor = await readActor(storage, threadId);
  return actor?.runId !== undefined && actor.runId === runId ? actor.agentId : undefined;
}

/** `undefined` if there is no such thread. */
export async function readThreadOverview(
  storage: Storage,
  threadId: string,
): Promise<ThreadOverview | undefined> {
  const actor = await readActor(storage, checkId("threadId", threadId));
  if (!actor) {
    const resourceId = await ownerOfThread(storage, threadId);
    if (resourceId === undefined) return undefined;
    const idle = { activeRunId: undefined, runState: "idle", agentId: undefined } as const;
    return { threadId, resourceId, ...idle, lastSeq: 0, activeRunAfter: 0, waiting: [] };
  }
  const runId = actor.runId;
  const [lastSeq, [run], calls] = await Promise.all([
    // Without a run, nothing is written. Whatever follows belongs to a run that this read does not know.
    runId === undefined ? actor.nextSeq - 1 : firstFreeSeq(storage, actor).then((next) => next - 1),
    runId === undefined ? [] : storage.select({ table: RUNS, where: { id: runId }, limit: 1 }),
    readWaitingCalls(storage, runId === undefined ? [] : [runId]),
  ]);
  return {
    threadId,
    resourceId: actor.resourceId,
    activeRunId: runId,
    runState: actor.runState,
    agentId: actor.agentId,
    lastSeq,
    activeRunAfter: run ? run.first_seq - 1 : lastSeq,
    waiting: calls.get(runId ?? "") ?? [],
  };
}

/** The current state of each lane, by name. */
export async function listLanes(storage: Storage, threadId: string): Promise<Lane[]> {
  const rows = await storage.select({
    table: LANES,
    where: { thread_id: checkId("threadId", threadId) },
    orderBy: [{ column: "lane_id" }],
  });
  return rows.map(toLane);
}

/** Stored runs of a thread, newest first. */
export async function listRuns(
  storage: Storage,
  options: { threadId: string; page?: number | undefined; perPage?: number | undefined },
): Promise<Page & { runs: RunRecord[] }> {
  const window = toWindow(options, 50);
  const where = { thread_id: checkId("threadId", options.threadId) };
  const [total, rows] = await Promise.all([
    storage.count({ table: RUNS, where }),
    storage.select({
      table: RUNS,
      where,
      orderBy: [
        { column: "first_seq", direction: "desc" },
        { column: "started_at", direction: "desc" },
      ],
      ...(window.limit !== undefined && { limit: window.limit, offset: window.offset }),
    }),
  ]);
  return { runs: rows.map(toRun), ...window.page(total) };
}

/** A stored run of a thread. */
export async function readRunRecord(
  storage: Storage,
  { threadId, runId }: { threadId: string; runId: string },
): Promise<RunRecord | undefined> {
  const where = { id: checkId("runId", runId), thread_id: checkId("threadId", threadId) };
  const [row] = await storage.select({ table: RUNS, where, limit: 1 });
  return row && toRun(row);
}

function toRun(row: RunRow): RunRecord {
  const time = (ms: number | null) => (ms === null ? undefined : new Date(ms));
  return {
    runId: row.id,
    agentId: row.agent_id,
    threadId: row.thread_id,
    state: row.state,
    startedAt: new Date(row.started_at),
    endedAt: time(row.ended_at),
    suspendedAt: time(row.suspended_at),
    steps: row.step ?? 0,
    usage: (row.usage ?? undefined) as Usage | undefined,
    error: (row.error ?? undefined) as Record<string, unknown> | undefined,
    firstSeq: row.first_seq,
  };
}
