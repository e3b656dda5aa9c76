import type { ThreadDomain } from "@selvedge/core/storage";
import type { StoredMessage } from "@selvedge/protocol";
import type { RecallSettings } from "./memory-settings.ts";
import type { MessageIndex } from "./message-index.ts";

/** How many more matches to ask for, because the best ones may be in the prompt already. */
const SPARE = 20;

export interface MessageSearch {
  text: string;
  threadId: string;
  resourceId: string | undefined;
  settings: RecallSettings;
  /** Ids that need not be found. */
  present: ReadonlySet<string>;
  abortSignal?: AbortSignal | undefined;
}

/** The stored messages nearest in meaning, with their neighbours, each thread's in its order. */
export async function findMessages(
  store: ThreadDomain,
  index: MessageIndex,
  search: MessageSearch,
): Promise<StoredMessage[]> {
  const { text, threadId, resourceId, settings, present, abortSignal } = search;
  const ofResource = resourceId === undefined ? {} : { resource_id: resourceId };
  const ofThread = settings.scope === "thread" || resourceId === undefined ? { thread_id: threadId } : {};
  const matches = await index.search({
    text,
    topK: settings.topK + Math.min(present.size, SPARE),
    // The owner's condition stands whatever else is asked for.
    filter: settings.filter
      ? { $and: [{ ...ofResource, ...ofThread }, settings.filter] }
      : { ...ofResource, ...ofThread },
    threshold: settings.threshold,
    abortSignal,
  });
  const fresh = matches.filter((match) => !present.has(match.messageId)).slice(0, settings.topK);
  if (fresh.length === 0) return [];
  const { messages } = await store.listMessages({
    // No page of any thread, only what the search found: so nothing here depends on how long a thread is.
    threadId: [],
    perPage: 0,
    include: fresh.map((match) => ({
      id: match.messageId,
      threadId: match.threadId,
      withPreviousMessages: settings.before,
      withNextMessages: settings.after,
    })),
  });
  // The index says whose a message is; the store has the last word.
  const mayBeSeen = (message: StoredMessage): boolean =>
    resourceId === undefined || message.resourceId === resourceId;
  return messages.filter((message) => !present.has(message.id) && mayBeSeen(message));
}
