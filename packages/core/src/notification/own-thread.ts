import { AgentError } from "../errors.ts";
import { insertThread } from "../storage/message-writes.ts";
import type { Write } from "../storage/storage.ts";
import { THREADS } from "../storage/tables.ts";
import { ACTORS } from "../storage/thread-tables.ts";

/** Writes that go with a record: its thread is the resource's own, and is there from now on. */
export function ownThread(target: { threadId: string; resourceId: string }, now: number): Write[] {
  const { threadId, resourceId } = target;
  const others = { resource_id: { ne: resourceId } };
  const date = new Date(now);
  return [
    { op: "require", table: THREADS, where: { id: threadId, ...others }, exists: false },
    { op: "require", table: ACTORS, where: { thread_id: threadId, ...others }, exists: false },
    insertThread({ id: threadId, resourceId, createdAt: date, updatedAt: date }),
  ];
}

/** Says in words that the thread is another's, if it was one of the first `guards` writes that failed. */
export function explainForeignThread(
  { threadId, resourceId }: { threadId: string; resourceId: string },
  guards: number,
): (error: unknown) => never {
  return (error) => {
    if (!AgentError.is(error, "conflict") || Number(error.details?.["index"]) >= guards) throw error;
    throw new AgentError("not-found", `There is no thread "${threadId}" for resource "${resourceId}".`);
  };
}
