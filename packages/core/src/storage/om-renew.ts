import type { System } from "../system.ts";
import { OM_CHUNKS, OM_JOBS, recordKey } from "./om-tables.ts";
import type { Storage, Write } from "./storage.ts";
import { MESSAGES } from "./tables.ts";
import { insert } from "./writes.ts";

/**
 * Jobs that observe the chunks of messages again, for the commit that deletes those messages. Chunks that a reflection
 * stands for cannot be separated any more.
 */
export async function renewWrites(
  storage: Storage,
  messageIds: readonly string[],
  system: System,
): Promise<Write[]> {
  const messages = await storage.select({
    table: MESSAGES,
    where: { id: { in: messageIds } },
    columns: ["thread_id", "resource_id", "seq"],
  });
  const now = Math.trunc(system.now());
  const writes: Write[] = [];
  for (const [source, own] of Map.groupBy(messages, (message) => message.thread_id)) {
    const source_resource = own[0]!.resource_id ?? source;
    const keys = [source, recordKey("resource", "", source_resource)];
    const where = { thread_id: { in: keys }, source };
    const [chunks, jobs] = await storage.selectAll([
      { table: OM_CHUNKS, where: { ...where, kind: "observe", state: { in: ["active", "buffered"] } } },
      { table: OM_JOBS, where, orderBy: [{ column: "number", direction: "desc" }], limit: 1 },
    ]);
    const [job] = jobs;
    // Without a job, its observer is unknown.
    if (!job) continue;
    for (const { thread_id, id, first_seq, last_seq, message_tokens } of chunks) {
      if (!own.some(({ seq }) => seq >= first_seq && seq <= last_seq)) continue;
      writes.push(
        insert(OM_JOBS, {
          thread_id,
          id: system.newId(),
          source,
          source_resource,
          kind: "renew",
          to_id: id,
          tokens: message_tokens,
          state: "waiting",
          attempt: 0,
          due_at: now,
          fence: 0,
          agent_id: job.agent_id,
          waited: 0,
          created_at: now,
        }),
      );
    }
  }
  return writes;
}
