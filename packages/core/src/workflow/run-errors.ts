import { AgentError } from "../errors.ts";
import type { Path } from "./path.ts";

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

export function outcomeUnknown(path: Path, what: string): AgentError {
  return new AgentError(
    "step-outcome-unknown",
    `${what} was in progress when its process died, and it is declared idempotent: false, so it is not run again. Check what it did, then continue with timeTravel().`,
    { details: { path } },
  );
}
