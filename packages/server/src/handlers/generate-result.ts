import type { FullOutput, StepResult } from "@selvedge/core/agent";
import type { Principal } from "../caller.ts";
import type { Answer } from "../handler.ts";
import { safeOutput } from "@selvedge/core/guards";

/** A run's result without the model requests. */
export function generateResult(full: FullOutput, caller: Principal): Answer<"generate"> {
  const output = caller.has("inspect") ? full : safeOutput(full);
  const { messages: _, ...response } = output.response as Record<string, unknown> & { messages: unknown };
  const remembered = new Set(output.rememberedMessages.map(({ id }) => id));
  const list = output.messages.filter(({ id }) => !remembered.has(id));
  return {
    text: output.text,
    object: output.object as unknown,
    finishReason: output.finishReason,
    usage: output.usage,
    totalUsage: output.totalUsage,
    toolCalls: output.toolCalls,
    toolResults: output.toolResults,
    steps: output.steps.map(withoutRequest),
    reasoningText: output.reasoningText,
    sources: output.sources,
    files: output.files,
    warnings: output.warnings,
    response,
    messages: list,
    runId: output.runId,
    traceId: output.traceId,
    tripwire: output.tripwire,
    suspendPayload: output.suspendPayload as unknown,
    resumeSchema: output.resumeSchema,
  };
}

function withoutRequest({ request: _, ...step }: StepResult): Omit<StepResult, "request"> {
  return step;
}
