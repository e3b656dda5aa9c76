import { AgentError } from "@selvedge/core/errors";
import type { MemoryThreads } from "@selvedge/core/memory";
import { insert, OM_EVENTS, type OmJobRow, remove, type Write } from "@selvedge/core/storage";
import type { AgentChunk } from "@selvedge/protocol";

/**
 * Commits a job's changes and puts its chunks on the thread's stream, in one commit. If another process carries out the
 * thread, the chunks wait in the store for a number. Returns false if a condition of the writes does not hold.
 */
export async function publish(
  threads: MemoryThreads,
  job: Pick<OmJobRow, "thread_id" | "source" | "source_resource">,
  chunks: readonly AgentChunk[],
  writes: readonly Write[],
): Promise<boolean> {
  const { storage, system } = threads;
  const { thread_id, source, source_resource } = job;
  const target = { threadId: source, resourceId: source_resource };
  for (;;) {
    // Waiting chunks come first.
    const waiting = await storage.select({
      table: OM_EVENTS,
      where: { thread_id, source },
      orderBy: [{ column: "seq" }],
    });
    const told = waiting.map(({ chunk }) => chunk as unknown as AgentChunk);
    const taken = waiting.map(({ id }) => remove(OM_EVENTS, { thread_id, id }, { require: true }));
    const outcome = await threads.announce(target, [...told, ...chunks], [...writes, ...taken]);
    if (outcome === "stored") return true;
    if (outcome === "busy") {
      const outbox = chunks.map((chunk) =>
        insert(OM_EVENTS, { id: system.newId(), thread_id, source, source_resource, chunk: chunk as never }),
      );
      return commits(threads, [...writes, ...outbox]);
    }
    if (waiting.length === 0) return false;
    // Another process may have published the waiting chunks just now.
    if ((await storage.count({ table: OM_EVENTS, where: { thread_id, source } })) === waiting.length)
      return false;
  }
}

async function commits({ storage, system }: MemoryThreads, writes: readonly Write[]): Promise<boolean> {
  try {
    await storage.commit(writes, { id: system.newId() });
    return true;
  } catch (error) {
    if (AgentError.is(error, "conflict")) return false;
    throw error;
  }
}
