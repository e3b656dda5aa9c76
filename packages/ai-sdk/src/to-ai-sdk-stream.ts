import type { RunOutput } from "@selvedge/core/agent";
import type { WorkflowRunOutput } from "@selvedge/core/workflows";
import { toUiStream, toWorkflowUiStream } from "@selvedge/server/ai-sdk";

/** Parts of a stream, besides texts and tool calls. */
export interface SendOptions {
  sendStart?: boolean;
  sendFinish?: boolean;
  sendReasoning?: boolean;
  sendSources?: boolean;
  onError?: (error: unknown) => string;
  messageMetadata?: (options: { part: any }) => unknown;
  /** The generation of the AI SDK. All have the same parts. */
  version?: "v5" | "v6" | "v7";
}

type StreamOptions = SendOptions & {
  /** What was streamed. Default: an agent. */
  from?: "agent" | "workflow";
  /** The answer to continue. */
  lastMessageId?: string;
};

/** Converts what `agent.stream()` or `run.stream()` returned to a UI message stream. */
export function toAISdkStream(
  stream: RunOutput<any> | WorkflowRunOutput<any> | AsyncIterable<any>,
  options: StreamOptions = {},
): ReadableStream<any> {
  const { from = "agent", version: _, ...ui } = options;
  const { fullStream, runId, workflowId } = stream as {
    fullStream?: AsyncIterable<never>;
    runId?: string;
    workflowId?: string;
  };
  const chunks = fullStream ?? (stream as AsyncIterable<never>);
  if (from === "agent") return toUiStream(chunks, ui);
  return toWorkflowUiStream(chunks, { runId: runId ?? "run", workflowId: workflowId ?? "workflow" });
}
