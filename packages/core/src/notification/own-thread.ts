import { AgentError } from "../errors.ts";
import { insertThread } from "../storage/message-writes.ts";
import type { Write } from "../storage/storage.ts";
import { THREADS } from "../storage/tables.ts";
import { ACTORS } from "../storage/thread-tables.ts";
import { requireNone } from "../storage/writes.ts";
import { noThread } from "../storage/no-thread.ts";

/** Writes that accompany a record: its thread belongs to the resource and exists from now on. */
export function ownThread(target: { threadId: string; resourceId: string }, now: number): Write[] {
  const { threadId, resourceId } = target;
  const others = { resource_id: { ne: resourceId } };
  const date = new Date(now);
  return [
    requireNone(THREADS, { id: threadId, ...others }),
    requireNone(ACTORS, { thread_id: threadId, ...others }),
    insertThread({ id: threadId, resourceId, createdAt: date, updatedAt: date }),
  ];
}

/** Throws a clear error if one of the first `guards` writes failed because the thread belongs to another resource. */
export function explainForeignThread(
  { threadId, resourceId }: { threadId: string; resourceId: string },
  guards: number,
): (error: unknown) => never {
  return (error) => {
    if (!AgentError.is(error, "conflict") || Number(error.details?.["index"]) >= guards) throw error;
    throw noThread(threadId, resourceId);
  };
}
