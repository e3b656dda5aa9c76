import type { Write } from "@selvedge/core/storage";

/** Tables whose writes are not a step in the life of a run. */
const BESIDE = /owners|schedules/;

/**
 * The kind of a commit: the tables that it writes to and what it sets there, without values that differ between runs. Nothing for commits
 * that are not about runs.
 */
export function kindOf(writes: readonly Write[]): string | undefined {
  const changes = writes.filter(({ op, table }) => op !== "require" && !BESIDE.test(table.name));
  if (changes.length === 0) return undefined;
  const names = changes.map((write) => {
    const row = write.op === "insert" ? write.row : write.op === "update" ? (write.set ?? {}) : {};
    const state = row["status"] ?? row["state"] ?? row["kind"] ?? row["run_state"];
    const name = write.table.name.replace("selvedge_", "");
    return `${write.op} ${name}${typeof state === "string" ? ` ${state}` : ""}`;
  });
  return [...new Set(names)].toSorted().join(", ");
}
