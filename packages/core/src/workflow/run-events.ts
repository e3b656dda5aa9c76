import type { WorkflowChunk, WorkflowRunStatus, WorkflowTripwire, WorkflowUsage } from "@selvedge/protocol";
import type { Turn, Work } from "./driver.ts";
import type { StepRecord } from "./journal.ts";
import type { Path } from "./path.ts";
import type { Ref, Value } from "./ref.ts";
import type { LoggedChunk, Rest } from "./run-port.ts";
import { labelOf } from "./run-view.ts";

/** An event, where the store has the values of its payload, and the result that says everything in it. */
type Event = [chunk: WorkflowChunk, refs?: Record<string, Ref> | undefined, of?: Path | undefined];

/** What an event is about: a step, a mapping, a sleep or a nested workflow. */
type Place = Pick<Work, "path" | "input">;

/** How a step ended, and when. */
export type End = { endedAt: number } & (
  | { output: Value }
  | { error: unknown; tripwire?: WorkflowTripwire | undefined }
);

const from = "WORKFLOW";

export function workflowStart(runId: string, workflowId: string): WorkflowChunk {
  return { type: "workflow-start", runId, from, payload: { workflowId } };
}

export function stepStart(
  runId: string,
  stepCallId: string,
  { path, input }: Place,
  startedAt: number,
  before: StepRecord | undefined,
): Event {
  const resumed = before?.status === "resumed" ? before.resume : undefined;
  const payload = {
    id: labelOf(path),
    stepCallId,
    status: "running" as const,
    payload: input.data,
    ...(resumed && { resumePayload: resumed.payload }),
    startedAt,
  };
  const of = resumed || input.ref === undefined ? undefined : path;
  return [{ type: "workflow-step-start", runId, from, payload }, refsOf({ payload: input }), of];
}

/** The last events about something, when it ended. */
export function stepEnd(
  runId: string,
  stepCallId: string,
  place: Place,
  end: End,
  metadata?: Record<string, unknown>,
): LoggedChunk[] {
  const all = [stepResult(runId, stepCallId, place, end), stepFinish(runId, place.path, metadata)];
  return all.map(([chunk, refs, of]) => ({ chunk, refs, of }));
}

function stepResult(
  runId: string,
  stepCallId: string,
  { path, input }: Place,
  { endedAt, ...end }: End,
): Event {
  const base = { id: labelOf(path), stepCallId, payload: input.data, endedAt };
  if ("output" in end)
    return [
      {
        type: "workflow-step-result",
        runId,
        from,
        payload: { ...base, status: "success", output: end.output.data },
      },
      refsOf({ payload: input, output: end.output }),
      input.ref === undefined ? undefined : path,
    ];
  const { error, tripwire } = end;
  return [
    {
      type: "workflow-step-result",
      runId,
      from,
      payload: { ...base, status: "failed", error, ...(tripwire && { tripwire }) },
    },
    refsOf({ payload: input }),
  ];
}

function stepFinish(runId: string, path: Path, metadata: Record<string, unknown> = {}): Event {
  const payload = { id: labelOf(path), metadata };
  return [{ type: "workflow-step-finish", runId, from, payload }, undefined, path];
}

export function stepSuspended(
  runId: string,
  stepCallId: string,
  { path, input }: Place,
  suspendPayload: unknown,
  suspendedAt: number,
): Event {
  const payload = {
    id: labelOf(path),
    stepCallId,
    status: "suspended" as const,
    suspendPayload,
    payload: input.data,
    suspendedAt,
  };
  return [{ type: "workflow-step-suspended", runId, from, payload }, refsOf({ payload: input })];
}

export function stepWaiting(runId: string, { path, input }: Work, startedAt: number): Event {
  const payload = { id: labelOf(path), payload: input.data, startedAt, status: "waiting" as const };
  return [{ type: "workflow-step-waiting", runId, from, payload }, refsOf({ payload: input })];
}

export function progress(runId: string, one: Turn["progress"][number]): Event {
  const payload = {
    id: labelOf(one.path),
    completedCount: one.completed,
    totalCount: one.count,
    currentIndex: one.index,
    iterationStatus: "success" as const,
    iterationOutput: one.output.data,
  };
  return [{ type: "workflow-step-progress", runId, from, payload }, refsOf({ iterationOutput: one.output })];
}

/** The last events of a run, when it ends or waits for a person. */
export function restEvents(runId: string, rest: Rest, usage: WorkflowUsage): LoggedChunk[] {
  const { status, result } = rest;
  if (status === "waiting") return [];
  const chunks: LoggedChunk[] = [];
  if (status === "paused") return [{ chunk: { type: "workflow-paused", runId, from, payload: {} } }];
  if (status === "canceled") chunks.push({ chunk: { type: "workflow-canceled", runId, from, payload: {} } });
  chunks.push(finish(runId, status, result, usage));
  return chunks;
}

function finish(
  runId: string,
  workflowStatus: WorkflowRunStatus,
  result: Value | undefined,
  usage: WorkflowUsage,
): LoggedChunk {
  const payload = {
    workflowStatus,
    ...(result && { finalWorkflowResult: result.data }),
    output: { usage },
    metadata: {},
  };
  return {
    chunk: { type: "workflow-finish", runId, from, payload },
    refs: result && refsOf({ finalWorkflowResult: result }),
  };
}

function refsOf(values: Record<string, Value>): Record<string, Ref> | undefined {
  let refs: Record<string, Ref> | undefined;
  for (const key in values) {
    const { ref } = values[key]!;
    if (ref !== undefined) (refs ??= {})[key] = ref;
  }
  return refs;
}
