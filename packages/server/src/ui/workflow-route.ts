import { AgentError } from "@selvedge/core";
import type { ApiRoute } from "@selvedge/core/server";
import { checkId } from "@selvedge/core/storage";
import { showValue } from "@selvedge/protocol";
import { ROUTES } from "@selvedge/protocol/routes";
import type { App } from "../app.ts";
import type { Principal } from "../caller.ts";
import { toCheck } from "../check-shape.ts";
import { findWorkflow } from "../find-workflow.ts";
import { readBody } from "../read-body.ts";
import { toRequestContext } from "../run-options.ts";
import { safeWorkflowChunk } from "../safe-workflow.ts";
import { checkNewRunId, keyOf, noWorkflowRun, runIdFor } from "../subject.ts";
import { handleWorkflowStream, type WorkflowStreamParams } from "./handle-workflow-stream.ts";
import { UI_HEADERS, uiFrames } from "./ui-frames.ts";

export interface WorkflowRouteOptions {
  /** Default: `/api/workflows/:workflowId/stream`, in place of the route that streams the run's events. */
  path?: string;
  /** The workflow of this route. Without it, the path must have `:workflowId`. */
  workflow?: string;
}

/** What a handler uses of Hono's context. */
interface RouteContext {
  readonly req: { readonly raw: Request; param(name: string): string | undefined };
  get(name: "app"): App;
  get(name: "caller"): Principal;
}

type Properties = Record<string, object>;

const DEFAULT_PATH = "/api/workflows/:workflowId/stream";

const FIELDS: Properties = {
  ...(ROUTES.streamWorkflowRun.body["properties"] as Properties),
  ...(ROUTES.resumeWorkflowRun.body["properties"] as Properties),
  ...(ROUTES.observeWorkflowRun.query["properties"] as Properties),
};
/** A chat sends its messages, too; they are not read. */
const CHECK = toCheck("body", { type: "object", properties: FIELDS });

/**
 * A route for the AI SDK: `new Mastra({ server: { apiRoutes: [workflowRoute({ path: "/refund", workflow: "refund" })] } })`.
 * Its body is that of `start` or `resume`; its response is a UI message stream.
 */
export function workflowRoute(options: WorkflowRouteOptions = {}): ApiRoute {
  const { path = DEFAULT_PATH, workflow } = options;
  if (typeof path !== "string" || !path.startsWith("/"))
    throw new AgentError("invalid-argument", `path must start with "/", got ${showValue(path)}.`);
  if (workflow === undefined && !/\/:workflowId(?:\/|$)/.test(path))
    throw new AgentError(
      "invalid-argument",
      `The path "${path}" does not say which workflow to run. Add ":workflowId" to it, or pass workflow.`,
    );
  return { path, method: "POST", handler: (context: RouteContext) => answer(context, workflow) };
}

async function answer(context: RouteContext, fixed: string | undefined): Promise<Response> {
  const app = context.get("app");
  const { mastra } = app;
  const caller = context.get("caller");
  const request = context.req.raw;
  const body = await readBody(request, app.limits, app.system);
  CHECK(body);
  const params = { ...(body as WorkflowStreamParams) };
  const workflow = findWorkflow(mastra, fixed ?? checkId("workflowId", context.req.param("workflowId")));
  if (params.requestContext !== undefined) caller.require("run-options", "requestContext");
  const resourceId = caller.resourceId ?? params.resourceId;
  const key = keyOf(request, body as Record<string, unknown>);
  const runId = params.runId ?? (key === undefined ? undefined : runIdFor(workflow.id, resourceId, key));
  if (runId !== undefined) {
    const run = await workflow.getWorkflowRunById(checkId("runId", runId), { fields: [] });
    if (!run) checkNewRunId(runId);
    if (run && resourceId !== undefined && run.resourceId !== resourceId)
      throw noWorkflowRun(workflow.id, runId);
  }
  app.checkRoom(caller);
  await app.checkRuns(caller, async () => mastra.getStorage(), undefined);
  const stream = await handleWorkflowStream({
    mastra,
    workflowId: workflow.id,
    params: {
      ...pick(params),
      runId,
      resourceId,
      requestContext: toRequestContext(params.requestContext as Record<string, unknown> | undefined, caller),
      idempotencyKey: key,
    },
    ...(!caller.has("inspect") && { show: safeWorkflowChunk }),
  });
  const response = new Response(stream.pipeThrough(uiFrames()), { headers: UI_HEADERS });
  return app.relay({ caller, request }, response);
}

/** A body of a chat has more than what a run needs. */
function pick(params: WorkflowStreamParams): WorkflowStreamParams {
  const { inputData, initialState, resumeData, step, label, forEachIndex, perStep } = params;
  return { inputData, initialState, resumeData, step, label, forEachIndex, perStep };
}
