import { describe, expect, it } from "vitest";
import { type Approval, approvalsAfter } from "./approval.ts";

const chunk = (type: string, payload: object) =>
  ({ type, runId: "r", from: "AGENT", payload, seq: 1 }) as never;
const call = { toolName: "agent-helper", toolCallId: "d1", args: {} };
const question = { toolCallId: "x1", toolName: "danger", args: { n: 1 }, requiresApproval: true };
const wait = (calls: object[]) => ({
  ...call,
  suspendPayload: { subagent: { threadId: "c", resourceId: "r", runId: "cr", after: 3, calls } },
});

describe("the waiting calls of a thread", () => {
  it("are what a subagent asks, in place of the call that waits with it, until that is decided", () => {
    const nested = { ...wait([question]), toolCallId: "n1", requiresApproval: false };
    let approvals: readonly Approval[] = approvalsAfter([], chunk("tool-call-suspended", wait([nested])));
    expect(approvals).toEqual([{ ...question, parentToolCallId: "d1" }]);
    approvals = approvalsAfter(
      approvals,
      chunk("tool-call-suspended", { ...call, toolCallId: "other", suspendPayload: {} }),
    );
    expect(approvals).toHaveLength(2);
    approvals = approvalsAfter(
      approvals,
      chunk("tool-call-decided", { toolCallId: "d1", toolName: "agent-helper", approved: true }),
    );
    expect(approvals.map(({ toolCallId }) => toolCallId)).toEqual(["other"]);
  });
});
