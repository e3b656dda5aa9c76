import type { MessagePart, StoredMessage, Usage } from "@selvedge/protocol";
import { assemble, readStep } from "../storage/list-messages.ts";
import type { Storage } from "../storage/storage.ts";
import { MESSAGES } from "../storage/tables.ts";
import { CALLS, type CallRow, type RunRow } from "../storage/thread-tables.ts";
import type { Decision, JournaledCall, Resumption } from "../run/resume.ts";
import type { Actor } from "./actor.ts";
import { type OpenStep, openStepOf } from "./open-step.ts";
import { restoreOutcome, type StoredOutcome } from "./stored-outcome.ts";
import { reviveOptions, type StoredOptions } from "./stored-options.ts";

export async function readResumption(storage: Storage, actor: Actor, row: RunRow): Promise<Resumption> {
  const runId = row.id;
  const firstId = row.first_message_id;
  const callRows = await storage.select({
    table: CALLS,
    where: { run_id: runId },
    orderBy: [{ column: "position" }],
  });
  const open = openStepOf(row);
  const calls = [...callRows.map(toCall), ...startedCalls(open, callRows)];
  const messages = firstId === null ? [] : await readMessages(storage, actor.threadId, firstId);
  // A step with open calls is where the run says, or, if it waited, where the journal says.
  const waited = callRows[0];
  const responseId =
    ((open?.messageId ?? waited?.message_id ?? row.response_id) as string | null) ?? undefined;
  const lastStep = ((open?.messageStep ?? waited?.message_step ?? row.response_steps) as number | null) ?? 0;
  const responseSteps = new Map<string, number>();
  let parts: MessagePart[] = [];
  if (responseId !== undefined) {
    responseSteps.set(responseId, calls.length > 0 ? lastStep : lastStep + 1);
    if (calls.length > 0) {
      // Stored already if it waited, and not yet part of what the model sees.
      const stored = await readStep(storage, responseId, lastStep);
      const response = messages.find((message) => message.id === responseId);
      response?.content.parts.splice(response.content.parts.length - stored.length);
      parts = open?.parts ?? stored;
    }
  }
  return {
    runId,
    options: reviveOptions(row.options as StoredOptions),
    step: row.step,
    next: row.next as "continue" | "stop",
    responseId,
    usage: (row.usage ?? undefined) as Usage | undefined,
    begun: firstId !== null,
    abort: actor.abortRun === runId,
    parts,
    calls,
    messages,
    responseSteps,
  };
}

/** Calls that were about to run and of which the journal knows no more. */
function startedCalls(open: OpenStep | undefined, rows: readonly CallRow[]): JournaledCall[] {
  const known = new Set(rows.map((row) => row.tool_call_id));
  return (open?.started ?? []).flatMap((toolCallId) => {
    if (known.has(toolCallId)) return [];
    const part = open!.parts.find(
      (one) => one.type === "tool-invocation" && one.toolInvocation.toolCallId === toolCallId,
    );
    if (part?.type !== "tool-invocation") return [];
    const { toolName, args } = part.toolInvocation;
    return [
      {
        toolCallId,
        toolName,
        args,
        state: "started" as const,
        requiresApproval: false,
        suspendPayload: undefined,
        resumeSchema: "{}",
        outcome: undefined,
        decision: undefined,
      },
    ];
  });
}

async function readMessages(storage: Storage, threadId: string, firstId: string): Promise<StoredMessage[]> {
  const [first] = await storage.select({ table: MESSAGES, where: { id: firstId }, limit: 1 });
  if (!first) return [];
  const where = { thread_id: threadId, seq: { gte: first.seq } };
  return assemble(storage, await storage.select({ table: MESSAGES, where, orderBy: [{ column: "seq" }] }));
}

function toCall(row: CallRow): JournaledCall {
  return {
    toolCallId: row.tool_call_id,
    toolName: row.tool_name,
    args: row.args,
    state: row.state as JournaledCall["state"],
    requiresApproval: row.requires_approval === 1,
    suspendPayload: row.suspend_payload ?? undefined,
    resumeSchema: row.resume_schema ?? "{}",
    outcome: row.outcome ? restoreOutcome(row.outcome as unknown as StoredOutcome) : undefined,
    decision: (row.decision ?? undefined) as Decision | undefined,
  };
}
