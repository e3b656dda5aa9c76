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
  /** What a text of the message must contain, in any case. */
  text: string;
  /** The owner; without it, all owners. */
  resourceId?: string | undefined;
  threadId?: string | undefined;
  /** Default: 20. */
  limit?: number | undefined;
  /** Ends with the message that exceeds this total, approximately. */
  maxBytes?: number | undefined;
  /** Ends the search early with what was found. */
  signal?: AbortSignal | undefined;
}

/** How long a page may block the event loop, approximately. */
const PAGE_MS = 10;

/**
 * Finds messages by text, newest first. Reads as many as needed, one page at a time, and lets other work run in
 * between.
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
