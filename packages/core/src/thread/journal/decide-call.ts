import { AgentError } from "../../errors.ts";
import type { Where, Write } from "../../storage/storage.ts";
import { ACTORS, CALLS, type CallRow } from "../../storage/thread-tables.ts";
import { checkAnswer } from "../../run/check-answer.ts";
import { type Decision, decidedChunk } from "../../run/resume.ts";
import { type Actor, readActor } from "../hold/actor.ts";
import type { Thread } from "../hold/thread.ts";
import { insertEvents } from "../log/event-log.ts";
import { requireRow, update } from "../../storage/writes.ts";

/** A call that is about to be decided. */
export interface DecidedCall {
  runId: string;
  toolCallId: string;
  toolName: string;
  args: unknown;
  requiresApproval: boolean;
}

export interface DecideOptions {
  /** Writes that count only together with the decision. Asked again when something else changed meanwhile. */
  alongside?: ((call: DecidedCall) => Promise<readonly Write[]>) | undefined;
}

const ATTEMPTS = 50;

/**
 * Decides a waiting call, once. The decision is bound to the arguments the call had when it was asked for, and to the
 * run being still the thread's active one. Where nobody writes to the stream, it says so there in the same commit;
 * otherwise the run does when it goes on.
 */
export async function decideCall(
  thread: Thread,
  target: { toolCallId: string | undefined; runId: string | undefined },
  decision: Decision,
  { alongside }: DecideOptions = {},
): Promise<{ runId: string; toolCallId: string }> {
  for (let attempt = 0; ; attempt++) {
    const row = await findWaiting(thread, target);
    const call = {
      runId: row.run_id,
      toolCallId: row.tool_call_id,
      toolName: row.tool_name,
      args: row.args,
      requiresApproval: row.requires_approval === 1,
    };
    const answer = await checkAnswer({ ...call, resumeSchema: row.resume_schema ?? "{}" }, decision);
    const actor = await readActor(thread.storage, thread.threadId);
    if (actor?.runId !== call.runId || actor.abortRun !== undefined) throw decidedMeanwhile(call);
    const writes = [...decisionWrites(thread, actor, row, answer), ...((await alongside?.(call)) ?? [])];
    try {
      await thread.storage.commit(writes, { key: thread.threadId, id: thread.system.newId() });
    } catch (error) {
      if (AgentError.is(error, "conflict") && attempt < ATTEMPTS) continue;
      // The store may have done it all the same.
      thread.wake();
      throw AgentError.is(error, "conflict") ? decidedMeanwhile(call, error) : error;
    }
    thread.tail.refresh();
    thread.wake();
    return { runId: call.runId, toolCallId: call.toolCallId };
  }
}

function decisionWrites(thread: Thread, actor: Actor, row: CallRow, decision: Decision): Write[] {
  const { threadId, system } = thread;
  const { run_id: runId, tool_call_id: toolCallId, tool_name: toolName } = row;
  const isOurs = { thread_id: threadId, run_id: runId, abort_run: null };
  const where = {
    run_id: runId,
    tool_call_id: toolCallId,
    state: "waiting",
    args_hash: row.args_hash,
  } as const;
  const decide = (answer: Decision) =>
    update(CALLS, { where, set: { state: "decided", decision: answer }, require: true });
  const isParked = actor.owner === undefined && actor.runState === "suspended";
  if (!isParked) return [requireRow(ACTORS, isOurs), decide(decision)];
  const { nextSeq } = actor;
  const chunks = [decidedChunk(runId, { toolCallId, toolName }, decision)];
  return [
    update(ACTORS, {
      where: { ...isOurs, owner: null, run_state: "suspended", next_seq: nextSeq },
      set: { next_seq: nextSeq + 1 },
      require: true,
    }),
    decide({ ...decision, announced: true }),
    insertEvents(threadId, runId, nextSeq, chunks, system.now()),
  ];
}

function decidedMeanwhile({ toolCallId }: DecidedCall, cause?: unknown): AgentError {
  return new AgentError(
    "already-decided",
    `Tool call "${toolCallId}" has already been decided, or its run has ended.`,
    { cause },
  );
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
      `Several tool calls of thread "${thread.threadId}" wait: say which one with toolCallId (${ids}).`,
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
      : `Tool call "${toolCallId}" of thread "${thread.threadId}" does not wait for an answer.`,
  );
}
