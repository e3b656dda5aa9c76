import { type SubagentWait, subagentWaitOf } from "@selvedge/protocol/session";
import type { Storage, Write } from "../../storage/storage.ts";
import { ACTORS, CALLS } from "../../storage/thread-tables.ts";
import { update } from "../../storage/writes.ts";
import { readWaitingCalls, type WaitingCall } from "./waiting-calls.ts";

/** A call that waits because its subagent does. */
interface WaitingParent {
  threadId: string;
  resourceId: string;
  runId: string;
  toolCallId: string;
  /** Where it continues to read when its subagent continues. */
  after: number;
}

/** A question to a person on a thread: by its run, or by a subagent of that run. */
export interface Question {
  toolCallId: string;
  requiresApproval: boolean;
  /** The thread of the call. */
  threadId: string;
  resourceId: string;
  /** For a subagent's call: the calls that wait with it, nearest first. */
  parents: WaitingParent[];
}

/** All questions of a run; by default of the active run of a thread. */
export async function readQuestions(
  storage: Storage,
  { threadId, runId }: { threadId: string; runId?: string | undefined },
): Promise<Question[]> {
  const [actor] = await storage.select({ table: ACTORS, where: { thread_id: threadId }, limit: 1 });
  const active = runId ?? actor?.run_id ?? undefined;
  if (!actor || active === undefined) return [];
  const calls = await readWaitingCalls(storage, [active]);
  const at = { threadId, resourceId: actor.resource_id, runId: active };
  return (calls.get(active) ?? []).flatMap((call) => questionsBehind(call, at, []));
}

function questionsBehind(
  call: WaitingCall,
  at: Omit<WaitingParent, "toolCallId" | "after">,
  parents: WaitingParent[],
): Question[] {
  const { toolCallId, requiresApproval } = call;
  const { threadId, resourceId } = at;
  const wait = subagentWaitOf(call);
  if (!wait) return [{ toolCallId, requiresApproval, threadId, resourceId, parents }];
  const here = { ...at, toolCallId, after: wait.after };
  return wait.calls.flatMap((inner) => questionsBehind(inner, wait, [here, ...parents]));
}

/** Lets the calls that wait with a question continue, in the commit that answers it. */
export function goOn({ parents }: Question): Write[] {
  return parents.map(({ threadId, runId, toolCallId, after }) =>
    update(CALLS, {
      where: { thread_id: threadId, run_id: runId, tool_call_id: toolCallId, state: "waiting" },
      set: { state: "decided", decision: { approved: true, resumeData: { after } } },
    }),
  );
}

/** Has the run of a subagent aborted by the process that continues it. */
export function abortSubagent({ threadId, runId }: SubagentWait["subagent"]): Write {
  return update(ACTORS, { where: { thread_id: threadId, run_id: runId }, set: { abort_run: runId } });
}
