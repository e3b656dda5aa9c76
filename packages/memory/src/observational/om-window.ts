import type { System } from "@selvedge/core/memory";
import { assemble, MESSAGES, type Storage } from "@selvedge/core/storage";
import type { StoredMessage } from "@selvedge/protocol";
import { countTokens } from "./count-tokens.ts";
import { MessageSums } from "./message-sums.ts";
import type { OmView } from "./om-view.ts";
import { countLeftOut } from "./plan-activation.ts";

/** Messages counted at a time when sums are computed again. */
const PAGE = 500;

export interface OmWindow {
  /** The messages that the prompt starts with. */
  messages: StoredMessage[];
  /** The tokens of those after the cursor. */
  sums: MessageSums;
  /** The sums were computed again: the next commit sets them. */
  isRecounted: boolean;
}

/** Reads the messages of the prompt. Counts them only if the record's sums do not fit them. */
export async function loadWindow(view: OmView, storage: Storage, system: System): Promise<OmWindow> {
  if (!view.isStored) return recount(view, storage, system);
  const { shown_seq, cursor_seq, pending_count, omitted_count, planned_id } = view.part;
  const rows = await storage.select({
    table: MESSAGES,
    where: { thread_id: view.address.threadId, seq: { gt: shown_seq } },
    orderBy: [{ column: "seq" }],
  });
  const begin = Math.max(cursor_seq, shown_seq);
  const after = rows.filter(({ seq }) => seq > begin);
  if (pending_count < 0 || after.length !== pending_count - omitted_count)
    return recount(view, storage, system);
  const messages = await assemble(storage, rows);
  const pending = messages.slice(messages.length - after.length);
  const planned = pending.findIndex(({ id }) => id === planned_id);
  const sums = new MessageSums(pending.map((message, index) => ({ message, isPlanned: index <= planned })));
  return { messages, sums, isRecounted: false };
}

/** Counts all messages after the cursor, for a thread that is new here or whose messages changed without a run. */
async function recount(view: OmView, storage: Storage, system: System): Promise<OmWindow> {
  const { part, limits } = view;
  const kept: { seq: number; tokens: number; message: StoredMessage }[] = [];
  const all: { seq: number; id: string; tokens: number }[] = [];
  const most = 3 * limits.messageTokens;
  let keptTokens = 0;
  for (let after = Math.min(part.cursor_seq, part.shown_seq); ;) {
    const rows = await storage.select({
      table: MESSAGES,
      where: { thread_id: view.address.threadId, seq: { gt: after } },
      orderBy: [{ column: "seq" }],
      limit: PAGE,
    });
    const messages = await assemble(storage, rows);
    for (const [index, message] of messages.entries()) {
      const { seq } = rows[index]!;
      const tokens = countTokens(message);
      if (seq > part.cursor_seq) all.push({ seq, id: message.id, tokens });
      kept.push({ seq, tokens, message });
      keptTokens += tokens;
      while (kept.length > 1 && keptTokens > most) keptTokens -= kept.shift()!.tokens;
    }
    if (rows.length < PAGE) break;
    after = rows.at(-1)!.seq;
  }
  const planned = all.findIndex(({ id }) => id === part.planned_id);
  const covered = all.filter(({ seq }) => seq <= part.covered_seq).length;
  const isGone = part.planned_id !== null && planned < 0;
  const plannedCount = Math.max(planned + 1, covered);
  const leftOut = countLeftOut(
    all.map(({ tokens }) => tokens),
    limits.messageTokens,
  );
  const omitted = all.slice(0, leftOut);
  view.part = {
    ...part,
    pending_tokens: sumOf(all),
    pending_count: all.length,
    planned_tokens: sumOf(all.slice(0, plannedCount)),
    // If the message is gone, the next job still gets its own id.
    planned_id: isGone ? `${part.planned_id}\n${system.newId()}` : part.planned_id,
    shown_seq: omitted.at(-1)?.seq ?? Math.min(part.shown_seq, part.cursor_seq),
    omitted_count: omitted.length,
    omitted_tokens: sumOf(omitted),
  };
  const pending = kept.filter(({ seq }) => seq > part.cursor_seq);
  const isPlanned = new Set(all.slice(0, plannedCount).map(({ id }) => id));
  const sums = new MessageSums(
    pending.map(({ message }) => ({ message, isPlanned: isPlanned.has(message.id) })),
  );
  const messages = kept.filter(({ seq }) => seq > view.part.shown_seq).map(({ message }) => message);
  return { messages, sums, isRecounted: all.length > 0 || view.isStored };
}

function sumOf(list: readonly { tokens: number }[]): number {
  return list.reduce((sum, { tokens }) => sum + tokens, 0);
}
