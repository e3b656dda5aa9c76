import { AgentError } from "../errors.ts";
import { sleep, type System } from "../system.ts";
import type { Row, Select, Storage } from "./storage.ts";
import { MESSAGES } from "./tables.ts";

/** Messages can be large, so it begins with few at a time. */
const SLICE = { first: 16, most: 256 } as const;
/** How long a slice may hold the event loop, about. */
const SLICE_MS = 20;
/** What a row takes beside its texts. */
const ROW_BYTES = 200;

/**
 * Rows of messages in order of their numbers. With `maxBytes` they are read in slices, others have their turn in between, and
 * more than that is refused before it is in memory.
 */
export async function selectMessages(
  storage: Storage,
  query: Omit<Select, "table" | "orderBy">,
  direction: "asc" | "desc",
  maxBytes: number | undefined,
  system: System,
): Promise<Row[]> {
  const base = { table: MESSAGES, orderBy: [{ column: "seq", direction }] } as const;
  if (maxBytes === undefined) return storage.select({ ...base, ...query });
  const { limit = Number.POSITIVE_INFINITY, offset = 0, where } = query;
  const rows: Row[] = [];
  let bytes = 0;
  let slice: number = SLICE.first;
  for (;;) {
    const began = system.monotonic();
    const size = Math.min(slice, limit - rows.length);
    const last = rows.at(-1)?.["seq"] as number | undefined;
    const range = last === undefined ? {} : direction === "asc" ? { gt: last } : { lt: last };
    const seq = { ...(where?.["seq"] as object | undefined), ...range };
    const more = await storage.select({
      ...base,
      where: { ...where, ...(Object.keys(seq).length > 0 && { seq }) },
      limit: size,
      offset: last === undefined ? offset : 0,
    });
    for (const row of more) bytes += ROW_BYTES + textLength(row["content"]);
    if (bytes > maxBytes)
      throw new AgentError(
        "limit-exceeded",
        `These messages have more than ${maxBytes} bytes together. Ask for fewer at a time.`,
      );
    rows.push(...more);
    if (more.length < size || rows.length >= limit) return rows;
    const isLong = system.monotonic() - began > SLICE_MS;
    slice = isLong ? Math.max(1, slice >> 1) : Math.min(slice << 1, SLICE.most);
    await sleep(system, 0);
  }
}

/** About how much JSON a value is: the texts in it. */
export function textLength(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8;
  let length = 0;
  for (const [key, item] of Object.entries(value)) length += key.length + textLength(item);
  return length;
}
