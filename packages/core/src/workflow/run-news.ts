import type { Change } from "../storage/storage.ts";
import type { CarriedRuns } from "./carried-runs.ts";
import { noRun } from "./run-errors.ts";
import { isEnd } from "./run-image.ts";
import type { RunParts } from "./run-parts.ts";
import { readRun } from "./run-rows.ts";
import { WORKFLOW_RUNS, type WorkflowRunRow } from "./workflow-tables.ts";

/**
 * Passes on what other processes wrote: to readers of events, to callers that wait for a run, and to runs with mail. Every
 * promise holds without news, only later: whatever they say is also found by looking now and then.
 */
export class RunNews {
  readonly #parts: RunParts;
  readonly #runs: CarriedRuns;

  constructor(parts: RunParts, runs: CarriedRuns) {
    this.#parts = parts;
    this.#runs = runs;
  }

  arrived(change: Change): void {
    const { waiters, logs } = this.#parts;
    const isNamed = (runId: string): boolean => change === "unknown" || change.keys.has(runId);
    logs.areBehind(isNamed);
    void this.checkWaiters(waiters.runIds.filter(isNamed)).catch(() => {});
    void this.#runs.changed(change === "unknown" ? undefined : isNamed).catch(() => {});
  }

  /** News may have been lost. */
  look(): void {
    const { waiters, logs } = this.#parts;
    logs.areBehind((runId) => !this.#runs.has(runId));
    void this.checkWaiters(waiters.runIds).catch(() => {});
    void this.#runs.check().catch(() => {});
  }

  /** Runs that are waited for may have come to rest in another process. */
  async checkWaiters(runIds: readonly string[]): Promise<void> {
    const { storage, waiters } = this.#parts;
    const ids = runIds.filter((runId) => waiters.has(runId) && !this.#runs.has(runId));
    if (ids.length === 0) return;
    const rejecting = new Map(ids.map((runId) => [runId, waiters.rejecting(runId)]));
    const rows = await storage.select({
      table: WORKFLOW_RUNS,
      where: { run_id: { in: ids } },
      columns: ["run_id", "status", "owner", "due_at"],
    });
    const known = new Map(rows.map((row) => [row.run_id, row]));
    for (const runId of ids) {
      const row = known.get(runId);
      if (!row) rejecting.get(runId)!(noRun(runId));
      else if (isAtRest(row)) {
        const stored = await readRun(storage, runId);
        if (stored && isAtRest(stored.row) && !this.#runs.has(runId)) waiters.resolve(runId, stored.image);
      }
    }
  }
}

/** A due time means that the run continues, unless it is over: then it has to end what it asked elsewhere. */
function isAtRest({ status, owner, due_at }: Pick<WorkflowRunRow, "status" | "owner" | "due_at">): boolean {
  return owner === null && (due_at === null || isEnd(status));
}
