import type { ToolCallPayload } from "@selvedge/protocol";
import type { CallAnswer, CheckedCall, ToolOutcome, ToolRunContext } from "../tool/execute-tool.ts";
import type { ToolSet } from "../tool/tool-set.ts";
import type { JournaledCall } from "./resume.ts";

/** What the store knows about a call of a continued run; `undefined` if the call must be executed. */
export function callFromJournal(
  call: ToolCallPayload,
  earlier: ReadonlyMap<string, JournaledCall>,
  tools: ToolSet,
): CheckedCall | undefined {
  const entry = earlier.get(call.toolCallId);
  if (!entry) return undefined;
  switch (entry.state) {
    case "waiting":
      return {
        call,
        outcome: entry.requiresApproval
          ? {
              kind: "approval",
              ...(entry.reason !== undefined && { reason: entry.reason }),
              ...(entry.bounds !== undefined && { bounds: entry.bounds }),
            }
          : { kind: "suspended", payload: entry.suspendPayload, resumeSchema: entry.resumeSchema },
      };
    case "done":
      return { call, outcome: entry.outcome! };
    case "started":
      return tools.get(call.toolName)?.definition.idempotent
        ? undefined
        : { call, outcome: outcomeUnknown(call) };
    case "decided": {
      const { approved, reason, message } = entry.decision!;
      return approved
        ? undefined
        : { call, outcome: { kind: "denied", reason: reason ?? message ?? NOT_APPROVED } };
    }
  }
}

const NOT_APPROVED = "The user did not approve this call.";

function outcomeUnknown({ toolName }: ToolCallPayload): ToolOutcome {
  const message = `The process ended while tool "${toolName}" was working, so it is unknown whether the call took effect. It was not run again. Find out before you call it again.`;
  return { kind: "result", isError: true, result: { error: true, code: "tool-outcome-unknown", message } };
}

type Answers = ToolRunContext["answered"];
const NOBODY: Answers = new Map();

/** The answers of people to the calls they approved. */
export function answersIn(earlier: ReadonlyMap<string, JournaledCall>): Answers {
  if (earlier.size === 0) return NOBODY;
  const answered = new Map<string, CallAnswer>();
  for (const { toolCallId, state, decision, requiresApproval, ...entry } of earlier.values()) {
    const { bounds, progress, suspendPayload: suspendData } = entry;
    if (state === "decided" && decision?.approved)
      // A tool that asked receives an answer, so that it knows it was approved.
      answered.set(toolCallId, {
        resumeData: decision.resumeData ?? (requiresApproval ? undefined : { approved: true }),
        suspendData,
        bounds,
      });
    // It ran before the crash, so it was allowed to.
    else if (state === "started")
      answered.set(toolCallId, {
        resumeData: decision?.resumeData,
        suspendData,
        ...(progress === undefined && { bounds, isRepeated: true as const }),
      });
  }
  return answered;
}

/** What calls saved before their process died. */
export function progressIn(earlier: ReadonlyMap<string, JournaledCall>): ReadonlyMap<string, unknown> {
  if (earlier.size === 0) return NOTHING;
  return new Map(
    [...earlier.values()].flatMap(({ toolCallId, progress }) =>
      progress === undefined ? [] : [[toolCallId, progress]],
    ),
  );
}

const NOTHING: ReadonlyMap<string, unknown> = new Map();
