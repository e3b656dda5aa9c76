import type { Owner } from "../../actor/owner.ts";
import type { Candidate, Search } from "../../actor/recovery.ts";
import type { Storage, Where } from "../../storage/storage.ts";
import { ACTORS, CALLS } from "../../storage/thread-tables.ts";
import { sleep, type System } from "../../system.ts";
import type { ThreadAddress } from "../threads.ts";

const BATCH = 500;

type Found = Map<string, Candidate<ThreadAddress>>;

/**
 * Finds threads with work to do and no process.
 *
 *     running, its owner gone      → the run continues here
 *     idle, with waiting messages  → the oldest opens its run
 *     suspended, answered/aborted  → the run continues here
 */
export function findAbandoned(storage: Storage, system: System, owner: Owner): Search<ThreadAddress> {
  /** Threads without an owner; with `live`, those of owners that are not among them. */
  const collect = async (found: Found, where: Where, live?: ReadonlySet<string>): Promise<void> => {
    for (let after: string | undefined; ;) {
      const rows = await storage.select({
        table: ACTORS,
        where: after === undefined ? where : { ...where, thread_id: { gt: after } },
        orderBy: [{ column: "thread_id" }],
        limit: BATCH,
      });
      for (const row of rows) {
        const isOrphan = row.owner !== null;
        if (isOrphan && (!live || live.has(row.owner!))) continue;
        const threadId = row.thread_id;
        const mark = `${row.fence} ${row.mailbox_count} ${row.abort_run}`;
        found.set(threadId, { address: { threadId, resourceId: row.resource_id }, mark, isOrphan });
      }
      if (rows.length < BATCH || "thread_id" in where) return;
      after = rows.at(-1)!.thread_id;
      await sleep(system, 0);
    }
  };
  /** Threads without an owner that have something to do. */
  const leftAlone = async (found: Found): Promise<void> => {
    await collect(found, { has_mail: 1, run_state: "idle" });
    await collect(found, { abort_run: { ne: null }, run_state: "suspended" });
    const calls = await storage.select({
      table: CALLS,
      where: { state: "decided" },
      columns: ["thread_id"],
      limit: BATCH,
    });
    const decided = [...new Set(calls.map((row) => row.thread_id))];
    if (decided.length > 0) await collect(found, { thread_id: { in: decided }, run_state: "suspended" });
  };
  return async ({ everything, untraced, live, dead }) => {
    const found: Found = new Map();
    for (const run_state of ["running", "suspended"]) {
      // Many may wait for a person. The process that gets the answer finds out that the owner is gone.
      const ofAnyone = everything || (untraced && run_state === "running");
      const owner = ofAnyone ? { ne: null } : { in: dead.map(({ id }) => id) };
      if (ofAnyone || dead.length > 0) await collect(found, { run_state, run_id: { ne: null }, owner }, live);
    }
    if (found.size === 0) await owner.forget(dead);
    await leftAlone(found);
    return found;
  };
}
