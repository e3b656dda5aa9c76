import type { System } from "../system.ts";
import { PageSize } from "./page-size.ts";
import { rowBytes, tooManyBytes } from "./select-messages.ts";
import type { Storage, Where } from "./storage.ts";
import { MESSAGES, type MessageRow } from "./tables.ts";

/** How long a slice may block the event loop, approximately. */
const SLICE_MS = 20;

/**
 * Message rows that match one of several conditions, ordered by number. No row may match two of them. Rows before
 * `offset` are read and dropped.
 */
export async function mergeMessages(
  storage: Storage,
  wheres: readonly Where<MessageRow>[],
  { offset, limit = Number.POSITIVE_INFINITY }: { offset: number; limit?: number | undefined },
  direction: "asc" | "desc",
  maxBytes: number | undefined,
  system: System,
): Promise<MessageRow[]> {
  const sources = wheres.map((where) => slices(storage, where, direction, system));
  const heads = await Promise.all(sources.map(async (source) => (await source.next()).value));
  const rows: MessageRow[] = [];
  let bytes = 0;
  for (let index = 0; rows.length < limit; index++) {
    const next = first(heads, direction);
    if (next === undefined) break;
    const row = heads[next]!;
    heads[next] = (await sources[next]!.next()).value;
    if (index < offset) continue;
    bytes += rowBytes(row);
    if (maxBytes !== undefined && bytes > maxBytes) throw tooManyBytes(maxBytes);
    rows.push(row);
  }
  return rows;
}

function first(heads: readonly (MessageRow | undefined)[], direction: "asc" | "desc"): number | undefined {
  let best: number | undefined;
  for (const [index, head] of heads.entries()) {
    if (head === undefined) continue;
    const seq = head["seq"] as number;
    const known = best === undefined ? undefined : (heads[best]!["seq"] as number);
    if (known === undefined || (direction === "asc" ? seq < known : seq > known)) best = index;
  }
  return best;
}

async function* slices(
  storage: Storage,
  where: Where<MessageRow>,
  direction: "asc" | "desc",
  system: System,
): AsyncGenerator<MessageRow, undefined> {
  const size = new PageSize(system, SLICE_MS);
  for (let last: number | undefined; ;) {
    const range = last === undefined ? {} : { seq: direction === "asc" ? { gt: last } : { lt: last } };
    const limit = size.value;
    const rows = await storage.select({
      table: MESSAGES,
      where: { ...where, ...range },
      orderBy: [{ column: "seq", direction }],
      limit,
    });
    yield* rows;
    if (rows.length < limit) return undefined;
    last = rows.at(-1)!.seq;
    await size.next();
  }
}
