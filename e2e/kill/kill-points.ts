import { TABLES, type Table, type Write } from "@selvedge/core/storage";

function table(name: string): Table {
  return TABLES.find((one) => one.name === `selvedge_${name}`)!;
}

export const ACTORS: Table = table("actors");
export const CALLS: Table = table("calls");
export const EVENTS: Table = table("events");
export const MAILBOX: Table = table("mailbox");
const MESSAGES: Table = table("messages");
const MESSAGE_STEPS: Table = table("message_steps");
const RUNS: Table = table("runs");

/** The commits of a thread's life, by what they do. */
const POINTS = {
  admission: (write: Write) => write.op === "insert" && write.table === MAILBOX,
  taking: (write: Write) => write.op === "insert" && write.table === RUNS,
  "taking in": (write: Write) => write.op === "delete" && write.table === MAILBOX,
  intent: (write: Write) =>
    write.op === "update" && write.table === RUNS && Boolean(write.set?.["open_step"]),
  outcome: (write: Write) => write.op === "insert" && write.table === CALLS && write.row["state"] === "done",
  step: (write: Write) =>
    write.table === MESSAGE_STEPS ||
    (write.op === "insert" && write.table === MESSAGES && write.row["role"] === "assistant"),
  waiting: (write: Write) =>
    write.op === "insert" && write.table === CALLS && write.row["state"] === "waiting",
  decision: (write: Write) =>
    write.op === "update" && write.table === CALLS && write.set?.["state"] === "decided",
  end: (write: Write) => write.op === "update" && write.table === ACTORS && write.set?.["run_id"] === null,
  chunks: (write: Write) => write.op === "insert" && write.table === EVENTS,
} as const;

export type PointName = keyof typeof POINTS | "tool" | "model";

export const COMMIT_POINTS: readonly (keyof typeof POINTS)[] = Object.keys(POINTS) as (keyof typeof POINTS)[];

export function isPoint(name: PointName, writes: readonly Write[]): boolean {
  return name in POINTS && writes.some(POINTS[name as keyof typeof POINTS]);
}
