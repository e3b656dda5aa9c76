import type { AgentChunk } from "@selvedge/protocol";
import { AgentError } from "../../errors.ts";
import type { Write } from "../../storage/storage.ts";
import { ACTORS } from "../../storage/thread-tables.ts";
import { update } from "../../storage/writes.ts";
import { insertActor, readActor } from "../hold/actor.ts";
import type { Thread } from "../hold/thread.ts";
import { insertEvents, toBroadcast } from "./event-log.ts";

const ATTEMPTS = 20;

/**
 * Stores rows and puts chunks on a thread's stream, in one commit: through the run that is carried out here, or
 * directly while the thread is idle. If another process carries out a run, only that process can number events.
 */
export async function announce(
  thread: Thread,
  chunks: readonly AgentChunk[],
  writes: readonly Write[],
): Promise<"stored" | "busy" | "conflict"> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { run } = thread;
    if (run) {
      if (!run.isAudible) return "busy";
      try {
        return (await run.announce(chunks, writes)) ? "stored" : "conflict";
      } catch (error) {
        // It ended, or lost the thread, while this waited for its turn.
        if (!AgentError.is(error, "superseded")) throw error;
        if (thread.run === run) return "busy";
        continue;
      }
    }
    const outcome = await announceIdle(thread, chunks, writes);
    if (outcome !== "moved") return outcome;
  }
  return "busy";
}

async function announceIdle(
  thread: Thread,
  chunks: readonly AgentChunk[],
  writes: readonly Write[],
): Promise<"stored" | "busy" | "conflict" | "moved"> {
  const { threadId, resourceId, storage, system } = thread;
  const actor = await readActor(storage, threadId);
  if (actor && actor.resourceId !== resourceId) return "conflict";
  if (actor?.runId !== undefined) return "busy";
  const first = actor?.nextSeq ?? 1;
  const broadcast = chunks.map(toBroadcast);
  const own: Write[] = [
    ...(actor ? [] : [insertActor(threadId, resourceId)]),
    update(ACTORS, {
      where: { thread_id: threadId, run_id: null, next_seq: first },
      set: { next_seq: first + broadcast.length },
      require: true,
    }),
  ];
  // Each chunk names its work; one without a run is stored separately.
  const pieces = broadcast.map((chunk, index) =>
    insertEvents(threadId, chunk.runId, first + index, [chunk], { now: system.now(), rests: true }),
  );
  try {
    await storage.commit([...own, ...writes, ...pieces], { key: threadId, id: system.newId() });
  } catch (error) {
    if (!AgentError.is(error, "conflict")) throw error;
    const index = error.details?.["index"] as number;
    return index >= own.length && index < own.length + writes.length ? "conflict" : "moved";
  }
  thread.tail.behind();
  return "stored";
}
