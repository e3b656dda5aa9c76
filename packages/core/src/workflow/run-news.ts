import type { Change } from "../storage/storage.ts";
import type { CarriedRuns } from "./carried-runs.ts";
import { noRun } from "./run-errors.ts";
import type { RunParts } from "./run-parts.ts";
import { readRun } from "./run-rows.ts";
import { WORKFLOW_RUNS } from "./workflow-tables.ts";

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
    const rows = await storage.select({
      table: WORKFLOW_RUNS,
      where: { run_id: { in: ids } },
      columns: ["run_id", "owner", "due_at"],
    });
    const known = new Map(rows.map((row) => [row.run_id, row]));
    for (const runId of ids) {
      const row = known.get(runId);
      if (!row) waiters.reject(runId, noRun(runId));
      // A due time means that it continues.
      else if (row.owner === null && row.due_at === null) {
        const stored = await readRun(storage, runId);
        const rests = stored && !stored.image.isOwned && stored.row.due_at === null;
        if (rests && !this.#runs.has(runId)) waiters.resolve(runId, stored.image);
      }
    }
  }
}
