import { AgentError, showValue } from "../errors.ts";
import { checkId, checkMetadata } from "../storage/check-id.ts";
import type { Row, Storage, Write } from "../storage/storage.ts";
import { LANES, type LaneRow } from "../storage/thread-tables.ts";
import { insert, update } from "../storage/writes.ts";
import type { SignalAttributes, SignalContents } from "./signal.ts";

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

/** A named state of a thread, as its producer reports it. */
export interface StateSignalInput {
  /** The lane. */
  id: string;
  /** The same key and mode as the current state means no change. */
  cacheKey: string;
  contents: SignalContents;
  mode?: StateMode;
  value?: unknown;
  delta?: unknown;
  attributes?: SignalAttributes;
  metadata?: Record<string, unknown>;
  tagName?: string;
}

/** A lane's name becomes a key of the thread's metadata. */
export function checkLaneId(id: unknown): string {
  const laneId = checkId("state.id", id);
  checkMetadata("stateSignals", { [laneId]: true });
  return laneId;
}

/** A key is often derived from the state itself, so it may be longer than an id. */
const MAX_KEY_BYTES = 64 << 10;

/** A producer's state report, with the default mode. */
export function checkState(state: { cacheKey?: unknown; mode?: unknown }): {
  cacheKey: string;
  mode: StateMode;
} {
  const { cacheKey, mode = "snapshot" } = state;
  if (typeof cacheKey !== "string" || cacheKey === "" || Buffer.byteLength(cacheKey) > MAX_KEY_BYTES) {
    throw new AgentError(
      "invalid-argument",
      `cacheKey must be a string of 1 to ${MAX_KEY_BYTES} bytes, got ${showValue(cacheKey)}.`,
    );
  }
  if (mode !== "snapshot" && mode !== "delta") {
    throw new AgentError("invalid-argument", `mode must be "snapshot" or "delta", got ${showValue(mode)}.`);
  }
  return { cacheKey: cacheKey.toWellFormed(), mode };
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

/** Advances a lane by one version, if it is still at the version the caller read. */
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
  if (!seen) return insert(LANES, { thread_id: threadId, lane_id: laneId, ...row });
  const where = { thread_id: threadId, lane_id: laneId, version: seen.version };
  return update(LANES, { where, set: row, require: true });
}

export function toLane(row: LaneRow): Lane {
  return {
    id: row.lane_id,
    version: row.version,
    cacheKey: row.cache_key,
    mode: row.mode as StateMode,
    lastSignalId: row.last_signal_id,
    lastSnapshotId: row.last_snapshot_id ?? undefined,
    updatedAt: new Date(row.updated_at),
  };
}
