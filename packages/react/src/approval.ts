import type { WireChunk } from "@selvedge/client-js";
import { ignoreChunk } from "@selvedge/protocol";
import type { ThreadState } from "@selvedge/protocol/routes";

/** A tool call that waits for a person. */
export type Approval = ThreadState["approvals"][number];

/** The waiting calls after a chunk. Returns the same list if the chunk does not affect it. */
export function approvalsAfter(approvals: readonly Approval[], chunk: WireChunk): readonly Approval[] {
  const others = (toolCallId: string) => approvals.filter((approval) => approval.toolCallId !== toolCallId);
  switch (chunk.type) {
    case "tool-call-approval":
    case "tool-call-suspended": {
      const { toolCallId, toolName, args } = chunk.payload;
      const question =
        chunk.type === "tool-call-approval"
          ? { requiresApproval: true }
          : { requiresApproval: false, suspendPayload: chunk.payload.suspendPayload };
      return [...others(toolCallId), { toolCallId, toolName, args, ...question }];
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
