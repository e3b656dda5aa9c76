import type { MastraMemory } from "@selvedge/core/memory";
import type { MemoryDomain } from "@selvedge/core/storage";
import type { StoredMessage, StoredThread } from "@selvedge/protocol";

interface Found {
  threadId: string;
  threadTitle?: string;
  message: StoredMessage;
}

interface RecallMemory extends MastraMemory {
  recall(options: object): Promise<{ messages: StoredMessage[] }>;
}

/** How far back words are looked for. */
const SEARCHED_THREADS = 100;
const SEARCHED_MESSAGES = 5000;
const PAGE = 500;

/** Messages by meaning, where the memory has an index, and then by words, the newest first. */
export async function searchMessages(
  domain: MemoryDomain,
  memory: MastraMemory,
  search: { text: string; threadId: string | undefined; resourceId: string | undefined; limit: number },
): Promise<Found[]> {
  const threads = await searchedThreads(domain, search);
  const found = new Map<string, StoredMessage>();
  for (const message of await byMeaning(memory, threads, search)) found.set(message.id, message);
  if (found.size < search.limit && threads.size > 0)
    for await (const message of byWords(domain, [...threads.keys()], search.text.toLowerCase())) {
      found.set(message.id, message);
      if (found.size >= search.limit) break;
    }
  return [...found.values()].slice(0, search.limit).flatMap((message) => {
    const thread = threads.get(message.threadId ?? "");
    if (!thread) return [];
    return [
      { threadId: thread.id, ...(thread.title !== undefined && { threadTitle: thread.title }), message },
    ];
  });
}

/** The one thread, if it is the caller's; else the newest of the caller's. */
async function searchedThreads(
  domain: MemoryDomain,
  { threadId, resourceId }: { threadId: string | undefined; resourceId: string | undefined },
): Promise<Map<string, StoredThread>> {
  if (threadId !== undefined) {
    const thread = await domain.getThreadById({ threadId });
    const mine = thread && (resourceId === undefined || thread.resourceId === resourceId);
    return new Map(mine ? [[thread.id, thread]] : []);
  }
  const { threads } = await domain.listThreads({
    filter: { resourceId },
    orderBy: { field: "updatedAt" },
    perPage: SEARCHED_THREADS,
  });
  return new Map(threads.map((thread) => [thread.id, thread]));
}

async function byMeaning(
  memory: MastraMemory,
  threads: ReadonlyMap<string, StoredThread>,
  { text, limit }: { text: string; limit: number },
): Promise<StoredMessage[]> {
  const [thread] = threads.values();
  if (!thread || typeof (memory as Partial<RecallMemory>).recall !== "function") return [];
  const { messages } = await (memory as RecallMemory)
    .recall({
      threadId: thread.id,
      resourceId: thread.resourceId,
      vectorSearchString: text,
      perPage: 0,
      threadConfig: {
        semanticRecall: { topK: limit, messageRange: 0, scope: threads.size > 1 ? "resource" : "thread" },
      },
    })
    .catch(() => ({ messages: [] }));
  return messages;
}

async function* byWords(
  domain: MemoryDomain,
  threadIds: string[],
  wanted: string,
): AsyncGenerator<StoredMessage> {
  for (let page = 0; page * PAGE < SEARCHED_MESSAGES; page++) {
    const { messages, hasMore } = await domain.listMessages({
      threadId: threadIds,
      page,
      perPage: PAGE,
      orderBy: { direction: "DESC" },
    });
    for (const message of messages)
      if (
        message.content.parts.some((part) => part.type === "text" && part.text.toLowerCase().includes(wanted))
      )
        yield message;
    if (!hasMore) return;
  }
}
