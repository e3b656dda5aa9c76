import type { Usage } from "@selvedge/protocol";
import { checkId } from "../storage/check-id.ts";
import type { Row, Storage } from "../storage/storage.ts";
import { THREADS } from "../storage/tables.ts";
import { ACTORS, LANES, RUNS } from "../storage/thread-tables.ts";
import { type Page, toWindow } from "../storage/page.ts";
import { firstFreeSeq, readActor } from "./actor.ts";
import { type Lane, toLane } from "./lane.ts";
import { readWaitingCalls, type WaitingCall } from "./waiting-calls.ts";

/** What goes on on a thread. */
export interface ThreadOverview {
  threadId: string;
  resourceId: string;
  activeRunId: string | undefined;
  runState: "idle" | "running" | "suspended";
  agentId: string | undefined;
  /** The number of the newest chunk. */
  lastSeq: number;
  /** The number before the first chunk of the active run; `lastSeq` where none is active. */
  activeRunAfter: number;
  /** Tool calls of the active run that wait for somebody. */
  waiting: WaitingCall[];
}

/** A run on a thread, as long as it is kept. */
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

/** The resource a thread belongs to; `undefined` when there is no such thread. */
export async function ownerOfThread(storage: Storage, threadId: string): Promise<string | undefined> {
  const actor = await readActor(storage, checkId("threadId", threadId));
  if (actor) return actor.resourceId;
  const [row] = await storage.select({ table: THREADS, where: { id: threadId }, limit: 1 });
  return row?.["resource_id"] as string | undefined;
}

/** How many runs of a resource go on, in whichever process. Those that wait for somebody do not count. */
export function countRunning(storage: Storage, resourceId: string): Promise<number> {
  const where = {
    run_state: "running",
    run_id: { ne: null },
    resource_id: checkId("resourceId", resourceId),
  };
  return storage.count({ table: ACTORS, where });
}

/** Where a run is and whose; `undefined` when none is kept under this id. */
export async function ownerOfRun(
  storage: Storage,
  runId: string,
): Promise<{ threadId: string; resourceId: string; agentId: string } | undefined> {
  const [row] = await storage.select({ table: RUNS, where: { id: checkId("runId", runId) }, limit: 1 });
  if (!row) return undefined;
  return {
    threadId: row["thread_id"] as string,
    resourceId: row["resource_id"] as string,
    agentId: row["agent_id"] as string,
  };
}

/** `undefined` when there is no such thread. */
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
    firstFreeSeq(storage, actor).then((next) => next - 1),
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
    activeRunAfter: run ? (run["first_seq"] as number) - 1 : lastSeq,
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

/** Runs of a thread that are kept, newest first. */
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

/** A run of a thread, if it is kept. */
export async function readRunRecord(
  storage: Storage,
  { threadId, runId }: { threadId: string; runId: string },
): Promise<RunRecord | undefined> {
  const where = { id: checkId("runId", runId), thread_id: checkId("threadId", threadId) };
  const [row] = await storage.select({ table: RUNS, where, limit: 1 });
  return row && toRun(row);
}

function toRun(row: Row): RunRecord {
  const time = (name: string) => (typeof row[name] === "number" ? new Date(row[name]) : undefined);
  return {
    runId: row["id"] as string,
    agentId: row["agent_id"] as string,
    threadId: row["thread_id"] as string,
    state: row["state"] as RunRecord["state"],
    startedAt: time("started_at") ?? new Date(0),
    endedAt: time("ended_at"),
    suspendedAt: time("suspended_at"),
    steps: (row["step"] as number | null) ?? 0,
    usage: (row["usage"] ?? undefined) as Usage | undefined,
    error: (row["error"] ?? undefined) as Record<string, unknown> | undefined,
    firstSeq: row["first_seq"] as number,
  };
}
