import type { AgentChunk, ToolCallPayload } from "@selvedge/protocol";
import { compileSchema } from "../schema/compile-schema.ts";
import type { ToolOutcome } from "../tool/execute-tool.ts";
import type { ToolSet } from "../tool/tool-set.ts";
import { agentChunk } from "./model-part-chunk.ts";
import type { OpenCall, Run } from "./run.ts";
import type { StepBuilder } from "./step-builder.ts";

/** Removes a message's note about waiting calls. */
export const NOBODY_ASKED = { pendingToolApprovals: null, suspendedTools: null } as const;

/** A waiting call, and the kind of answer it waits for. */
export function toOpenCall(call: ToolCallPayload, outcome: ToolOutcome, tools: ToolSet): OpenCall {
  const approval = outcome.kind === "approval";
  return {
    toolCallId: call.toolCallId,
    toolName: call.toolName,
    args: call.args,
    requiresApproval: approval,
    resumeSchema: resumeSchemaOf(call, outcome, tools),
    ...(outcome.kind === "suspended" && { suspendPayload: outcome.payload }),
    ...(outcome.kind === "approval" && outcome.reason !== undefined && { reason: outcome.reason }),
    ...(outcome.kind === "approval" && outcome.bounds !== undefined && { bounds: outcome.bounds }),
    ...(outcome.kind === "approval" && outcome.again && { again: true as const }),
  };
}

function resumeSchemaOf({ toolName }: ToolCallPayload, outcome: ToolOutcome, tools: ToolSet): string {
  if (outcome.kind === "approval") return JSON.stringify(APPROVAL_SCHEMA);
  if (outcome.kind === "suspended" && outcome.resumeSchema !== undefined) return outcome.resumeSchema;
  const schema = tools.get(toolName)?.definition.resumeSchema;
  return JSON.stringify(schema ? compileSchema(schema).jsonSchema : {});
}

const APPROVAL_SCHEMA = {
  type: "object",
  properties: { approved: { type: "boolean" }, reason: { type: "string" } },
  required: ["approved"],
};

/** Notes on a message which of its calls wait, as far as people may see it. */
export function waitingMetadata(
  run: Run,
  step: StepBuilder,
  waiting: OpenCall[],
  asked: boolean,
): Record<string, unknown> | undefined {
  const nothing = asked ? NOBODY_ASKED : undefined;
  if (waiting.length === 0) return nothing;
  const { runId } = run.spec;
  // People read this, so they see the payloads as in the transcript.
  const shown = ({ bounds: _bounds, again: _again, ...call }: OpenCall) => ({
    ...call,
    ...step.invocation(call.toolCallId)?.transcript,
    runId,
  });
  const byId = (calls: OpenCall[]) => Object.fromEntries(calls.map((call) => [call.toolCallId, shown(call)]));
  const approvals = waiting.filter((call) => call.requiresApproval);
  const suspended = waiting.filter((call) => !call.requiresApproval);
  return {
    ...nothing,
    ...(approvals.length > 0 && { pendingToolApprovals: byId(approvals) }),
    ...(suspended.length > 0 && { suspendedTools: byId(suspended) }),
  };
}

/**
 * Puts the waiting calls on the stream. Call it after the step is stored: a call that is not stored must not be
 * answered.
 */
export async function announceOpenCalls(run: Run): Promise<void> {
  for (const call of run.openCalls) await run.stream.emit(questionOf(run, call));
}

export function questionOf(
  { spec }: Run,
  { requiresApproval, suspendPayload, bounds: _bounds, again: _again, ...payload }: OpenCall,
): AgentChunk {
  return requiresApproval
    ? agentChunk("tool-call-approval", spec.runId, payload)
    : agentChunk("tool-call-suspended", spec.runId, { ...payload, suspendPayload });
}
