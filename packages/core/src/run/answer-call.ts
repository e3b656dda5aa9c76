import type { ToolCallPayload, ToolInvocation } from "@selvedge/protocol";
import { AgentError, errorMessage } from "../errors.ts";
import type { ToolOutcome } from "../tool/execute-tool.ts";
import type { PayloadTransform, TransformContext } from "../tool/transform.ts";
import { agentChunk } from "./model-part-chunk.ts";
import type { Run } from "./run.ts";
import type { StepBuilder } from "./step-builder.ts";

/** Adds a call's result to the step and the stream. */
export async function answerCall(
  run: Run,
  step: StepBuilder,
  call: ToolCallPayload,
  outcome: Extract<ToolOutcome, { kind: "result" | "error" }>,
): Promise<void> {
  const { runId } = run.spec;
  const { toolCallId, toolName, args } = call;
  const failed = outcome.kind === "error" || outcome.isError === true;
  // Outside observers only learn that it failed, and which call it was.
  if (outcome.kind === "error" && outcome.error instanceof Error && !AgentError.is(outcome.error))
    run.spec.logger.warn(`Tool "${toolName}" failed (call ${toolCallId} of run ${runId}):`, outcome.error);
  const raw = outcome.kind === "error" ? errorMessage(outcome.error) : outcome.result;
  const result = run.pipeline.seesToolResults
    ? await run.pipeline.toolResult({ toolCallId, toolName, args, result: raw, isError: failed })
    : raw;
  const chunk =
    outcome.kind === "error"
      ? agentChunk("tool-error", runId, {
          toolCallId,
          toolName,
          args,
          // A processor's message replaces the error's.
          error: result === raw ? outcome.error : result,
        })
      : agentChunk("tool-result", runId, {
          toolCallId,
          toolName,
          args,
          result,
          ...(failed && { isError: true }),
        });
  const shown = run.spec.transform && (await transcriptOf(run, call, { outcome, result }));
  step.take(chunk);
  step.annotate(toolCallId, shown);
  if (outcome.kind === "result" && outcome.modelOutput !== undefined)
    step.annotate(toolCallId, { modelOutput: outcome.modelOutput });
  const told = run.stream.emit(chunk);
  if (told instanceof Promise) await told;
}

/** Reports on the step and the stream that a call was not allowed. */
export async function denyCall(
  run: Run,
  step: StepBuilder,
  call: ToolCallPayload,
  reason: string,
): Promise<void> {
  const { toolCallId, toolName, args } = call;
  const approval = { id: toolCallId, approved: false as const, reason };
  const chunk = agentChunk("tool-output-denied", run.spec.runId, { toolCallId, toolName, args, approval });
  step.take(chunk);
  step.annotate(toolCallId, await transcriptOf(run, call));
  await run.stream.emit(chunk);
}

/** What the stored message shows a person instead of the raw payloads. */
export async function transcriptOf(
  run: Run,
  call: ToolCallPayload,
  answer?: { outcome: ToolOutcome; result?: unknown },
): Promise<Pick<ToolInvocation, "transcript"> | undefined> {
  const { transform } = run.spec;
  if (!transform) return undefined;
  const base = {
    target: "transcript",
    toolName: call.toolName,
    toolCallId: call.toolCallId,
    input: call.args,
  } as const;
  const input = await transform.apply({ ...base, phase: "input-available" });
  const output = await transcriptOutput(transform, base, answer);
  if (!input && !output) return undefined;
  return { transcript: { ...(input && { args: input.value }), ...output } };
}

async function transcriptOutput(
  transform: PayloadTransform,
  base: Pick<TransformContext, "target" | "toolName" | "toolCallId" | "input">,
  answer: { outcome: ToolOutcome; result?: unknown } | undefined,
): Promise<ToolInvocation["transcript"]> {
  const { outcome, result } = answer ?? {};
  if (outcome?.kind === "suspended") {
    const shown = await transform.apply({ ...base, phase: "suspend", suspendPayload: outcome.payload });
    return shown && { suspendPayload: shown.value };
  }
  if (outcome?.kind !== "error" && outcome?.kind !== "result") return undefined;
  const shown = await transform.apply(
    outcome.kind === "error"
      ? { ...base, phase: "error", error: outcome.error }
      : { ...base, phase: "output-available", output: result },
  );
  return shown && { result: shown.value };
}
