import type { ThreadDomain } from "@selvedge/core/storage";
import type { StoredMessage } from "@selvedge/protocol";
import type { RecallSettings } from "./memory-settings.ts";
import type { MessageIndex } from "./message-index.ts";

/** How many extra matches to request, because the best ones may already be in the prompt. */
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

/** The stored messages nearest in meaning, with their neighbours, grouped by thread in thread order. */
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
    // The owner's condition applies whatever else is requested.
    filter: settings.filter
      ? { $and: [{ ...ofResource, ...ofThread }, settings.filter] }
      : { ...ofResource, ...ofThread },
    threshold: settings.threshold,
    abortSignal,
  });
  const fresh = matches.filter((match) => !present.has(match.messageId)).slice(0, settings.topK);
  if (fresh.length === 0) return [];
  const { messages } = await store.listMessages({
    // No page of any thread, only what the search found: the cost does not depend on the length of a thread.
    threadId: [],
    perPage: 0,
    include: fresh.map((match) => ({
      id: match.messageId,
      threadId: match.threadId,
      withPreviousMessages: settings.before,
      withNextMessages: settings.after,
    })),
  });
  // The index says who owns a message; the store has the last word.
  const mayBeSeen = (message: StoredMessage): boolean =>
    resourceId === undefined || message.resourceId === resourceId;
  return messages.filter((message) => !present.has(message.id) && mayBeSeen(message));
}
