import { expect, it } from "vitest";
import { Display } from "./display-state.ts";

it("keeps what still waits for permission when another question of its run is answered", () => {
  const display = new Display();
  display.take({ type: "agent_start", runId: "r" });
  display.take({ type: "tool_approval_required", toolCallId: "a", toolName: "write", args: {} });
  display.take({
    type: "tool_suspended",
    toolCallId: "q",
    toolName: "ask_user",
    args: {},
    suspendPayload: { question: "Which?" },
    resumeSchema: "{}",
  });
  display.take({ type: "agent_end", runId: "r", reason: "suspended" });
  display.take({ type: "tool_decided", toolCallId: "q", toolName: "ask_user", approved: true });
  display.take({ type: "agent_start", runId: "r" });
  expect([...display.get().pendingApprovals.keys()]).toEqual(["a"]);
});
