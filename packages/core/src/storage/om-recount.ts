import { OM_RECORDS, recordKey } from "./om-tables.ts";
import type { Write } from "./storage.ts";
import { update } from "./writes.ts";

/** Stays below zero, whatever an active run adds to it. */
const UNKNOWN = -1_000_000_000;

/**
 * For a commit that changes messages without their memory: the sums of observational memory are computed again when the
 * thread is next used. Its tables must exist.
 */
export function recountWrites(threadId: string, resourceId: string): Write[] {
  const places = [
    { thread_id: threadId, source: "" },
    { thread_id: recordKey("resource", "", resourceId), source: threadId },
  ];
  return places.map((where) => update(OM_RECORDS, { where, set: { pending_count: UNKNOWN } }));
}
