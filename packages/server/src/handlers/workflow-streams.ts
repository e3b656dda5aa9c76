import { AgentError } from "@selvedge/core";
import type { NumberedWorkflowChunk } from "@selvedge/protocol";
import type { Call } from "../handler.ts";
import { safeWorkflowChunk } from "../safe-workflow.ts";
import type { ServedRun } from "../served-workflow.ts";
import { endFrame, numbered, opening, startHeader, wantsNumbers } from "../sse/frames.ts";
import { wireValue } from "../wire-value.ts";
import { type ReaderOptions, WorkflowReader } from "../workflow-reader.ts";

/** The events of a run as numbered frames. */
export function workflowStream(
  call: Pick<Call, "app" | "caller" | "request"> & { readonly params: { workflowId: string } },
  run: ServedRun,
  options: ReaderOptions,
): Response {
  const { app, caller, request, params } = call;
  const show = caller.has("inspect") ? (chunk: NumberedWorkflowChunk) => chunk : safeWorkflowChunk;
  const inOne = wantsNumbers(request);
  const reader = new WorkflowReader(app.workflow(params.workflowId), run, options);
  const source = {
    next: async () => {
      const chunk = await reader.next();
      if (!chunk) return undefined;
      const data = `data: ${JSON.stringify(show(chunk), wireValue)}\n\n`;
      return numbered(data, chunk.seq, inOne);
    },
    leave: () => reader.leave(),
    farewell: (error: unknown) => endFrame(error, reader.after),
  };
  return app.stream(call, source, opening(options.after), {
    ...startHeader(options.after),
    // An id that a caller chose may not fit into a header.
    ...(/^[\x21-\x7e]+$/.test(run.runId) && { "x-run-id": run.runId }),
  });
}

/** Waits for a result until the caller leaves. The run continues without it. */
export async function untilLeft<Value>({ signal }: Request, result: Promise<Value>): Promise<Value> {
  const left = Promise.withResolvers<never>();
  const leave = () => left.reject(new AgentError("tool-aborted", "The caller left before the run ended."));
  if (signal.aborted) leave();
  signal.addEventListener("abort", leave, { once: true });
  result.catch(() => {});
  try {
    return await Promise.race([result, left.promise]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
