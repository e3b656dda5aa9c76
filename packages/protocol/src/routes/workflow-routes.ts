import {
  type NumberedWorkflowChunk,
  WORKFLOW_RUN_STATUSES,
  type SerializedStepGraph,
  type WorkflowResumeLabel,
  type WorkflowStepResult,
  type WorkflowTripwire,
} from "../workflow.ts";
import { routesOf } from "./route.ts";
import {
  anyObject,
  anything,
  either,
  flag,
  id,
  integer,
  json,
  list,
  named,
  object,
  objectLike,
  oneOf,
  only,
  openObject,
  optional,
  record,
  type Shape,
  text,
  time,
} from "./shape.ts";
import * as shapes from "./shapes.ts";

const route = routesOf("workflows");

const MAX_LABEL = 1024;
const MAX_PATH = 64;

const jsonSchema = optional(anyObject("A JSON Schema"));

/** Other clients of this API send it; an authoriser sets the request context here. */
const requestContextText = { requestContext: optional(text()) };

const runStatus = oneOf(...WORKFLOW_RUN_STATUSES);

const stepGraph = list(anyObject()) as object as Shape<SerializedStepGraph>;

const stepInfo = openObject({
  id: text(),
  description: optional(text()),
  inputSchema: jsonSchema,
  outputSchema: jsonSchema,
  resumeSchema: jsonSchema,
  suspendSchema: jsonSchema,
  stateSchema: jsonSchema,
  metadata: optional(shapes.metadata),
  isWorkflow: optional(flag()),
});

export const workflowInfo = named(
  "Workflow",
  openObject({
    id: text(),
    name: text(),
    description: optional(text()),
    metadata: optional(shapes.metadata),
    inputSchema: jsonSchema,
    outputSchema: jsonSchema,
    stateSchema: jsonSchema,
    requestContextSchema: jsonSchema,
    /** The steps of the first level, by id. */
    steps: record(stepInfo),
    /** The same with the steps of nested workflows, as `<workflow>.<step>`. */
    allSteps: record(stepInfo),
    stepGraph,
  }),
);

const stepResult = named(
  "WorkflowStepResult",
  openObject({
    status: oneOf("success", "failed", "suspended", "running", "waiting", "paused", "skipped"),
    payload: optional(anything()),
    output: optional(anything()),
    error: optional(anything()),
    startedAt: optional(integer()),
    endedAt: optional(integer()),
    attempt: optional(integer({ minimum: 2 })),
    suspendPayload: optional(anything()),
    suspendedAt: optional(integer()),
    resumePayload: optional(anything()),
    resumedAt: optional(integer()),
    metadata: optional(anyObject()),
    tripwire: optional(anyObject()),
  }),
) as object as Shape<WorkflowStepResult>;

const tripwire = objectLike<WorkflowTripwire>();
const resumeLabels = record(objectLike<WorkflowResumeLabel>());
/** By step; the values are positions in the graph. */
const paths = record(list(integer()));

/** How a run ended, or why it waits. */
export const workflowResult = named(
  "WorkflowResult",
  openObject({
    status: runStatus,
    input: optional(anything()),
    steps: record(stepResult),
    result: optional(anything()),
    error: optional(anything()),
    /** The paths that `resume` accepts as `step`. */
    suspended: optional(list(list(text()))),
    suspendPayload: optional(anything()),
    tripwire: optional(tripwire),
    state: optional(anyObject()),
    resumeLabels: optional(resumeLabels),
    stepExecutionPath: optional(list(text())),
    traceId: optional(text()),
    spanId: optional(text()),
  }),
);

/** A run in a list. */
export const workflowRun = named(
  "WorkflowRun",
  openObject({
    runId: id(),
    workflowName: text(),
    resourceId: optional(id()),
    status: runStatus,
    createdAt: time(),
    updatedAt: time(),
  }),
);

/** A stored run, with the fields that were asked for. */
export const workflowState = named(
  "WorkflowState",
  openObject({
    runId: id(),
    workflowName: text(),
    resourceId: optional(id()),
    status: runStatus,
    createdAt: time(),
    updatedAt: time(),
    result: optional(anything()),
    error: optional(anything()),
    payload: optional(anything()),
    steps: optional(record(stepResult)),
    activeStepsPath: optional(paths),
    serializedStepGraph: optional(stepGraph),
    suspendedPaths: optional(paths),
    resumeLabels: optional(resumeLabels),
    waitingPaths: optional(paths),
    requestContext: optional(anyObject()),
    tracingContext: optional(anyObject()),
    /** The number of the last event when this was read: follow the run from here. */
    lastSeq: optional(integer()),
  }),
);

/** One event of a workflow run, with its number. */
const workflowChunk = named(
  "WorkflowChunk",
  openObject({
    type: text(),
    runId: id(),
    from: only("WORKFLOW"),
    payload: optional(anything()),
    data: optional(anything()),
    seq: integer({ minimum: 1 }),
  }),
) as object as Shape<NumberedWorkflowChunk>;

const existing = object({ runId: id() });
/** Without one, the run gets a new id; with `Idempotency-Key`, one that the key determines. */
const anyRun = object({ runId: optional(id()) });

const execution = {
  /** Needs the grant `run-options`. */
  requestContext: optional(anyObject()),
  outputOptions: optional(object({ includeState: optional(flag()), includeResumeLabels: optional(flag()) })),
  tracingOptions: optional(anyObject()),
  /** Runs one step, then pauses. */
  perStep: optional(flag()),
};

/** Sending the same key to a run again has no effect. Equivalent to the header `Idempotency-Key`. */
const key = { idempotencyKey: optional(id()) };

const start = {
  inputData: optional(json()),
  initialState: optional(anyObject()),
  resourceId: optional(shapes.resourceId),
  disableScorers: optional(flag()),
  ...execution,
  ...key,
};

/** A step id, a path such as `outer.inner`, or the parts of a path. */
const stepPath = either(
  text({ minLength: 1, maxLength: MAX_LABEL }),
  list(text({ minLength: 1, maxLength: MAX_LABEL }), { maxItems: MAX_PATH }),
);

const resume = {
  resumeData: optional(json()),
  step: optional(stepPath),
  label: optional(text({ minLength: 1, maxLength: MAX_LABEL })),
  forEachIndex: optional(integer({ minimum: 0 })),
  ...execution,
  ...key,
};

const timeTravel = {
  step: stepPath,
  inputData: optional(json()),
  resumeData: optional(json()),
  initialState: optional(anyObject()),
  /** Results of earlier steps, by id, instead of the stored ones. */
  context: optional(anyObject()),
  nestedStepsContext: optional(anyObject()),
  ...execution,
  ...key,
};

/** By default a stream ends when the run is suspended. With `false`, it stays open until the run ends. */
const streaming = { closeOnSuspend: optional(flag()) };

const restart = object({ requestContext: execution.requestContext });

/** It was accepted, and so it is stored. */
const accepted = openObject({ message: text(), runId: id() });

export const WORKFLOW_ROUTES = {
  listWorkflows: route("GET /api/workflows", {
    summary: "Workflows of the host, by registered name",
    owner: "app",
    query: object(requestContextText),
    response: record(workflowInfo),
  }),
  listWorkflowRunCounts: route("GET /api/workflows/run-counts", {
    summary: "How many runs of each workflow are running and how many are suspended",
    owner: "resource",
    query: object({ resourceId: optional(shapes.resourceId), ...requestContextText }),
    response: record(openObject({ running: integer(), suspended: integer() })),
  }),
  getWorkflow: route("GET /api/workflows/:workflowId", {
    summary: "A workflow, by registered name or by id",
    owner: "app",
    query: object(requestContextText),
    response: workflowInfo,
  }),
  listWorkflowRuns: route("GET /api/workflows/:workflowId/runs", {
    summary: "Runs of a workflow, newest first",
    owner: "resource",
    query: object({
      resourceId: optional(shapes.resourceId),
      status: optional(runStatus),
      fromDate: optional(time()),
      toDate: optional(time()),
      ...shapes.page,
      ...requestContextText,
    }),
    response: openObject({ runs: list(workflowRun), total: integer() }),
  }),
  getWorkflowRun: route("GET /api/workflows/:workflowId/runs/:runId", {
    summary: "A run. fields names what to read, separated by commas",
    owner: "workflow-run",
    query: object({
      fields: optional(text({ maxLength: MAX_LABEL })),
      withNestedWorkflows: optional(flag()),
      ...requestContextText,
    }),
    response: workflowState,
  }),
  deleteWorkflowRun: route("DELETE /api/workflows/:workflowId/runs/:runId", {
    summary: "Deletes a run and its stored data",
    owner: "workflow-run",
    response: openObject({ message: text() }),
  }),
  cancelWorkflowRun: route("POST /api/workflows/:workflowId/runs/:runId/cancel", {
    summary: "Cancels a run that has not ended, in whichever process it runs",
    owner: "workflow-run",
    body: object({}),
    response: openObject({ message: text() }),
  }),
  createWorkflowRun: route("POST /api/workflows/:workflowId/create-run", {
    summary: "The id of a run to start. Nothing is stored until it starts",
    owner: "new-workflow-run",
    query: anyRun,
    body: object({ resourceId: optional(shapes.resourceId), disableScorers: optional(flag()) }),
    response: openObject({ runId: id() }),
  }),
  startWorkflowRun: route("POST /api/workflows/:workflowId/start", {
    summary: "Starts a run and returns when the start is stored",
    owner: "new-workflow-run",
    startsRun: true,
    query: anyRun,
    body: object(start),
    response: accepted,
  }),
  startWorkflowRunAsync: route("POST /api/workflows/:workflowId/start-async", {
    summary: "Starts a run and returns its result when it ends or waits",
    owner: "new-workflow-run",
    startsRun: true,
    query: anyRun,
    body: object(start),
    response: workflowResult,
  }),
  streamWorkflowRun: route("POST /api/workflows/:workflowId/stream", {
    summary: "Starts a run and streams its events",
    owner: "new-workflow-run",
    startsRun: true,
    query: anyRun,
    body: object({ ...start, ...streaming }),
    event: workflowChunk,
  }),
  resumeWorkflowRun: route("POST /api/workflows/:workflowId/resume", {
    summary: "Resumes a suspended step and returns when the resume is stored",
    owner: "workflow-run",
    startsRun: true,
    query: existing,
    body: object(resume),
    response: accepted,
  }),
  resumeWorkflowRunNoWait: route("POST /api/workflows/:workflowId/resume-no-wait", {
    summary: "The same as resume",
    owner: "workflow-run",
    startsRun: true,
    query: existing,
    body: object(resume),
    response: accepted,
  }),
  resumeWorkflowRunAsync: route("POST /api/workflows/:workflowId/resume-async", {
    summary: "Resumes a suspended step and returns the result when the run ends or waits",
    owner: "workflow-run",
    startsRun: true,
    query: existing,
    body: object(resume),
    response: workflowResult,
  }),
  resumeWorkflowRunStream: route("POST /api/workflows/:workflowId/resume-stream", {
    summary: "Resumes a suspended step and streams the events that follow",
    owner: "workflow-run",
    startsRun: true,
    query: existing,
    body: object({ ...resume, ...streaming }),
    event: workflowChunk,
  }),
  observeWorkflowRun: route("POST /api/workflows/:workflowId/observe", {
    summary: "The events of a run, from its first or after a number",
    owner: "workflow-run",
    query: existing,
    body: object({
      after: optional(integer({ minimum: 0 })),
      /** Stays open when the run waits and when it has ended: it may be resumed, or executed again. */
      follow: optional(flag()),
    }),
    event: workflowChunk,
  }),
  restartWorkflowRun: route("POST /api/workflows/:workflowId/restart", {
    summary: "Continues a run whose process died. Processes also do this automatically",
    owner: "workflow-run",
    startsRun: true,
    query: existing,
    body: restart,
    response: accepted,
  }),
  restartWorkflowRunAsync: route("POST /api/workflows/:workflowId/restart-async", {
    summary: "Continues a run whose process died and returns its result",
    owner: "workflow-run",
    startsRun: true,
    query: existing,
    body: restart,
    response: workflowResult,
  }),
  restartAllWorkflowRuns: route("POST /api/workflows/:workflowId/restart-all-active-workflow-runs", {
    summary: "Continues the caller's active runs of a workflow whose processes died",
    owner: "resource",
    grant: "control",
    body: object({}),
    response: openObject({ message: text() }),
  }),
  timeTravelWorkflowRun: route("POST /api/workflows/:workflowId/time-travel", {
    summary: "Executes a run again from a step and returns when the request is stored",
    owner: "new-workflow-run",
    grant: "control",
    startsRun: true,
    query: existing,
    body: object(timeTravel),
    response: accepted,
  }),
  timeTravelWorkflowRunAsync: route("POST /api/workflows/:workflowId/time-travel-async", {
    summary: "Executes a run again from a step and returns its result",
    owner: "new-workflow-run",
    grant: "control",
    startsRun: true,
    query: existing,
    body: object(timeTravel),
    response: workflowResult,
  }),
  timeTravelWorkflowRunStream: route("POST /api/workflows/:workflowId/time-travel-stream", {
    summary: "Executes a run again from a step and streams its events",
    owner: "new-workflow-run",
    grant: "control",
    startsRun: true,
    query: existing,
    body: object({ ...timeTravel, ...streaming }),
    event: workflowChunk,
  }),
};
