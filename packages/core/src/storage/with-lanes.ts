import type { StoredThread } from "@selvedge/protocol";
import type { LaneRow } from "./thread-tables.ts";

/**
 * A thread as its owner sees it: the positions of its state lanes are part of the metadata, though stored separately.
 */
export function withLanes(thread: StoredThread, lanes: readonly LaneRow[]): StoredThread {
  if (lanes.length === 0) return thread;
  const stateSignals: Record<string, unknown> = {};
  for (const row of lanes) {
    stateSignals[row.lane_id] = {
      currentCacheKey: row.cache_key,
      currentMode: row.mode,
      version: row.version,
      lastSignalId: row.last_signal_id,
      ...(row.last_snapshot_id !== null && { lastSnapshotSignalId: row.last_snapshot_id }),
      updatedAt: new Date(row.updated_at).toISOString(),
    };
  }
  const mastra = { ...Object(thread.metadata?.["mastra"]), stateSignals };
  return { ...thread, metadata: { ...thread.metadata, mastra } };
}
