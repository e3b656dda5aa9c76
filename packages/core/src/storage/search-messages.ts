import type { StoredMessage } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import { checkId } from "./check-id.ts";
import { assemble } from "./list-messages.ts";
import type { Storage, Where } from "./storage.ts";
import { MESSAGES } from "./tables.ts";

export interface SearchMessagesOptions {
  /** What a text of the message has in it, in any case. */
  text: string;
  /** Whose; without it, everybody's. */
  resourceId?: string | undefined;
  threadId?: string | undefined;
  /** 20, unless said otherwise. */
  limit?: number | undefined;
}

const PAGE = 200;

/** Messages that say something, the newest first. Looks at as many as it takes, a page at a time. */
export async function searchMessages(
  storage: Storage,
  { text, resourceId, threadId, limit = 20 }: SearchMessagesOptions,
): Promise<StoredMessage[]> {
  const wanted = text.toLowerCase();
  if (wanted === "") throw new AgentError("invalid-argument", "text is empty: say what to search for.");
  const found: StoredMessage[] = [];
  for (let before = Number.MAX_SAFE_INTEGER; found.length < limit;) {
    const where: Where = {
      ...(resourceId !== undefined && { resource_id: checkId("resourceId", resourceId) }),
      ...(threadId !== undefined && { thread_id: checkId("threadId", threadId) }),
      seq: { lt: before },
    };
    const orderBy = [{ column: "seq", direction: "desc" }] as const;
    const rows = await storage.selectMentioning({ table: MESSAGES, where, orderBy, limit: PAGE }, [wanted]);
    for (const message of await assemble(storage, rows))
      if (found.length < limit && says(message, wanted)) found.push(message);
    if (rows.length < PAGE) break;
    before = rows.at(-1)!.seq as number;
  }
  return found;
}

function says({ content }: StoredMessage, wanted: string): boolean {
  return content.parts.some((part) => part.type === "text" && part.text.toLowerCase().includes(wanted));
}
