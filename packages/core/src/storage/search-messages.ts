import type { StoredMessage } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import type { System } from "../system.ts";
import { checkId } from "./check-id.ts";
import { assemble } from "./list-messages.ts";
import { PageSize } from "./page-size.ts";
import { textLength } from "./select-messages.ts";
import type { Storage, Where } from "./storage.ts";
import { MESSAGES, type MessageRow } from "./tables.ts";

export interface SearchMessagesOptions {
  /** What a text of the message has in it, in any case. */
  text: string;
  /** Whose; without it, everybody's. */
  resourceId?: string | undefined;
  threadId?: string | undefined;
  /** 20, unless said otherwise. */
  limit?: number | undefined;
  /** Ends with the message that makes it more than this together, about. */
  maxBytes?: number | undefined;
  /** Nobody waits any more: what has been found by then is answered. */
  signal?: AbortSignal | undefined;
}

/** How long a page may hold the event loop, about. */
const PAGE_MS = 10;

/**
 * Messages that say something, the newest first. Looks at as many as it takes, a page at a time, and others have their turn
 * in between.
 */
export async function searchMessages(
  storage: Storage,
  options: SearchMessagesOptions,
  system: System,
): Promise<StoredMessage[]> {
  const { text, resourceId, threadId, limit = 20, maxBytes = Number.POSITIVE_INFINITY, signal } = options;
  const wanted = text.toLowerCase();
  if (wanted === "") throw new AgentError("invalid-argument", "text is empty. Pass the words to search for.");
  const found: StoredMessage[] = [];
  const isFull = () => found.length >= limit || bytes > maxBytes;
  let bytes = 0;
  const page = new PageSize(system, PAGE_MS);
  for (let before = Number.MAX_SAFE_INTEGER; !isFull() && !signal?.aborted;) {
    const where: Where<MessageRow> = {
      ...(resourceId !== undefined && { resource_id: checkId("resourceId", resourceId) }),
      ...(threadId !== undefined && { thread_id: checkId("threadId", threadId) }),
      seq: { lt: before },
    };
    const orderBy = [{ column: "seq", direction: "desc" }] as const;
    const rows = await storage.selectMentioning({ table: MESSAGES, where, orderBy, limit: page.value }, [
      wanted,
    ]);
    for (const message of await assemble(storage, rows)) {
      if (isFull() || !says(message, wanted)) continue;
      found.push(message);
      if (maxBytes < Number.POSITIVE_INFINITY) bytes += textLength(message.content);
    }
    if (rows.length < page.value) break;
    before = rows.at(-1)!.seq as number;
    await page.next();
  }
  return found;
}

function says({ content }: StoredMessage, wanted: string): boolean {
  return content.parts.some((part) => part.type === "text" && part.text.toLowerCase().includes(wanted));
}
