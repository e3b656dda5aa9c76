import { path } from "../router.tsx";

export function workflowPath(workflowId: string, query: { status?: string } = {}): string {
  return path(["workflows", workflowId], query);
}

/** The address of a run, and of one of its steps. */
export function runPath(workflowId: string, runId: string, query: { step?: string } = {}): string {
  return path(["workflows", workflowId, "runs", runId], query);
}
