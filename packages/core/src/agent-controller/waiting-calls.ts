import type { Storage } from "../storage/storage.ts";
import { ACTORS, RUNS } from "../storage/thread-tables.ts";
import { readWaitingCalls, type WaitingCall } from "../thread/inspect/waiting-calls.ts";

/** The calls of a run that wait for somebody, and the session that the run belongs to. */
export async function waitingCalls(
  storage: Storage,
  runId: string | undefined,
  threadId?: string,
): Promise<{ calls: WaitingCall[]; sessionId: string | undefined }> {
  const id = runId ?? (await activeRun(storage, threadId));
  if (id === undefined) return { calls: [], sessionId: undefined };
  const [calls, [run]] = await Promise.all([
    readWaitingCalls(storage, [id]),
    storage.select({ table: RUNS, where: { id }, limit: 1 }),
  ]);
  const { profile } = Object(run?.options) as { profile?: { sessionId?: string | null } };
  return { calls: calls.get(id) ?? [], sessionId: profile?.sessionId ?? undefined };
}

async function activeRun(storage: Storage, threadId: string | undefined): Promise<string | undefined> {
  const [actor] = await storage.select({ table: ACTORS, where: { thread_id: threadId ?? "" }, limit: 1 });
  return actor?.run_id ?? undefined;
}
