import type { Write } from "@selvedge/core/storage";

/** The commits of a session's life, by what they do. */
const POINTS = {
  session: (write: Write) => write.op === "insert" && write.table.name === "selvedge_sessions",
  thread: (write: Write) => write.op === "insert" && write.table.name === "selvedge_threads",
  waiting: (write: Write) => write.op === "insert" && write.row["state"] === "waiting",
  decision: (write: Write) => write.op === "update" && write.set?.["state"] === "decided",
  usage: (write: Write) => write.op === "insert" && write.row["type"] === "usage",
  task: (write: Write) =>
    write.op !== "require" && write.table.name === "selvedge_thread_state" && isTask(write),
  state: (write: Write) => write.op === "update" && write.table.name === "selvedge_sessions",
} as const;

export type Point = keyof typeof POINTS;
export interface KillAt {
  point: Point;
  when: "before" | "after";
}

export function isPoint(name: Point, writes: readonly Write[]): boolean {
  return writes.some(POINTS[name]);
}

function isTask(write: Write): boolean {
  return (
    (write.op === "insert" ? write.row["type"] : write.op === "update" ? write.where["type"] : undefined) ===
    "task"
  );
}
