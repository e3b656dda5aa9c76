import type { NumberedWorkflowChunk, WorkflowStepResult } from "@selvedge/protocol";
import { isPrivate, safeChunk, safeError } from "./safe-errors.ts";

/* Runs of workflows for callers without access to the app's internals. The log has the details of errors. */

/** A result, a stored run or a snapshot: its errors and those of its steps. */
export function safeWorkflow<Value extends { error?: unknown; steps?: Record<string, WorkflowStepResult> }>(
  value: Value,
  runId: string,
): Value {
  const { error, steps } = value;
  return {
    ...value,
    ...(error !== undefined && { error: shown(error, runId) }),
    ...(steps && { steps: safeSteps(steps, runId) }),
  };
}

export function safeWorkflowChunk(chunk: NumberedWorkflowChunk): NumberedWorkflowChunk {
  const { runId } = chunk;
  switch (chunk.type) {
    case "workflow-step-result": {
      const { error } = chunk.payload;
      if (!isPrivate(error)) return chunk;
      return { ...chunk, payload: { ...chunk.payload, error: shown(error, runId) } };
    }
    case "workflow-step-output": {
      // Chunks of agents are among the outputs; a step may write anything.
      const { output } = chunk.payload;
      const { type, payload } = Object(output) as { type?: unknown; payload?: unknown };
      if (typeof type !== "string" || typeof payload !== "object" || payload === null) return chunk;
      return { ...chunk, payload: { ...chunk.payload, output: safeChunk(output as never) } };
    }
    case "workflow-finish": {
      const { finalWorkflowResult: final } = chunk.payload;
      if (typeof final !== "object" || final === null || !("error" in final || "steps" in final))
        return chunk;
      return {
        ...chunk,
        payload: { ...chunk.payload, finalWorkflowResult: safeWorkflow(final as object, runId) },
      };
    }
    default:
      return chunk;
  }
}

function safeSteps(
  steps: Record<string, WorkflowStepResult>,
  runId: string,
): Record<string, WorkflowStepResult> {
  return Object.fromEntries(
    Object.entries(steps).map(([id, step]) =>
      "error" in Object(step)
        ? [id, { ...step, error: shown((step as { error: unknown }).error, runId) }]
        : [id, step],
    ),
  );
}

function shown(error: unknown, runId: string): unknown {
  return isPrivate(error) ? safeError(error, `run ${runId}`) : error;
}
