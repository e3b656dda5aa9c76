import { AgentError, showValue } from "../../errors.ts";
import { checkId } from "../../storage/check-id.ts";
import { toWindow } from "../../storage/page.ts";
import type { Storage, Where } from "../../storage/storage.ts";
import { RUNS } from "../../storage/thread-tables.ts";
import { questionsOf, readWaitingCalls, type WaitingCall } from "./waiting-calls.ts";

export interface ListSuspendedRunsOptions {
  threadId?: string;
  resourceId?: string;
  fromDate?: Date;
  toDate?: Date;
  perPage?: number;
  page?: number;
}

export interface SuspendedRun {
  runId: string;
  status: "suspended";
  threadId: string;
  resourceId: string;
  suspendedAt: Date;
  toolCalls: WaitingCall[];
}

const DEFAULT_PER_PAGE = 100;

/** Runs of an agent that wait for a person, longest wait first. */
export async function listSuspendedRuns(
  storage: Storage,
  agentId: string,
  options: ListSuspendedRunsOptions,
): Promise<{ runs: SuspendedRun[]; total: number }> {
  const { threadId, resourceId, fromDate, toDate } = options ?? {};
  if (threadId !== undefined) checkId("threadId", threadId);
  if (resourceId !== undefined) checkId("resourceId", resourceId);
  const { limit, offset } = toWindow(options ?? {}, DEFAULT_PER_PAGE);
  const since = {
    ne: null,
    ...(fromDate !== undefined && { gte: toTime("fromDate", fromDate) }),
    ...(toDate !== undefined && { lte: toTime("toDate", toDate) }),
  };
  const where: Where = {
    state: "suspended",
    agent_id: agentId,
    ...(threadId !== undefined && { thread_id: threadId }),
    ...(resourceId !== undefined && { resource_id: resourceId }),
    suspended_at: since,
  };
  const [rows, total] = await Promise.all([
    storage.select({
      table: RUNS,
      where,
      orderBy: [{ column: "suspended_at" }, { column: "id" }],
      ...(limit !== undefined && { limit, offset }),
    }),
    storage.count({ table: RUNS, where }),
  ]);
  const calls = await readWaitingCalls(
    storage,
    rows.map((row) => row.id),
  );
  return {
    total,
    runs: rows.map((row) => ({
      runId: row.id,
      status: "suspended",
      threadId: row.thread_id,
      resourceId: row.resource_id,
      suspendedAt: new Date(row.suspended_at ?? 0),
      toolCalls: (calls.get(row.id) ?? []).flatMap(questionsOf),
    })),
  };
}

function toTime(name: string, value: unknown): number {
  const time = value instanceof Date ? value.getTime() : Number.NaN;
  if (Number.isNaN(time))
    throw new AgentError("invalid-argument", `${name} must be a date, got ${showValue(value)}.`);
  return time;
}
