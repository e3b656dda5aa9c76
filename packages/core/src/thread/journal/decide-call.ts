import { AgentError } from "../../errors.ts";
import type { Where } from "../../storage/storage.ts";
import { ACTORS, CALLS, type CallRow } from "../../storage/thread-tables.ts";
import { checkAnswer } from "../../run/check-answer.ts";
import type { Decision } from "../../run/resume.ts";
import type { Thread } from "../hold/thread.ts";
import { requireRow, update } from "../../storage/writes.ts";

/**
 * Decides a waiting call, once. The decision is bound to the arguments the call had when it was asked for, and to the
 * run being still the thread's active one.
 */
export async function decideCall(
  thread: Thread,
  target: { toolCallId: string | undefined; runId: string | undefined },
  decision: Decision,
): Promise<{ runId: string; toolCallId: string }> {
  const row = await findWaiting(thread, target);
  const runId = row.run_id;
  const toolCallId = row.tool_call_id;
  const call = {
    toolCallId,
    toolName: row.tool_name,
    requiresApproval: row.requires_approval === 1,
    resumeSchema: row.resume_schema ?? "{}",
  };
  const answer = await checkAnswer(call, decision);
  const where = {
    run_id: runId,
    tool_call_id: toolCallId,
    state: "waiting" as const,
    args_hash: row.args_hash,
  };
  try {
    await thread.storage.commit(
      [
        requireRow(ACTORS, { thread_id: thread.threadId, run_id: runId, abort_run: null }),
        update(CALLS, { where, set: { state: "decided", decision: answer }, require: true }),
      ],
      { key: thread.threadId, id: thread.system.newId() },
    );
  } catch (error) {
    if (!AgentError.is(error, "conflict")) {
      // The store may have done it all the same.
      thread.wake();
      throw error;
    }
    throw new AgentError(
      "already-decided",
      `Tool call "${toolCallId}" has already been decided, or its run has ended.`,
      { cause: error },
    );
  }
  thread.wake();
  return { runId, toolCallId };
}

async function findWaiting(
  thread: Thread,
  { toolCallId, runId }: { toolCallId: string | undefined; runId: string | undefined },
): Promise<CallRow> {
  const where: Where<CallRow> = {
    thread_id: thread.threadId,
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
    ...(runId !== undefined && { run_id: runId }),
  };
  const rows = await thread.storage.select({ table: CALLS, where });
  const waiting = rows.filter((row) => row.state === "waiting");
  if (waiting.length === 1) return waiting[0]!;
  if (waiting.length > 1) {
    const ids = waiting.map((row) => row.tool_call_id).join(", ");
    throw new AgentError(
      "ambiguous",
      `Several tool calls of thread "${thread.threadId}" are waiting. Choose one with toolCallId (${ids}).`,
    );
  }
  const decided = rows.find((row) => row.state === "decided");
  if (decided && toolCallId !== undefined) {
    const { approved } = decided.decision as Decision;
    throw new AgentError(
      "already-decided",
      `Tool call "${toolCallId}" was already ${approved ? "approved" : "declined"}.`,
      {
        details: { approved },
      },
    );
  }
  throw new AgentError(
    "not-found",
    toolCallId === undefined
      ? `No tool call of thread "${thread.threadId}" waits for an answer.`
      : `Tool call "${toolCallId}" of thread "${thread.threadId}" is not waiting for an answer.`,
  );
}
