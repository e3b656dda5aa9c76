import type { WorkflowChunk } from "@selvedge/protocol";
import type { UiChunk } from "./ui-chunks.ts";
import { WorkflowUi } from "./workflow-ui.ts";

/** Converts the events of a workflow's run to the AI SDK's UI message stream. */
export function toWorkflowUiStream(
  events: AsyncIterable<WorkflowChunk>,
  { runId, workflowId }: { runId: string; workflowId: string },
): ReadableStream<UiChunk> {
  return ReadableStream.from(parts(events, new WorkflowUi(workflowId), runId)) as ReadableStream<UiChunk>;
}

async function* parts(
  events: AsyncIterable<WorkflowChunk>,
  ui: WorkflowUi,
  runId: string,
): AsyncGenerator<UiChunk, void> {
  yield { type: "start", messageId: runId };
  for await (const event of events) {
    const taken = ui.take(event);
    yield* taken.parts;
    if (taken.changed) yield ui.part(runId);
  }
  yield { type: "finish" };
}
