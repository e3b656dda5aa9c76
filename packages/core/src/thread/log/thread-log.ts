import type { AgentChunk } from "@selvedge/protocol";
import { type LogSubject, NotTaken } from "../../actor/log/fenced-log.ts";
import { AgentError } from "../../errors.ts";
import { noThread } from "../../storage/no-thread.ts";
import { THREADS } from "../../storage/tables.ts";
import { RUNS } from "../../storage/thread-tables.ts";
import { requireRow, update } from "../../storage/writes.ts";
import type { Thread } from "../hold/thread.ts";
import { insertEvents, restAfter, toBroadcast } from "./event-log.ts";

/** A run on a thread, as its log sees it. */
export function threadLog(thread: Thread, runId: string): LogSubject<AgentChunk> {
  const { threadId, storage, system, tail, owner } = thread;
  return {
    storage,
    system,
    tail,
    key: threadId,
    runId,
    owner,
    fence: (fence, run) => {
      const where = { id: runId, fence };
      return run ? update(RUNS, { where, set: run, require: true }) : requireRow(RUNS, where);
    },
    take: (taking, run) =>
      taking.map((write) =>
        write.op === "insert" && write.table.name === RUNS.name
          ? { ...write, row: { ...write.row, ...run } }
          : write,
      ),
    notTaken: (write) => (write?.table === THREADS ? noThread(threadId, thread.resourceId) : new NotTaken()),
    insertEvents: (first, chunks, at) => insertEvents(threadId, runId, first, chunks, at),
    restAfter: (last, now) => restAfter(threadId, last, now),
    toBroadcast,
    superseded: () =>
      new AgentError(
        "superseded",
        `Thread "${threadId}" was taken over by another process; this run is over.`,
      ),
  };
}
