import type {
  SerializedStepGraph,
  WorkflowRunRecord,
  WorkflowRunSnapshot,
  WorkflowState,
} from "@selvedge/protocol";
import type { RunImage } from "./run-image.ts";
import { labelOf, resumeLabels, stepResults } from "./run-view.ts";

export type WorkflowStateField = Exclude<
  keyof WorkflowState,
  "runId" | "workflowName" | "resourceId" | "createdAt" | "updatedAt" | "status"
>;

const DEFAULT_FIELDS: readonly WorkflowStateField[] = [
  "result",
  "error",
  "payload",
  "steps",
  "activeStepsPath",
  "serializedStepGraph",
  "suspendedPaths",
  "resumeLabels",
  "waitingPaths",
];

/** Where steps are in the graph, by their names. */
function positions(image: RunImage, statuses: readonly string[]): Record<string, number[]> {
  const found = image.records.filter(({ status }) => statuses.includes(status));
  const labels = [...new Set(found.map(({ path }) => labelOf(path)))];
  return Object.fromEntries(labels.map((label) => [label, positionOf(image.graph, label)]));
}

function positionOf(graph: SerializedStepGraph | undefined, label: string): number[] {
  const isIn = (id: string): boolean => label === id || label.startsWith(`${id}.`);
  const index = (graph ?? []).findIndex((entry) =>
    "step" in entry
      ? isIn(entry.step.id)
      : "steps" in entry
        ? entry.steps.some(({ step }) => isIn(step.id))
        : isIn(entry.id),
  );
  return index < 0 ? [] : [index];
}

/** A run in the form that programs for this API read. */
export function toSnapshot(image: RunImage): WorkflowRunSnapshot {
  const active = positions(image, ["running", "resumed", "ready"]);
  return {
    runId: image.runId,
    status: image.status,
    value: Object.fromEntries(image.state),
    context: { input: image.input, ...stepResults(image.records) },
    serializedStepGraph: image.graph ?? [],
    suspendedPaths: positions(image, ["suspended"]),
    resumeLabels: resumeLabels(image.records),
    waitingPaths: positions(image, ["waiting"]),
    activePaths: Object.values(active).flat(),
    activeStepsPath: active,
    ...(image.result && { result: image.result.data }),
    ...(image.error !== undefined && { error: image.error }),
    ...(Object.keys(image.requestContext).length > 0 && { requestContext: image.requestContext }),
    timestamp: image.updatedAt,
  };
}

export function toState(
  image: RunImage,
  {
    fields = DEFAULT_FIELDS,
    withNestedWorkflows = true,
  }: { fields?: readonly WorkflowStateField[]; withNestedWorkflows?: boolean } = {},
  snapshot: WorkflowRunSnapshot = toSnapshot(image),
): WorkflowState {
  const { input, ...steps } = snapshot.context;
  if (!withNestedWorkflows)
    for (const { path } of image.records) if (path.includes("/")) delete steps[labelOf(path)];
  const all: Required<Pick<WorkflowState, WorkflowStateField>> = {
    result: snapshot.result,
    error: snapshot.error,
    payload: input,
    steps,
    activeStepsPath: snapshot.activeStepsPath,
    serializedStepGraph: snapshot.serializedStepGraph,
    suspendedPaths: snapshot.suspendedPaths,
    resumeLabels: snapshot.resumeLabels,
    waitingPaths: snapshot.waitingPaths,
    requestContext: image.requestContext,
    tracingContext: {},
  };
  const chosen = Object.fromEntries(
    fields.filter((field) => all[field] !== undefined).map((field) => [field, all[field]]),
  );
  return {
    runId: image.runId,
    workflowName: image.workflowId,
    ...(image.resourceId !== undefined && { resourceId: image.resourceId }),
    createdAt: new Date(image.createdAt),
    updatedAt: new Date(image.updatedAt),
    status: image.status,
    ...chosen,
  };
}

export function toRunRecord(
  image: RunImage,
  snapshot: WorkflowRunSnapshot = toSnapshot(image),
): WorkflowRunRecord {
  return {
    runId: image.runId,
    workflowName: image.workflowId,
    ...(image.resourceId !== undefined && { resourceId: image.resourceId }),
    createdAt: new Date(image.createdAt),
    updatedAt: new Date(image.updatedAt),
    snapshot,
  };
}
