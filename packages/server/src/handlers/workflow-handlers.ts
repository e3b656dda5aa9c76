import type { RequestContext } from "@selvedge/core";
import type { WorkflowStateField } from "@selvedge/core/workflows";
import type { Call, Handlers, Tagged } from "../handler.ts";
import { toRequestContext } from "../run-options.ts";
import { safeWorkflow } from "../safe-workflow.ts";
import type {
  ReadOptions,
  RequestOptions,
  ServedRun,
  ServedWorkflow,
  StoredRun,
} from "../served-workflow.ts";
import { startAfter } from "../sse/frames.ts";
import { keyOf, noWorkflowRun } from "../subject.ts";
import { richResponse } from "../to-response.ts";
import { toNames } from "../to-names.ts";
import { workflowInfo, withoutSource } from "./workflow-info.ts";
import { untilLeft, workflowStream } from "./workflow-streams.ts";

/** What of a stored run can be asked for by name; the last two need the grant `inspect`. */
const FIELDS: readonly WorkflowStateField[] = [
  "result",
  "error",
  "payload",
  "steps",
  "activeStepsPath",
  "serializedStepGraph",
  "suspendedPaths",
  "resumeLabels",
  "waitingPaths",
  "requestContext",
  "tracingContext",
];
const INTERNAL: readonly WorkflowStateField[] = ["requestContext", "tracingContext"];

const DEFAULT_PAGE = 50;

const OUTER_OPTIONS: readonly (keyof ExecutionBody)[] = [
  "requestContext",
  "resourceId",
  "closeOnSuspend",
  "idempotencyKey",
  "disableScorers",
];

export const WORKFLOW_HANDLERS: Handlers<Tagged<"workflows">> = {
  listWorkflows: async ({ app, caller }) =>
    Object.fromEntries(
      Object.entries(app.workflows()).map(([name, workflow]) => [
        name,
        workflowInfo(workflow.definition, caller),
      ]),
    ),
  listWorkflowRunCounts: async ({ app, resourceId }) => {
    const counts = Object.entries(app.workflows()).map(async ([name, workflow]) => {
      const [running, suspended] = await Promise.all([
        workflow.count("running", resourceId),
        workflow.count("suspended", resourceId),
      ]);
      return [name, { running, suspended }] as const;
    });
    return Object.fromEntries(await Promise.all(counts));
  },
  getWorkflow: async ({ app, caller, params }) =>
    workflowInfo(app.workflow(params.workflowId).definition, caller),
  listWorkflowRuns: async ({ app, params, query, resourceId }) => {
    const { status, fromDate, toDate, page = 0, perPage = DEFAULT_PAGE } = query;
    const at = { page, perPage, ...(status !== undefined && { status }) };
    return app.workflow(params.workflowId).list({
      ...at,
      ...(resourceId !== undefined && { resourceId }),
      ...(fromDate !== undefined && { fromDate: new Date(fromDate) }),
      ...(toDate !== undefined && { toDate: new Date(toDate) }),
    });
  },
  getWorkflowRun: async (call) => {
    const { query, caller } = call;
    const fields = query.fields === undefined ? undefined : toNames("query.fields", query.fields, FIELDS);
    const hidden = fields?.find((field) => INTERNAL.includes(field));
    if (hidden !== undefined) caller.require("inspect", `The field "${hidden}"`);
    const state = await readRun(call, {
      ...(fields && { fields }),
      ...(query.withNestedWorkflows !== undefined && { withNestedWorkflows: query.withNestedWorkflows }),
    });
    if (caller.has("inspect")) return richResponse(state);
    const { serializedStepGraph: graph } = state;
    const safe = safeWorkflow(state, state.runId);
    return richResponse({ ...safe, ...(graph && { serializedStepGraph: withoutSource(graph) }) });
  },
  deleteWorkflowRun: async (call) => {
    await workflowOf(call).definition.deleteWorkflowRunById(runIdOf(call));
    return { message: "Workflow run deleted" };
  },
  cancelWorkflowRun: async (call) => (await openRun(call)).cancel(),
  createWorkflowRun: async (call) => {
    const { runId } = await openRun(call);
    return { runId };
  },

  startWorkflowRun: async (call) => {
    const { runId } = await (await openRun(call)).start(optionsOf(call));
    return { message: "Workflow run started", runId };
  },
  startWorkflowRunAsync: async (call) => {
    const run = await openRun(call);
    await run.start(optionsOf(call));
    return answer(call, run);
  },
  streamWorkflowRun: async (call) => {
    const run = await openRun(call);
    const { after } = await run.start(optionsOf(call));
    return followed(call, run, after);
  },

  resumeWorkflowRun: async (call) => resumed(call),
  resumeWorkflowRunNoWait: async (call) => resumed(call),
  resumeWorkflowRunAsync: async (call) => {
    const run = await openRun(call);
    await run.resume(optionsOf(call));
    return answer(call, run);
  },
  resumeWorkflowRunStream: async (call) => {
    const { resumeData, step, label } = call.body;
    const run = await openRun(call);
    if (resumeData === undefined && step === undefined && label === undefined)
      return workflowStream(call, run, {
        endsAt: endOf(call),
        after: startAfter(call.request, undefined) ?? (await run.first()),
        mayEnd: true,
      });
    const { after } = await run.resume(optionsOf(call));
    return followed(call, run, after);
  },
  observeWorkflowRun: async (call) => {
    const { after, follow } = call.body;
    const run = await openRun(call);
    return workflowStream(call, run, {
      after: startAfter(call.request, after) ?? (await run.first()),
      endsAt: follow ? "never" : "rest",
      mayEnd: true,
    });
  },

  restartWorkflowRun: async (call) => {
    const { requestContext } = contextOf(call);
    const { runId } = await (await openRun(call)).restart(requestContext);
    return { message: "Workflow run restarted", runId };
  },
  restartWorkflowRunAsync: async (call) => {
    const run = await openRun(call);
    await run.restart(contextOf(call).requestContext);
    return answer(call, run);
  },
  restartAllWorkflowRuns: async (call) => {
    const workflow = workflowOf(call);
    const { resourceId } = call;
    if (resourceId === undefined) await workflow.definition.restartAllActiveWorkflowRuns();
    else
      for (const status of ["running", "waiting"] as const)
        for (const { runId } of (await workflow.list({ resourceId, status })).runs)
          await (await workflow.run({ runId })).restart();
    return { message: "All active workflow runs restarted" };
  },

  timeTravelWorkflowRun: async (call) => {
    const { runId } = await (await openRun(call)).timeTravel(optionsOf(call));
    return { message: "Workflow run time travelled", runId };
  },
  timeTravelWorkflowRunAsync: async (call) => {
    const run = await openRun(call);
    await run.timeTravel(optionsOf(call));
    return answer(call, run);
  },
  timeTravelWorkflowRunStream: async (call) => {
    const run = await openRun(call);
    const { after } = await run.timeTravel(optionsOf(call));
    return followed(call, run, after);
  },
};

type RunCall<Body = unknown> = Pick<Call, "app" | "caller" | "request" | "resourceId" | "runId"> & {
  readonly params: { workflowId: string };
  readonly body: Body;
};

/** What a request says besides what the run receives. */
interface ExecutionBody {
  requestContext?: Record<string, unknown>;
  resourceId?: string;
  closeOnSuspend?: boolean;
  idempotencyKey?: string;
  disableScorers?: boolean;
}

function workflowOf({ app, params }: Pick<RunCall, "app" | "params">): ServedWorkflow {
  return app.workflow(params.workflowId);
}

/** The run of a request, which the owner check found or will let the caller create. */
function openRun(call: RunCall): Promise<ServedRun> {
  const { resourceId } = call;
  const { disableScorers } = call.body as ExecutionBody;
  return workflowOf(call).run({
    runId: runIdOf(call),
    ...(resourceId !== undefined && { resourceId }),
    ...(disableScorers !== undefined && { disableScorers }),
  });
}

function runIdOf({ runId }: Pick<Call, "runId">): string {
  return runId as string;
}

async function readRun(call: Omit<RunCall, "body">, options: ReadOptions): Promise<StoredRun> {
  const state = await workflowOf(call).read(runIdOf(call), options);
  if (!state) throw noWorkflowRun(call.params.workflowId, runIdOf(call));
  return state;
}

async function resumed(call: RunCall<ExecutionBody>): Promise<{ message: string; runId: string }> {
  const { runId } = await (await openRun(call)).resume(optionsOf(call));
  return { message: "Workflow run resumed", runId };
}

/** The options of a request, for a run. The key is that of the header, if there is one. */
function optionsOf<Body extends ExecutionBody>(
  call: RunCall<Body>,
): Omit<Body, keyof ExecutionBody> & RequestOptions {
  const { body, request } = call;
  const rest = { ...body } as Body & Record<keyof ExecutionBody, unknown>;
  for (const name of OUTER_OPTIONS) delete rest[name];
  const key = keyOf(request, body as Record<string, unknown>);
  return { ...rest, ...contextOf(call), ...(key !== undefined && { idempotencyKey: key }) };
}

function contextOf({ body, caller }: RunCall<{ requestContext?: Record<string, unknown> }>): {
  requestContext: RequestContext;
} {
  if (body.requestContext !== undefined) caller.require("run-options", "requestContext");
  return { requestContext: toRequestContext(body.requestContext, caller) };
}

/** The result of a run, when it ends or waits. */
async function answer(call: RunCall<object>, run: ServedRun): Promise<Response> {
  const value = await untilLeft(call.request, run.result(call.body));
  return richResponse(call.caller.has("inspect") ? value : safeWorkflow(value, runIdOf(call)));
}

/** The events of an execution that was just accepted. */
function followed(call: RunCall<{ closeOnSuspend?: boolean }>, run: ServedRun, after: number): Response {
  return workflowStream(call, run, {
    after: startAfter(call.request, undefined) ?? after,
    endsAt: endOf(call),
    mayEnd: false,
  });
}

function endOf({ body }: RunCall<{ closeOnSuspend?: boolean }>): "end" | "rest" {
  return body.closeOnSuspend === false ? "end" : "rest";
}
