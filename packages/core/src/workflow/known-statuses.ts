import type { WorkflowRunStatus } from "@selvedge/protocol";

const MAX_STATUSES = 10_000;

/** The statuses of runs as this process saw them last, so that a run no one waits for shows what became of it. */
export class KnownStatuses {
  readonly #statuses = new Map<string, WorkflowRunStatus>();

  set(runId: string, status: WorkflowRunStatus): void {
    // The newest is the last to go.
    this.#statuses.delete(runId);
    this.#statuses.set(runId, status);
    if (this.#statuses.size > MAX_STATUSES) this.#statuses.delete(this.#statuses.keys().next().value!);
  }

  /** What an answer of the store says, unless the run went on while it was on its way. */
  replace(runId: string, before: WorkflowRunStatus | undefined, status: WorkflowRunStatus): void {
    if (this.#statuses.get(runId) === before) this.set(runId, status);
  }

  get(runId: string): WorkflowRunStatus | undefined {
    return this.#statuses.get(runId);
  }

  forget(runId: string): void {
    this.#statuses.delete(runId);
  }
}
