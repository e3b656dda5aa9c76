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
  /** Where it goes on reading when its subagent goes on. */
  after: number;
}

/** Something that a person is asked on a thread: by the run there, or by a subagent of that run. */
export interface Question {
  toolCallId: string;
  requiresApproval: boolean;
  /** The thread that the call is on. */
  threadId: string;
  resourceId: string;
  /** Of a subagent's call: the calls that wait with it, the nearest first. */
  parents: WaitingParent[];
}

/** All questions of a run, of the one that is active on a thread when none is named. */
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

/** Lets the calls that wait with a question go on, in the commit that answers it. */
export function goOn({ parents }: Question): Write[] {
  return parents.map(({ threadId, runId, toolCallId, after }) =>
    update(CALLS, {
      where: { thread_id: threadId, run_id: runId, tool_call_id: toolCallId, state: "waiting" },
      set: { state: "decided", decision: { approved: true, resumeData: { after } } },
    }),
  );
}

/** Has the run of a subagent aborted by whoever takes it up. */
export function abortSubagent({ threadId, runId }: SubagentWait["subagent"]): Write {
  return update(ACTORS, { where: { thread_id: threadId, run_id: runId }, set: { abort_run: runId } });
}
