/** The sessions' tool whose calls wait while their subagents wait. */
export const SUBAGENT = "subagent";
/** The prefix of the tools of an agent's subagents. */
export const AGENT_TOOL = "agent-";

/** A call that waits for a person. */
export interface AskedCall {
  toolCallId: string;
  toolName: string;
  args?: unknown;
  requiresApproval: boolean;
  suspendPayload?: unknown;
  reason?: string;
  transcript?: { args?: unknown; suspendPayload?: unknown };
}

/** What a call waits for while its subagent waits: the questions, and where to continue reading. */
export interface SubagentWait {
  subagent: { threadId: string; resourceId: string; runId: string; after: number; calls: AskedCall[] };
}

/** What a call waits for, if that is its subagent. */
export function subagentWaitOf(call: {
  toolName: string;
  suspendPayload?: unknown;
}): SubagentWait["subagent"] | undefined {
  if (call.toolName !== SUBAGENT && !call.toolName.startsWith(AGENT_TOOL)) return undefined;
  const { subagent } = Object(call.suspendPayload) as Partial<SubagentWait>;
  return Array.isArray(subagent?.calls) ? subagent : undefined;
}

/** The questions behind a call: its own, or those of its subagent and nested subagents. */
export function questionsBehind(call: AskedCall): AskedCall[] {
  const wait = subagentWaitOf(call);
  return wait ? wait.calls.flatMap(questionsBehind) : [call];
}
