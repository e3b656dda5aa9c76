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

  /** A run is due at this time. */
  at(time: number): void {
    this.#timer.at(time);
  }

  stop(): void {
    this.#timer.stop();
  }

  /** Takes up what is due, and sets the timer for what is next. */
  async #look(): Promise<void> {
    const { storage, system, definitions } = this.#parts;
    if (definitions.size === 0) return;
    const ids = [...definitions.keys()];
    const now = Math.trunc(system.now());
    const due = await storage.select({
      table: WORKFLOW_RUNS,
      where: { owner: null, due_at: { ne: null, lte: now }, workflow_id: { in: ids } },
      orderBy: [{ column: "due_at" }],
      columns: ["run_id"],
      limit: AT_ONCE,
    });
    for (const { run_id } of due) this.#onDue(run_id);
    const next = due.length === AT_ONCE ? now + 1 : await this.#nextAfter(now, ids);
    if (next !== undefined) this.#timer.at(next);
  }

  /** One by one: each is the first row of an index, however many runs sleep. */
  async #nextAfter(now: number, workflowIds: readonly string[]): Promise<number | undefined> {
    const found = await this.#parts.storage.selectAll(
      workflowIds.map((workflow_id) => ({
        table: WORKFLOW_RUNS,
        where: { owner: null, due_at: { gt: now }, workflow_id },
        orderBy: [{ column: "due_at" as const }],
        columns: ["due_at" as const],
        limit: 1,
      })),
    );
    const times = found.flatMap((rows) => rows.map(({ due_at }) => due_at!));
    return times.length === 0 ? undefined : Math.min(...times);
  }
}
