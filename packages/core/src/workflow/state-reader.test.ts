import { expect, it } from "vitest";
import { z } from "zod";
import { createStep } from "./create-step.ts";
import { createWorkflowStateReader, getWorkflowStepOutput } from "./state-reader.ts";
import { createWorkflow } from "./workflow.ts";

it("reads a stored run: results, suspended steps and labels", async () => {
  const any = z.any();
  const a = createStep({ id: "a", inputSchema: any, outputSchema: any, execute: async () => 1 });
  const gate = createStep({
    id: "gate",
    description: "Asks",
    inputSchema: any,
    outputSchema: any,
    resumeSchema: any,
    execute: async ({ suspend }) => suspend({ ask: true }, { resumeLabel: ["one", "two"] }),
  });
  const inner = createWorkflow({ id: "inner", inputSchema: any, outputSchema: any }).then(gate).commit();
  const workflow = createWorkflow({ id: "w", inputSchema: any, outputSchema: any })
    .then(a)
    .then(inner)
    .commit();
  const run = await workflow.createRun();
  await run.start({ inputData: "in" });
  const state = (await workflow.getWorkflowRunById(run.runId))!;
  const reader = createWorkflowStateReader(state);
  expect([reader.getStatus(), reader.getResult(), reader.getError()]).toEqual([
    "suspended",
    undefined,
    undefined,
  ]);
  expect([
    reader.getStepOutput("a"),
    reader.getStepPayload("a"),
    getWorkflowStepOutput(state, "none"),
  ]).toEqual([1, "in", undefined]);
  expect(reader.getSuspendedSteps()).toEqual([
    {
      stepId: "inner.gate",
      path: ["inner", "gate"],
      executionPath: [1],
      step: { id: "gate", description: "Asks", canSuspend: true },
      payload: 1,
      suspendPayload: { ask: true },
      resumeLabels: ["one", "two"],
    },
  ]);
  expect(reader.getResumeLabel("two")).toEqual({ stepId: "inner.gate" });
});
