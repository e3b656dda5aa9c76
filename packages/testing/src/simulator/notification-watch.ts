import type { Storage, Row, Write } from "@selvedge/core/storage";
import type { SimProcess } from "./sim-process.ts";
import { MAILBOX, NOTIFICATIONS } from "./tables.ts";

/** Watches what commits do to the inboxes of all threads. */
export class NotificationWatch {
  readonly #process: SimProcess;
  readonly #shared: Storage;

  constructor(process: SimProcess, shared: Storage) {
    this.#process = process;
    this.#shared = shared;
  }

  /** The records, where a commit is about any. */
  look(writes: readonly Write[]): Promise<Row[]> {
    if (!writes.some((write) => write.table === NOTIFICATIONS)) return Promise.resolve([]);
    return this.#shared.select({ table: NOTIFICATIONS });
  }

  check(writes: readonly Write[], before: readonly Row[], after: readonly Row[]): void {
    const { world, name } = this.#process;
    const earlier = new Map(before.map((row) => [row["id"], row]));
    const pending = new Set<string>();
    for (const row of after) {
      for (const slot of row["status"] === "pending" ? slots(row) : []) {
        if (pending.has(slot)) world.violate("I8", `two pending records have ${slot}`);
        pending.add(slot);
      }
      const was = earlier.get(row["id"]);
      if (!was || same(was, row)) continue;
      if ((row["version"] as number) <= (was["version"] as number))
        world.violate("I8", `${name} changed record ${show(row["id"])} without a new version`);
      if (was["status"] !== "pending" && row["status"] === "pending")
        world.violate("I7", `record ${show(row["id"])} was ${show(was["status"])} and is pending again`);
      this.#note(writes, was, row);
    }
    const claims = writes.filter((write) => write.op === "update" && write.set?.["claim_owner"] === name);
    for (const claim of claims) {
      const taken = after.find((row) => claim.op === "update" && row["id"] === claim.where["id"]);
      if (taken && taken["claim_owner"] !== name) world.reached.add("two wanted the same record");
    }
  }

  #note(writes: readonly Write[], was: Row, row: Row): void {
    const { world, name } = this.#process;
    const isSent = writes.some((write) => write.op === "insert" && write.table === MAILBOX);
    if (isSent && was["claim_owner"] === name && was["undecided"] === 0)
      world.reached.add(
        row["status"] === "delivered"
          ? "a record was dispatched in full"
          : "a record was dispatched in a summary",
      );
    if (row["status"] === "delivered" && was["priority"] === "high" && was["summary_signal_id"] !== null)
      world.reached.add("a record that waited for an idle thread was delivered");
    const owner = was["claim_owner"];
    const heir = row["claim_owner"];
    if (typeof owner !== "string" || heir !== name || owner === name) return;
    const old = world.processes.find((process) => process.name === owner);
    world.reached.add(
      old?.alive
        ? "a record was taken from a process that lives"
        : "a record was taken from a process that died",
    );
  }
}

/** What only one pending record may have. */
function slots(row: Row): string[] {
  return (["dedupe_key", "coalesce_key"] as const)
    .filter((column) => row[column] !== null)
    .map((column) =>
      show([
        row["thread_id"],
        row["resource_id"],
        row["agent_id"],
        row["source"],
        row["kind"],
        column,
        row[column],
      ]),
    );
}

function same(a: Row, b: Row): boolean {
  return Object.keys(b).every((column) => show(a[column]) === show(b[column]));
}

function show(value: unknown): string {
  return JSON.stringify(value);
}
