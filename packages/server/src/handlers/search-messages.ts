import type { MastraMemory } from "@selvedge/core/memory";
import type { ThreadDomain } from "@selvedge/core/storage";
import type { StoredMessage, StoredThread } from "@selvedge/protocol";

interface Found {
  threadId: string;
  threadTitle?: string;
  message: StoredMessage;
}

interface Search {
  text: string;
  threadId: string | undefined;
  resourceId: string | undefined;
  limit: number;
  signal: AbortSignal;
}

/** Messages per response. Fewer are returned if they are large. */
const MOST_BYTES = 32 << 20;

interface RecallMemory extends MastraMemory {
  recall(options: object): Promise<{ messages: StoredMessage[] }>;
}

/** Finds messages by meaning if the memory has an index, then by words, newest first. */
export async function searchMessages(
  domain: ThreadDomain,
  memory: MastraMemory,
  search: Search,
): Promise<Found[]> {
  const { threadId, resourceId, limit, signal } = search;
  if (signal.aborted) return [];
  const start = await startThread(domain, search);
  if (!start) return [];
  const found = new Map<string, StoredMessage>();
  for (const message of await byMeaning(memory, start, search)) found.set(message.id, message);
  if (found.size < limit) {
    // Both searches may find the same message.
    const more = {
      text: search.text,
      threadId,
      resourceId,
      limit: limit + found.size,
      maxBytes: MOST_BYTES,
      signal,
    };
    for (const message of await domain.searchMessages(more)) found.set(message.id, message);
  }
  const hits = [...found.values()].slice(0, limit);
  const threads = new Map<string, StoredThread | null>();
  for (const { threadId: id = "" } of hits)
    if (id !== "" && !threads.has(id)) threads.set(id, await domain.getThreadById({ threadId: id }));
  return hits.flatMap((message) => {
    const thread = threads.get(message.threadId ?? "");
    // A message belongs to the owner of its thread.
    if (!thread || (resourceId !== undefined && thread.resourceId !== resourceId)) return [];
    const { id, title } = thread;
    return [{ threadId: id, ...(title !== undefined && { threadTitle: title }), message }];
  });
}

/** The one thread, if the caller owns it; otherwise the caller's newest. */
async function startThread(
  domain: ThreadDomain,
  { threadId, resourceId }: Search,
): Promise<StoredThread | undefined> {
  if (threadId !== undefined) {
    const thread = await domain.getThreadById({ threadId });
    return thread && (resourceId === undefined || thread.resourceId === resourceId) ? thread : undefined;
  }
  const { threads } = await domain.listThreads({
    filter: { resourceId },
    orderBy: { field: "updatedAt" },
    perPage: 1,
  });
  return threads[0];
}

async function byMeaning(
  memory: MastraMemory,
  thread: StoredThread,
  { text, limit, threadId }: Search,
): Promise<StoredMessage[]> {
  if (typeof (memory as Partial<RecallMemory>).recall !== "function") return [];
  const { messages } = await (memory as RecallMemory)
    .recall({
      threadId: thread.id,
      resourceId: thread.resourceId,
      vectorSearchString: text,
      perPage: 0,
      threadConfig: {
        semanticRecall: {
          topK: limit,
          messageRange: 0,
          scope: threadId === undefined ? "resource" : "thread",
        },
      },
    })
    .catch(() => ({ messages: [] }));
  return messages;
}
