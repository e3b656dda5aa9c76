import { ReaderLine } from "../../actor/log/reader-line.ts";
import { AgentError, showValue } from "../../errors.ts";
import { checkId } from "../../storage/check-id.ts";
import type { Storage } from "../../storage/storage.ts";
import { RUNS } from "../../storage/thread-tables.ts";
import { type Actor, checkOwnership, readActor } from "../hold/actor.ts";
import type { LocalThreads } from "../hold/local-threads.ts";
import { ownerOfThread } from "../inspect/thread-overview.ts";
import { type AgentThreadSubscription, ThreadReader } from "./thread-reader.ts";

/** Follows a thread from its active run on, or from the chunk after number `after`. */
export async function openReader(
  threads: LocalThreads,
  target: { threadId: string; resourceId?: string | undefined },
  from: number | undefined,
): Promise<AgentThreadSubscription> {
  const threadId = checkId("threadId", target?.threadId);
  if (target.resourceId !== undefined) checkId("resourceId", target.resourceId);
  if (from !== undefined && (!Number.isInteger(from) || from < 0))
    throw new AgentError("invalid-argument", `after must be the number of a chunk, got ${showValue(from)}.`);
  const { storage } = threads;
  const { resourceId, actor, after } = await ReaderLine.of(storage).read(async () => {
    const resourceId = target.resourceId ?? (await ownerOfThread(storage, threadId));
    const actor = await readActor(storage, threadId);
    checkOwnership(actor, threadId, resourceId);
    return { resourceId, actor, after: from ?? (await startingPoint(storage, actor)) };
  });
  // No `await` from here on: an unused thread may be forgotten at any await.
  const owner = resourceId ?? actor?.resourceId;
  const thread =
    owner === undefined ? threads.unclaimed(threadId) : threads.thread({ threadId, resourceId: owner });
  thread.sawActive(actor?.runId);
  const reader = new ThreadReader(thread, after, target.resourceId);
  return {
    stream: reader,
    read: (limit) => reader.read(limit),
    get after() {
      return reader.after;
    },
    activeRunId: () => reader.log.activeRun?.runId ?? null,
    abort: () => threads.abort(reader.log),
    unsubscribe: () => reader.leave(),
  };
}

/** Where a reader without a number starts: at the active run, or at the end. */
async function startingPoint(storage: Storage, actor: Actor | undefined): Promise<number> {
  if (!actor) return 0;
  if (actor.runId !== undefined) {
    const [row] = await storage.select({ table: RUNS, where: { id: actor.runId }, limit: 1 });
    if (row) return row.first_seq - 1;
  }
  return actor.nextSeq - 1;
}
