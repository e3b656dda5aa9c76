import { AgentError } from "@selvedge/core";
import type { NumberedWorkflowChunk } from "@selvedge/protocol";
import { expect, it } from "vitest";
import { safeWorkflow, safeWorkflowChunk } from "./safe-workflow.ts";

const SECRET = "postgres://user:password@host";
const hidden = { name: "AgentError", code: "internal", message: "The server failed (run r)." };

it("hides what a step threw, in the result and in each step", () => {
  const error = new Error(SECRET);
  const step = { status: "failed", error, payload: 1, startedAt: 1, endedAt: 2 } as const;
  const safe = safeWorkflow({ status: "failed", error, steps: { a: step } }, "r");
  expect(safe).toEqual({ status: "failed", error: hidden, steps: { a: { ...step, error: hidden } } });
});

it("shows errors that are meant for callers", () => {
  const error = new AgentError("limit-exceeded", "10,000 iterations");
  expect(safeWorkflow({ error }, "r")).toEqual({ error });
});

it("hides it in events, also in those of agents", () => {
  const payload = {
    id: "a",
    stepCallId: "c",
    status: "failed",
    payload: 1,
    error: new Error(SECRET),
  } as const;
  const base = { runId: "r", from: "WORKFLOW", seq: 1 } as const;
  const failed: NumberedWorkflowChunk = { ...base, type: "workflow-step-result", payload };
  expect(safeWorkflowChunk(failed)).toEqual({ ...failed, payload: { ...payload, error: hidden } });
  const output = { type: "error", runId: "x", from: "AGENT", payload: { error: new Error(SECRET) } };
  const wrote = { output, stepName: "a", stepCallId: "c", runId: "r" };
  const agents: NumberedWorkflowChunk = { ...base, type: "workflow-step-output", payload: wrote };
  expect(JSON.stringify(safeWorkflowChunk(agents))).not.toContain(SECRET);
});
