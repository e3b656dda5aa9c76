import { RUNS } from "../tables.ts";
import { checkRun, ENDS, type StoredRun } from "./check-run.ts";
import { agentsOf } from "./flow.ts";
import type { WorkflowStage } from "./workflow-actions.ts";
import type { SimRun } from "./workflow-ledger.ts";
import type { WorkflowReader } from "./workflow-reader.ts";

/** Everything that must hold when all has come to rest. */
export async function checkWorkflows(stage: WorkflowStage): Promise<void> {
  for (const run of stage.ledger.runs) {
    const stored = await readRun(stage, run);
    if (stored) checkRun(run, stored, stage);
    else if (run.starts.some(({ outcome }) => outcome === "accepted"))
      stage.world.violate("I1", `${run.id} was accepted and is lost`);
    checkStream(stage, run);
  }
}

async function readRun({ observer }: WorkflowStage, run: SimRun): Promise<StoredRun | undefined> {
  const workflow = observer.get(run.flow.id)!;
  const state = await workflow.getWorkflowRunById(run.id);
  if (!state) return undefined;
  const snapshot = (await workflow.listWorkflowRuns()).runs.find(({ runId }) => runId === run.id)?.snapshot;
  return { ...(state as StoredRun), ...(snapshot && { state: snapshot.value }) };
}

/** I10: every reader got the same, from the first event, and each execution has one result in it. */
function checkStream({ readers, world }: WorkflowStage, run: SimRun): void {
  const all = readers.filter((reader) => reader.run === run);
  const longest = all.reduce<WorkflowReader | undefined>(
    (best, reader) => ((best?.last ?? 0) >= reader.last ? best : reader),
    undefined,
  );
  if (!longest) return;
  const texts = new Map<number, string>();
  for (const reader of all)
    for (const { seq, text } of reader.received) {
      if (texts.has(seq) && texts.get(seq) !== text)
        world.violate("I10", `readers of ${run.id} got ${text} and ${texts.get(seq)} as ${seq}`);
      texts.set(seq, text);
    }
  const results = new Map<string, number>();
  for (const [seq, text] of texts) {
    // Of the life since the last time travel.
    if (seq < run.firstSeq) continue;
    const chunk = JSON.parse(text) as { type: string; payload?: { stepCallId?: string } };
    const id = chunk.payload?.stepCallId;
    if (chunk.type !== "workflow-step-result" || id === undefined) continue;
    results.set(id, (results.get(id) ?? 0) + 1);
    if (results.get(id)! > 1)
      world.violate("W3", `${id} of ${run.id} has ${results.get(id)} results on the stream`);
  }
}

/** W9: what a run asked its agents ends with it. */
async function hasOpenAgents({ shared }: WorkflowStage, { id, flow }: SimRun): Promise<boolean> {
  if (agentsOf(flow).next().done) return false;
  const open = await shared.select({ table: RUNS, where: { state: { in: ["running", "suspended"] } } });
  return open.some((run) => (run["id"] as string).startsWith(`${id}/`));
}

/** Why the world has not come to rest yet, if it has not. */
export async function unrestOfWorkflows(stage: WorkflowStage): Promise<string | undefined> {
  const { ledger, observer } = stage;
  for (const run of ledger.runs) {
    const state = await observer.get(run.flow.id)!.getWorkflowRunById(run.id, { fields: ["suspendedPaths"] });
    const isStarting = run.starts.some(({ outcome, process }) => outcome === "pending" && process.alive);
    const status = state?.status ?? "pending";
    if (status === "pending" && isStarting) return `${run.id} does not start`;
    if (status === "pending" && run.starts.some(({ outcome }) => outcome === "accepted"))
      return `${run.id} was accepted and did not start`;
    if (status === "running" || status === "waiting") return `${run.id} is ${status}`;
    if (ENDS.has(status) && (await hasOpenAgents(stage, run)))
      return `${run.id} is over, and an agent that it asked is not`;
    if (status === "suspended" && Object.keys(state?.suspendedPaths ?? {}).length === 0)
      return `${run.id} is suspended, and nothing of it waits`;
    for (const request of [...run.resumes, ...run.cancels, ...run.travels])
      if (request.outcome === "pending" && request.process.alive)
        return `a request about ${run.id} was not answered`;
  }
  return undefined;
}
