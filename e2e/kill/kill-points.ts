import { TABLES, type Table, type Write } from "@selvedge/core/storage";

function table(name: string): Table {
  return TABLES.find((one) => one.name === `selvedge_${name}`)!;
}

export const ACTORS: Table = table("actors");
export const CALLS: Table = table("calls");
export const EVENTS: Table = table("events");
export const MAILBOX: Table = table("mailbox");
export const NOTIFICATIONS: Table = table("notifications");
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

/** The commits of a notification's life. */
const OF_RECORDS = {
  filing: (write: Write) =>
    write.table === NOTIFICATIONS &&
    (write.op === "insert" || (write.op === "update" && "coalesced_count" in (write.increment ?? {}))),
  deciding: (write: Write) =>
    changesRecord(write) && write.set["undecided"] === 0 && !("delivered_signal_id" in write.set),
  claiming: (write: Write) => changesRecord(write) && typeof write.set["claim_owner"] === "string",
  telling: (write: Write) => changesRecord(write) && typeof write.set["summary_signal_id"] === "string",
  delivering: (write: Write) => changesRecord(write) && typeof write.set["delivered_signal_id"] === "string",
} as const;

/** The commits of a tool that says how far it is. */
const OF_TOOLS = {
  progress: (write: Write) =>
    write.op === "update" && write.table === RUNS && Boolean(write.merge?.["open_step"]),
} as const;

const ALL = { ...POINTS, ...OF_RECORDS, ...OF_TOOLS };

export type PointName = keyof typeof ALL | "tool" | "model";

export const COMMIT_POINTS: readonly (keyof typeof POINTS)[] = Object.keys(POINTS) as (keyof typeof POINTS)[];
export const RECORD_POINTS: readonly (keyof typeof OF_RECORDS)[] = Object.keys(
  OF_RECORDS,
) as (keyof typeof OF_RECORDS)[];

export function isPoint(name: PointName, writes: readonly Write[]): boolean {
  return name in ALL && writes.some(ALL[name as keyof typeof ALL]);
}

function changesRecord(write: Write): write is Write & { op: "update"; set: object } {
  return write.op === "update" && write.table === NOTIFICATIONS && write.set !== undefined;
}
