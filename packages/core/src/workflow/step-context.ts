import type { Scope, Work } from "./driver.ts";
import { type Path, segment } from "./path.ts";
import type { Value } from "./ref.ts";
import { labelOf } from "./run-view.ts";
import type { RunActor } from "./run-actor.ts";
import type { StepContext, StepWriter } from "./step.ts";
import { RunStepWriter } from "./step-writer.ts";

/** What an execution sees of its run. */
export function stepContext(
  actor: RunActor,
  { scope, path }: Pick<Work, "scope" | "path">,
  input: unknown,
): StepContext {
  const { run } = actor;
  let writer: StepWriter | undefined;
  return {
    runId: run.runId,
    workflowId: scope.rules.id,
    resourceId: run.resourceId,
    mastra: run.host,
    requestContext: run.requestContext,
    inputData: input,
    state: actor.state(),
    getInitData: () => scope.input.data as never,
    getStepResult: (step: { id: string } | string) =>
      (resultOf(actor, scope, typeof step === "string" ? step : step.id)?.data ?? null) as never,
    abortSignal: actor.abortSignal,
    abort: () => actor.cancel(),
    // Created on access: a stream costs more than the rest.
    get writer() {
      return (writer ??= new RunStepWriter(writerTarget(actor, path)));
    },
  };
}

/** The output of a step of the workflow, or of one around it. `a.b` is step b of the nested workflow a. */
function resultOf(actor: RunActor, scope: Scope, id: string): Value | undefined {
  for (let one: Scope | undefined = scope; one; one = one.parent) {
    const found =
      actor.journal.outputAt(one.prefix + segment(id)) ??
      (id.includes(".")
        ? actor.journal.outputAt(one.prefix + id.split(".").map(segment).join("/"))
        : undefined);
    if (found) return found;
  }
  return undefined;
}

function writerTarget(actor: RunActor, path: Path): ConstructorParameters<typeof RunStepWriter>[0] {
  const { runId } = actor.run;
  const stepName = labelOf(path);
  return {
    output: (output) =>
      actor.publish({
        type: "workflow-step-output",
        runId,
        from: "WORKFLOW",
        payload: { output, stepName, stepCallId: actor.callId(path), runId },
      }),
    custom: (chunk) => actor.publish({ ...chunk, runId, from: "WORKFLOW" }),
    usage: (usage) => actor.addUsage(usage),
  };
}
