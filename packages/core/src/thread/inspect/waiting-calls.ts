import { questionsBehind } from "@selvedge/protocol/session";
import type { Storage, Where } from "../../storage/storage.ts";
import { MESSAGES } from "../../storage/tables.ts";
import { type CallRow, CALLS } from "../../storage/thread-tables.ts";

/** A tool call that waits for a person. */
export interface WaitingCall {
  toolCallId: string;
  toolName: string;
  args?: unknown;
  requiresApproval: boolean;
  suspendPayload?: unknown;
  /** The rule that made it ask. */
  reason?: string;
  /** What people should see instead, if a transform says so. */
  transcript?: { args?: unknown; suspendPayload?: unknown };
  /** For a subagent's call: the call that waits with it. */
  parentToolCallId?: string;
}

/** The waiting calls of runs, by run, in the order in which they were made. */
export async function readWaitingCalls(
  storage: Storage,
  runIds: readonly string[],
): Promise<Map<string, WaitingCall[]>> {
  const found = new Map<string, WaitingCall[]>();
  if (runIds.length === 0) return found;
  const where: Where<CallRow> = { run_id: { in: [...runIds] }, state: "waiting" };
  const rows = await storage.select({ table: CALLS, where, orderBy: [{ column: "position" }] });
  const shown = await readShown(storage, rows);
  for (const row of rows) {
    const runId = row.run_id;
    const calls = found.get(runId) ?? [];
    found.set(runId, calls);
    calls.push(toWaitingCall(row, shown.get(row.tool_call_id)));
  }
  return found;
}

type Shown = { args?: unknown; suspendPayload?: unknown };

/** What people see of the calls, from their messages. */
async function readShown(storage: Storage, rows: readonly CallRow[]): Promise<Map<string, Shown>> {
  const ids = [...new Set(rows.flatMap((row) => row.message_id ?? []))];
  const messages =
    ids.length === 0
      ? []
      : await storage.select({ table: MESSAGES, where: { id: { in: ids } }, columns: ["metadata"] });
  return new Map(
    messages.flatMap(({ metadata }) => {
      const { pendingToolApprovals, suspendedTools } = Object(metadata) as Record<string, object>;
      return Object.entries({ ...pendingToolApprovals, ...suspendedTools }) as [string, Shown][];
    }),
  );
}

function toWaitingCall(row: CallRow, shown: Shown | undefined): WaitingCall {
  const call: WaitingCall = {
    toolCallId: row.tool_call_id,
    toolName: row.tool_name,
    args: row.args ?? undefined,
    requiresApproval: row.requires_approval === 1,
    ...(row.requires_approval !== 1 &&
      row.suspend_payload !== null && { suspendPayload: row.suspend_payload }),
    ...(row.reason !== null && { reason: row.reason }),
  };
  const { args, suspendPayload } = { ...call, ...shown };
  const raw = JSON.stringify([call.args, call.suspendPayload]);
  if (JSON.stringify([args, suspendPayload]) === raw) return call;
  return { ...call, transcript: { args, ...(suspendPayload !== undefined && { suspendPayload }) } };
}

/** What a call asks: itself, or its subagent. */
export function questionsOf(call: WaitingCall): WaitingCall[] {
  const questions = questionsBehind(call);
  if (questions[0] === call) return [call];
  return questions.map((question) => ({ ...question, parentToolCallId: call.toolCallId }));
}
