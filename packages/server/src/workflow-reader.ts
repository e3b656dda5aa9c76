import type { NumberedWorkflowChunk, WorkflowRunStatus } from "@selvedge/protocol";
import type { ServedRun, ServedWorkflow } from "./served-workflow.ts";
import { noWorkflowRun } from "./subject.ts";

/** When a reader of a run ends: never, when the run ends, or also when it waits for a person. */
export type EndsAt = "never" | "end" | "rest";

export interface ReaderOptions {
  after: number;
  endsAt: EndsAt;
  /** Whether the run may have nothing more to say at the start. */
  mayEnd: boolean;
}

const WAITING: ReadonlySet<WorkflowRunStatus> = new Set(["suspended", "paused"]);
const ACTIVE: ReadonlySet<WorkflowRunStatus> = new Set(["pending", "running", "waiting"]);

/** Reads the events of a workflow run. A run that is resumed is executed again, so not every finish is its last. */
export class WorkflowReader {
  readonly #workflow: ServedWorkflow;
  readonly #runId: string;
  readonly #chunks: AsyncIterator<NumberedWorkflowChunk>;
  readonly #endsAt: EndsAt;
  #after: number;
  /** Whether the run may be at its end: checked before waiting for another event. */
  #mayEnd: boolean;

  constructor(workflow: ServedWorkflow, run: ServedRun, { after, endsAt, mayEnd }: ReaderOptions) {
    this.#workflow = workflow;
    this.#runId = run.runId;
    this.#chunks = run.events(after);
    this.#endsAt = endsAt;
    this.#after = after;
    this.#mayEnd = mayEnd;
  }

  /** The number of the last event. */
  get after(): number {
    return this.#after;
  }

  /** The next event; nothing at the end. */
  async next(): Promise<NumberedWorkflowChunk | undefined> {
    if (this.#mayEnd && (await this.#isOver())) return undefined;
    this.#mayEnd = false;
    const { done, value } = await this.#chunks.next();
    if (done) return undefined;
    this.#after = value.seq;
    this.#mayEnd = value.type === "workflow-finish" || value.type === "workflow-paused";
    return value;
  }

  leave(): void {
    this.#chunks.return?.().catch(() => {});
  }

  async #isOver(): Promise<boolean> {
    if (this.#endsAt === "never") return false;
    const run = await this.#workflow.read(this.#runId, { fields: [] });
    if (!run) throw noWorkflowRun(this.#workflow.id, this.#runId);
    if (run.lastSeq > this.#after || ACTIVE.has(run.status)) return false;
    return this.#endsAt === "rest" || !WAITING.has(run.status);
  }
}
