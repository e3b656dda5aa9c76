import { AgentError } from "../../errors.ts";
import type { Storage, Write } from "../../storage/storage.ts";
import { ACTORS, CALLS, type CallRow, type RunRow } from "../../storage/thread-tables.ts";
import { checkAnswer } from "../../run/check-answer.ts";
import { type Decision, decidedChunk } from "../../run/resume.ts";
import { type Actor, toActor } from "../hold/actor.ts";
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
  /** The payload with which the tool suspended the call. */
  suspendPayload?: unknown;
  /** For a subagent's call: the call that waits with it on the named thread. */
  parentToolCallId?: string;
}

export interface DecideOptions {
  /** Writes that go with the decision. Requested again if something else changed in the meantime. */
  alongside?: ((call: DecidedCall) => Promise<readonly Write[]>) | undefined;
}

/** A thread and its calls, as read, and what is known of the run. */
export interface WaitingThread {
  actor: Actor | undefined;
  calls: readonly CallRow[];
  row?: RunRow | undefined;
}

const ATTEMPTS = 50;

export async function readWaiting(storage: Storage, threadId: string): Promise<WaitingThread> {
  const where = { thread_id: threadId };
  const [[row], calls] = await storage.selectAll([
    { table: ACTORS, where, limit: 1 },
    { table: CALLS, where, orderBy: [{ column: "position" }] },
  ]);
  return { actor: row && toActor(row), calls };
}

/**
 * Decides a waiting call, once. The decision is bound to the arguments the call had when it was asked for, and requires
 * that its run is still the thread's active one. If no process writes to the stream, the same commit announces it
 * there; otherwise the run does when it continues. The last answer that a run waits for takes the run over, if it can
 * continue here.
 */
export async function decideCall(
  thread: Thread,
  seen: WaitingThread,
  { toolCallId, runId = seen.actor?.runId }: { toolCallId: string | undefined; runId?: string },
  decision: Decision,
  { alongside }: DecideOptions = {},
): Promise<{ runId: string; toolCallId: string }> {
  for (let attempt = 0; ; attempt++) {
    const current: WaitingThread = attempt === 0 ? seen : await readWaiting(thread.storage, thread.threadId);
    const { actor, calls } = current;
    const own = runId === undefined ? calls : calls.filter(({ run_id }) => run_id === runId);
    const row = findWaiting(thread, own, toolCallId);
    const call = {
      runId: row.run_id,
      toolCallId: row.tool_call_id,
      toolName: row.tool_name,
      args: row.args,
      requiresApproval: row.requires_approval === 1,
      suspendPayload: row.requires_approval === 1 ? undefined : (row.suspend_payload ?? undefined),
    };
    const answer = await checkAnswer({ ...call, resumeSchema: row.resume_schema ?? "{}" }, decision);
    if (actor?.runId !== call.runId || actor.abortRun !== undefined) throw decidedMeanwhile(call);
    const isParked = actor.owner === undefined && actor.runState === "suspended";
    const given: Decision = isParked ? { ...answer, announced: true } : answer;
    const writes = [...decisionWrites(thread, actor, row, given), ...((await alongside?.(call)) ?? [])];
    const decided = own.map((one) =>
      one === row ? { ...row, state: "decided" as const, decision: given } : one,
    );
    const goesOn = isParked && decided.every(({ state }) => state === "decided");
    try {
      if (goesOn && thread.isFreeFor(actor.agentId)) {
        const next = { ...actor, nextSeq: actor.nextSeq + 1 };
        await thread.resumeWith({ actor: next, calls: decided, row: current.row }, writes);
      } else {
        await thread.storage.commit(writes, { key: thread.threadId, id: thread.system.newId() });
        thread.sawActive(call.runId);
        thread.wake();
      }
    } catch (error) {
      if (AgentError.is(error, "conflict") && attempt < ATTEMPTS) continue;
      // The commit may have succeeded anyway.
      thread.wake();
      throw AgentError.is(error, "conflict") ? decidedMeanwhile(call, error) : error;
    }
    thread.tail.refresh();
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
  const decide = update(CALLS, { where, set: { state: "decided", decision }, require: true });
  if (!decision.announced) return [decide, requireRow(ACTORS, isOurs)];
  const { nextSeq } = actor;
  const chunks = [decidedChunk(runId, { toolCallId, toolName }, decision)];
  return [
    decide,
    update(ACTORS, {
      where: { ...isOurs, owner: null, run_state: "suspended", next_seq: nextSeq },
      set: { next_seq: nextSeq + 1 },
      require: true,
    }),
    insertEvents(threadId, runId, nextSeq, chunks, { now: system.now(), rests: false }),
  ];
}

function decidedMeanwhile({ toolCallId }: DecidedCall, cause?: unknown): AgentError {
  return new AgentError(
    "already-decided",
    `Tool call "${toolCallId}" has already been decided, or its run has ended.`,
    { cause },
  );
}

function findWaiting(thread: Thread, calls: readonly CallRow[], toolCallId: string | undefined): CallRow {
  const rows = calls.filter((row) => toolCallId === undefined || row.tool_call_id === toolCallId);
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
