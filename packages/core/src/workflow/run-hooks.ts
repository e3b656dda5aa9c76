import type { RequestContext } from "../request-context/request-context.ts";
import { defaultLogger } from "../logger.ts";
import type { RunImage } from "./run-image.ts";
import { stepResults } from "./run-view.ts";
import type { WorkflowFinishInfo, WorkflowStartInfo } from "./workflow-config.ts";
import type { Definition } from "./workflow-engine.ts";

type Known = Pick<RunImage, "runId" | "resourceId" | "input" | "state">;

/** A workflow with callbacks: the run's own, or a nested one. */
type Subject = Pick<Definition, "id" | "options" | "host">;

/** What callbacks of a workflow receive about a run. */
function startInfo(
  definition: Subject,
  { runId, resourceId, input, state }: Known,
  requestContext: RequestContext,
): WorkflowStartInfo {
  const { id: workflowId, host } = definition;
  return {
    runId,
    workflowId,
    ...(resourceId !== undefined && { resourceId }),
    getInitData: () => input,
    state: Object.fromEntries(state),
    requestContext,
    ...(host && { mastra: host }),
    logger: host?.logger ?? defaultLogger,
  };
}

/** Calls `onFinish` and `onError` of a run that ended or waits for a person. Never throws: problems are logged. */
export async function callHooks(
  definition: Subject,
  image: Known & Pick<RunImage, "status" | "records" | "result" | "error" | "tripwire">,
  requestContext: RequestContext,
): Promise<void> {
  const { onFinish, onError } = definition.options;
  const { status, result, error, tripwire } = image;
  if ((!onFinish && !onError) || status === "waiting" || status === "paused") return;
  const info: WorkflowFinishInfo = {
    ...startInfo(definition, image, requestContext),
    status,
    steps: stepResults(image.records),
    ...(result && { result: result.data }),
    ...(error !== undefined && { error }),
    ...(tripwire && { tripwire }),
  };
  const call = async (name: string, hook: ((info: WorkflowFinishInfo) => unknown) | undefined) => {
    try {
      await hook?.(info);
    } catch (problem) {
      info.logger.error(`${name} of workflow "${definition.id}" failed in run "${image.runId}"`, problem);
    }
  };
  await call("onFinish", onFinish);
  if (status === "failed" || status === "tripwire") await call("onError", onError);
}

/** Calls `onStart` before the first step. What it throws is thrown. */
export async function callOnStart(
  definition: Definition,
  run: Omit<Known, "state"> & { state: Record<string, unknown>; requestContext: RequestContext },
): Promise<void> {
  const { onStart } = definition.options;
  if (!onStart) return;
  const state = new Map(Object.entries(run.state));
  await onStart(startInfo(definition, { ...run, state }, run.requestContext));
}
