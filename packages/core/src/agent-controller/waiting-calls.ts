import type { Storage, Write } from "../storage/storage.ts";
import type { ThreadDomain } from "../storage/thread-domain.ts";
import { ACTORS, CALLS, RUNS } from "../storage/thread-tables.ts";
import { update } from "../storage/writes.ts";
import { readWaitingCalls } from "../thread/inspect/waiting-calls.ts";
import { SUBAGENT, type SubagentWait, toControllerMessage } from "@selvedge/protocol/session";

/** Something that a person is asked in a session: by the run on its thread, or by a subagent of that run. */
export interface Question {
  toolCallId: string;
  requiresApproval: boolean;
  /** Where the call waits, if it is a subagent's; the run on the session's thread waits with it. */
  subagent?: SubagentWait["subagent"] & { parent: { threadId: string; runId: string; toolCallId: string } };
}

/** All questions of a run, of the one that is active on a thread when none is named; and whose run it is. */
export async function questionsOf(
  storage: Storage,
  target: { threadId: string; runId?: string | undefined },
): Promise<{ questions: Question[]; sessionId: string | undefined }> {
  const { threadId } = target;
  const runId = target.runId ?? (await activeRun(storage, threadId));
  if (runId === undefined) return { questions: [], sessionId: undefined };
  const [calls, [run]] = await Promise.all([
    readWaitingCalls(storage, [runId]),
    storage.select({ table: RUNS, where: { id: runId }, limit: 1 }),
  ]);
  const { profile } = Object(run?.options) as { profile?: { sessionId?: string | null } };
  const questions = (calls.get(runId) ?? []).flatMap((call): Question[] => {
    const wait =
      call.toolName === SUBAGENT
        ? (Object(call.suspendPayload) as Partial<SubagentWait>).subagent
        : undefined;
    if (!wait) return [call];
    const parent = { threadId, runId, toolCallId: call.toolCallId };
    return wait.calls.map(({ toolCallId, requiresApproval }) => ({
      toolCallId,
      requiresApproval,
      subagent: { ...wait, parent },
    }));
  });
  return { questions, sessionId: profile?.sessionId ?? undefined };
}

/** Lets the call of a subagent go on with it, in the commit that answers what the subagent asked. */
export function goOnWith({ after, parent }: NonNullable<Question["subagent"]>): Write {
  return update(CALLS, {
    where: {
      thread_id: parent.threadId,
      run_id: parent.runId,
      tool_call_id: parent.toolCallId,
      state: "waiting",
    },
    set: { state: "decided", decision: { approved: true, resumeData: { after } } },
  });
}

/** Has the run of a subagent aborted by whoever takes it up. */
export function abortSubagent({ threadId, runId }: NonNullable<Question["subagent"]>): Write {
  return update(ACTORS, { where: { thread_id: threadId, run_id: runId }, set: { abort_run: runId } });
}

/** How many messages back an answer may be of interest. */
const RECENT = 20;

/** Whether a call of a thread has its result: then it was decided, though its run keeps no record of that any more. */
export async function hasResult(
  memory: ThreadDomain,
  threadId: string,
  toolCallId: string,
): Promise<boolean> {
  const messages = await memory.recentMessages({ threadId, limit: RECENT });
  return messages
    .flatMap((message) => toControllerMessage(message).content)
    .some((part) => part.type === "tool_result" && part.id === toolCallId);
}

async function activeRun(storage: Storage, threadId: string): Promise<string | undefined> {
  const [actor] = await storage.select({ table: ACTORS, where: { thread_id: threadId }, limit: 1 });
  return actor?.run_id ?? undefined;
}
