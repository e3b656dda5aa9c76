import { AgentError } from "../errors.ts";
import type { System } from "../system.ts";
import { PageSize } from "./page-size.ts";
import type { Select, Storage } from "./storage.ts";
import { MESSAGES, type MessageRow } from "./tables.ts";

/** How long a slice may block the event loop, approximately. */
const SLICE_MS = 20;
/** The overhead of a row beside its texts. */
const ROW_BYTES = 200;

/**
 * Message rows ordered by number. With `maxBytes` they are read in slices, other work runs in between, and a larger
 * result is refused before it is in memory.
 */
export async function selectMessages(
  storage: Storage,
  query: Omit<Select<MessageRow>, "table" | "orderBy">,
  direction: "asc" | "desc",
  maxBytes: number | undefined,
  system: System,
): Promise<MessageRow[]> {
  const base = { table: MESSAGES, orderBy: [{ column: "seq", direction }] } as const;
  if (maxBytes === undefined) return storage.select({ ...base, ...query });
  const { limit = Number.POSITIVE_INFINITY, offset = 0, where } = query;
  const rows: MessageRow[] = [];
  let bytes = 0;
  const slice = new PageSize(system, SLICE_MS);
  for (;;) {
    const size = Math.min(slice.value, limit - rows.length);
    const last = rows.at(-1)?.seq;
    const range = last === undefined ? {} : direction === "asc" ? { gt: last } : { lt: last };
    const seq = { ...(where?.["seq"] as object | undefined), ...range };
    const more = await storage.select({
      ...base,
      where: { ...where, ...(Object.keys(seq).length > 0 && { seq }) },
      limit: size,
      offset: last === undefined ? offset : 0,
    });
    for (const row of more) bytes += rowBytes(row);
    if (bytes > maxBytes) throw tooManyBytes(maxBytes);
    rows.push(...more);
    if (more.length < size || rows.length >= limit) return rows;
    await slice.next();
  }
}

/** The approximate size of a row. */
export function rowBytes(row: MessageRow): number {
  return ROW_BYTES + textLength(row.content);
}

export function tooManyBytes(maxBytes: number): AgentError {
  return new AgentError(
    "limit-exceeded",
    `These messages have more than ${maxBytes} bytes together. Ask for fewer at a time.`,
  );
}

/** The approximate size of a value as JSON: its texts. */
export function textLength(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 8;
  let length = 0;
  for (const [key, item] of Object.entries(value)) length += key.length + textLength(item);
  return length;
}
