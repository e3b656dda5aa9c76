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
  /** The copy of a thread for a fork, the step that made it, and the task of any subagent. */
  clone: (write: Write) =>
    write.op === "insert" && write.table.name === "selvedge_threads" && isChild(write.row["id"]),
  "open step": (write: Write) => write.op === "insert" && String(write.row["id"]).startsWith("fork-"),
  delegation: (write: Write) =>
    write.op === "insert" && write.table.name === "selvedge_mailbox" && isChild(write.row["thread_id"]),
  state: (write: Write) => write.op === "update" && write.table.name === "selvedge_sessions",
} as const;

export type Point = keyof typeof POINTS;
/** A commit, or the moment in which a subagent asks its model. */
export interface KillAt {
  point: Point | "model of a subagent";
  when: "before" | "after";
  /** The second such commit, and so on. The first, when absent. */
  nth?: number;
}

export function isPoint(name: KillAt["point"], writes: readonly Write[]): boolean {
  return name !== "model of a subagent" && writes.some(POINTS[name]);
}

function isChild(threadId: unknown): boolean {
  return String(threadId).startsWith("sub-");
}

function isTask(write: Write): boolean {
  return (
    (write.op === "insert" ? write.row["type"] : write.op === "update" ? write.where["type"] : undefined) ===
    "task"
  );
}
