import { type Mastra, RequestContext } from "@selvedge/core";
import type { NumberedWorkflowChunk, WorkflowProgress } from "@selvedge/protocol";
import { findWorkflow } from "../find-workflow.ts";
import { ServedWorkflow, type StoredRun } from "../served-workflow.ts";
import { WorkflowRequests } from "../workflow-requests.ts";
import { WorkflowReader } from "../workflow-reader.ts";
import type { UiChunk } from "./ui-chunks.ts";
import { WorkflowUi } from "./workflow-ui.ts";

export interface WorkflowStreamParams {
  /** The run to start or to resume. Default: a new one. */
  runId?: string | undefined;
  /** The owner of a new run. */
  resourceId?: string | undefined;
  inputData?: unknown;
  initialState?: Record<string, unknown> | undefined;
  /** Resumes a suspended step instead of starting. */
  resumeData?: unknown;
  step?: string | string[] | undefined;
  label?: string | undefined;
  forEachIndex?: number | undefined;
  requestContext?: RequestContext | Record<string, unknown> | undefined;
  perStep?: boolean | undefined;
  idempotencyKey?: string | undefined;
}

export interface WorkflowStreamOptions {
  mastra: Mastra;
  /** The registered name or the id of a workflow. */
  workflowId: string;
  params: WorkflowStreamParams;
  /** Changes events before they are converted: to hide what their reader must not see. Default: nothing. */
  show?: (chunk: NumberedWorkflowChunk) => NumberedWorkflowChunk;
}

/**
 * Starts a workflow, or resumes one if `params` has `resumeData` or a `step`, and returns its UI message stream: for
 * `createUIMessageStreamResponse` of the AI SDK. It ends when the run ends or waits. The run continues without a reader.
 */
export async function handleWorkflowStream(options: WorkflowStreamOptions): Promise<ReadableStream<UiChunk>> {
  const { mastra, workflowId, params, show = (chunk) => chunk } = options;
  const workflow = new ServedWorkflow(findWorkflow(mastra, workflowId), new WorkflowRequests(mastra.system));
  const { runId = mastra.system.newId(), resourceId, requestContext, ...request } = params;
  const stored = params.runId === undefined ? undefined : await workflow.read(runId);
  const run = await workflow.run({ runId, ...(resourceId !== undefined && { resourceId }) });
  const given = {
    ...withoutNothing(request),
    requestContext:
      requestContext instanceof RequestContext
        ? requestContext
        : new RequestContext(Object.entries(requestContext ?? {})),
  };
  const isResume = params.resumeData !== undefined || params.step !== undefined || params.label !== undefined;
  const { after } = isResume ? await run.resume(given) : await run.start(given);
  const reader = new WorkflowReader(workflow, run, { after, endsAt: "rest", mayEnd: false });
  const ui = new WorkflowUi(workflow.id, isResume && stored ? progressOf(stored) : undefined);
  return toStream(workflowParts(reader, ui, run.runId, show), () => reader.leave());
}

/** Events that arrive together change the run once: each part has the whole run. */
async function* workflowParts(
  reader: WorkflowReader,
  ui: WorkflowUi,
  runId: string,
  show: (chunk: NumberedWorkflowChunk) => NumberedWorkflowChunk,
): AsyncGenerator<UiChunk, void> {
  yield { type: "start", messageId: runId };
  let changed = false;
  for (;;) {
    const next = reader.next();
    if (changed && !(await isReady(next))) {
      changed = false;
      yield ui.part(runId);
    }
    const chunk = await next;
    if (!chunk) break;
    const taken = ui.take(show(chunk));
    changed ||= taken.changed;
    yield* taken.parts;
  }
  yield ui.part(runId);
  yield { type: "finish" };
}

/** Whether a promise settles without waiting for anything outside this process. */
async function isReady(promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}

function toStream(parts: AsyncGenerator<UiChunk, void>, leave: () => void): ReadableStream<UiChunk> {
  return new ReadableStream<UiChunk>(
    {
      pull: async (controller) => {
        const { done, value } = await parts.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
}

function progressOf({ status, steps = {} }: StoredRun): WorkflowProgress {
  return { status, steps: { ...steps }, progress: {} };
}

function withoutNothing<Value extends object>(value: Value): Value {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Value;
}
