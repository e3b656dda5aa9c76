import type { WorkflowRunRecord, WorkflowRunSnapshot, WorkflowRunStatus } from "@selvedge/protocol";

interface RunAddress {
  runId: string;
  workflowName?: string;
}

/** Runs of workflows, as other programs read and write them. */
export interface WorkflowSnapshots {
  loadWorkflowSnapshot(run: RunAddress): Promise<WorkflowRunSnapshot | null>;
  /** Stores a run from elsewhere, to be read. A run of this store is replaced. */
  persistWorkflowSnapshot(
    run: RunAddress & { resourceId?: string; snapshot: WorkflowRunSnapshot },
  ): Promise<void>;
  getWorkflowRunById(run: RunAddress): Promise<WorkflowRunRecord | null>;
  listWorkflowRuns(options?: {
    workflowName?: string;
    fromDate?: Date;
    toDate?: Date;
    page?: number;
    perPage?: number;
    resourceId?: string;
    status?: WorkflowRunStatus;
  }): Promise<{ runs: WorkflowRunRecord[]; total: number }>;
  deleteWorkflowRunById(run: RunAddress): Promise<void>;
}
