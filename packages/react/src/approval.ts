import type { WireChunk } from "@selvedge/client-js";
import { ignoreChunk } from "@selvedge/protocol";
import { type AskedCall, questionsBehind } from "@selvedge/protocol/session";
import type { ThreadState } from "@selvedge/protocol/routes";

/** A tool call that waits for a person. */
export type Approval = ThreadState["approvals"][number];

/** The waiting calls after a chunk. Returns the same list if the chunk does not affect it. */
export function approvalsAfter(approvals: readonly Approval[], chunk: WireChunk): readonly Approval[] {
  const others = (id: string) =>
    approvals.filter(({ toolCallId, parentToolCallId }) => toolCallId !== id && parentToolCallId !== id);
  switch (chunk.type) {
    case "tool-call-approval":
    case "tool-call-suspended": {
      const { toolCallId, toolName, args } = chunk.payload;
      const question =
        chunk.type === "tool-call-approval"
          ? { requiresApproval: true }
          : { requiresApproval: false, suspendPayload: chunk.payload.suspendPayload };
      const call = { toolCallId, toolName, args, ...question };
      return [
        ...others(toolCallId),
        ...questionsBehind(call).map((asked) => fromSubagent(asked, toolCallId)),
      ];
    }
    case "tool-call-decided":
    case "tool-result":
    case "tool-error":
    case "tool-output-denied":
      return others(chunk.payload.toolCallId);
    case "abort":
    case "error":
      return [];
    case "finish":
      return chunk.payload.stepResult.reason === "suspended" ? approvals : [];
    default:
      ignoreChunk<"run" | "step" | "content" | "input" | "call" | "progress" | "other" | "data">(chunk);
      return approvals;
  }
}

/** A subagent's question is asked at the call that waits with it. */
function fromSubagent(asked: AskedCall, parentToolCallId: string): Approval {
  return asked.toolCallId === parentToolCallId ? asked : { ...asked, parentToolCallId };
}
