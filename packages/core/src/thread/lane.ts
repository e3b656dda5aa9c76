import type { Row, Storage, Write } from "../storage/storage.ts";
import { LANES } from "../storage/thread-tables.ts";

export type StateMode = "snapshot" | "delta";

/** The current state of a named lane of a thread. */
export interface Lane {
  id: string;
  version: number;
  cacheKey: string;
  mode: StateMode;
  lastSignalId: string;
  lastSnapshotId: string | undefined;
  updatedAt: Date;
}

export async function readLane(
  storage: Storage,
  threadId: string,
  laneId: string,
): Promise<Lane | undefined> {
  const [row] = await storage.select({
    table: LANES,
    where: { thread_id: threadId, lane_id: laneId },
    limit: 1,
  });
  return row && toLane(row);
}

export async function listLanes(storage: Storage, threadId: string): Promise<Lane[]> {
  const rows = await storage.select({
    table: LANES,
    where: { thread_id: threadId },
    orderBy: [{ column: "lane_id" }],
  });
  return rows.map(toLane);
}

/** Moves a lane on by one version, if it is still where the caller saw it. */
export function advanceLane(
  threadId: string,
  laneId: string,
  seen: Lane | undefined,
  next: { cacheKey: string; mode: StateMode; signalId: string; now: number },
): Write {
  const row: Row = {
    version: (seen?.version ?? 0) + 1,
    cache_key: next.cacheKey,
    mode: next.mode,
    last_signal_id: next.signalId,
    last_snapshot_id: next.mode === "snapshot" ? next.signalId : (seen?.lastSnapshotId ?? null),
    updated_at: Math.trunc(next.now),
  };
  if (!seen) return { op: "insert", table: LANES, row: { thread_id: threadId, lane_id: laneId, ...row } };
  const where = { thread_id: threadId, lane_id: laneId, version: seen.version };
  return { op: "update", table: LANES, where, set: row, require: true };
}

function toLane(row: Row): Lane {
  return {
    id: row["lane_id"] as string,
    version: row["version"] as number,
    cacheKey: row["cache_key"] as string,
    mode: row["mode"] as StateMode,
    lastSignalId: row["last_signal_id"] as string,
    lastSnapshotId: (row["last_snapshot_id"] as string | null) ?? undefined,
    updatedAt: new Date(row["updated_at"] as number),
  };
}
