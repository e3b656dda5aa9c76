import { AgentError } from "../errors.ts";

export function noRun(runId: string): AgentError {
  return new AgentError("not-found", `There is no workflow run "${runId}".`);
}

export function alreadyStarted(runId: string): AgentError {
  return new AgentError(
    "conflict",
    `Workflow run "${runId}" was already started. Create a run with another id, or continue this one with resume() or restart().`,
  );
}

export function stillRunning(runId: string): AgentError {
  return new AgentError(
    "conflict",
    `Workflow run "${runId}" is still running. Wait for it, or cancel it first.`,
  );
}

/** It was, when the caller read it. */
export function notSuspended(runId: string, status: string): AgentError {
  return new AgentError("conflict", `This workflow run was not suspended: run "${runId}" is ${status}.`);
}

export function canceledBefore(runId: string): AgentError {
  return new AgentError(
    "conflict",
    `Workflow run "${runId}" was canceled before it started. Create a run with another id.`,
  );
}
