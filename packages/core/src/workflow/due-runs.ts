import { DueTimer } from "./due-timer.ts";
import type { RunParts } from "./run-parts.ts";
import { WORKFLOW_RUNS } from "./workflow-tables.ts";

const AT_ONCE = 500;

/** Wakes runs whose sleep is over. The store knows them; this process only knows when to look. */
export class DueRuns {
  readonly #parts: RunParts;
  readonly #timer: DueTimer;
  readonly #onDue: (runId: string) => void;

  constructor(
    parts: RunParts,
    { onDue, onError }: { onDue(runId: string): void; onError(error: unknown): void },
  ) {
    this.#parts = parts;
    this.#onDue = onDue;
    this.#timer = new DueTimer(parts.system, () => void this.#look().catch(onError));
  }

  /** A run is due at this time. A caller that waits for it keeps the process alive. */
  at(runId: string, time: number): void {
    this.#timer.at(time, { background: !this.#parts.waiters.has(runId) });
  }

  stop(): void {
    this.#timer.stop();
  }

  /** Takes up what is due, and sets the timer for what is next. */
  async #look(): Promise<void> {
    const { storage, system, definitions, waiters } = this.#parts;
    if (definitions.size === 0) return;
    const workflow_id = { in: [...definitions.keys()] };
    const now = Math.trunc(system.now());
    const rows = await storage.select({
      table: WORKFLOW_RUNS,
      where: { owner: null, due_at: { ne: null }, workflow_id },
      orderBy: [{ column: "due_at" }],
      columns: ["run_id", "due_at"],
      limit: AT_ONCE,
    });
    const due = rows.filter(({ due_at }) => due_at! <= now);
    for (const { run_id } of due) this.#onDue(run_id);
    const next =
      rows.find(({ due_at }) => due_at! > now)?.due_at ?? (due.length === AT_ONCE ? now + 1 : undefined);
    if (next !== undefined) this.#timer.at(next!, { background: waiters.isEmpty });
  }
}
