import type { WireChunk } from "@selvedge/client-js";
import type { ThreadState } from "@selvedge/protocol/routes";

/** A tool call that waits for a person. */
export type Approval = ThreadState["approvals"][number];

/** What a chunk asks a person for. */
export function toApproval(
  chunk: Extract<WireChunk, { type: "tool-call-approval" | "tool-call-suspended" }>,
): Approval {
  const { toolCallId, toolName, args } = chunk.payload;
  return chunk.type === "tool-call-approval"
    ? { toolCallId, toolName, args, requiresApproval: true }
    : { toolCallId, toolName, args, requiresApproval: false, suspendPayload: chunk.payload.suspendPayload };
}
