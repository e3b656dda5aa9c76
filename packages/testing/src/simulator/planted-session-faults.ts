import type { Row, Write } from "@selvedge/core/storage";
import type { PlantedFault } from "./planted-faults.ts";
import { CALLS, EVENTS, MAILBOX, RUNS, SESSIONS, THREAD_STATE } from "./tables.ts";

/** The row of a session as a write has it, changed. */
function withSession(writes: readonly Write[], change: (row: Row) => Row): Write[] {
  return writes.map((write) => {
    if (write.table !== SESSIONS) return write;
    if (write.op === "insert") return { ...write, row: change(write.row) };
    return write.op === "update" && write.set ? { ...write, set: change(write.set) } : write;
  });
}

function decides(writes: readonly Write[]): boolean {
  return writes.some((write) => write.op === "update" && write.table === CALLS && write.set?.["decision"]);
}

/** What a careless implementation of sessions would do. */
export const PLANTED_SESSION_FAULTS: readonly PlantedFault[] = [
  {
    name: "S1 a rule that denies is stored as one that allows",
    commit: (writes) =>
      withSession(writes, (row) => ({
        ...row,
        rules: JSON.parse(JSON.stringify(row["rules"]).replaceAll('"deny"', '"allow"')) as never,
      })),
  },
  {
    name: "S1 a call that asks runs without an answer",
    commit: (writes) =>
      withSession(writes, (row) => ({ ...row, grants: { categories: ["edit"], tools: [] } as never })),
  },
  {
    name: "S1 a grant is not stored with its decision",
    commit: (writes) => {
      const isPlan = writes.some((write) => write.op === "update" && write.table === RUNS);
      return writes.filter((write) => isPlan || !decides(writes) || write.table !== SESSIONS);
    },
  },
  {
    name: "S2 a plan is approved and its run stays in the old mode",
    commit: (writes) => writes.filter((write) => !decides(writes) || write.table !== RUNS),
  },
  {
    name: "S3 a session is changed without a look at its version",
    commit: (writes) =>
      writes.map((write) => {
        if (write.op !== "update" || write.table !== SESSIONS) return write;
        const { version: _, incarnation: __, ...where } = write.where;
        return { ...write, where };
      }),
  },
  {
    name: "S4 tokens of a step are not counted",
    commit: (writes, world) =>
      writes.filter(
        (write) =>
          !(write.op === "insert" && write.table === THREAD_STATE && write.row["type"] === "usage") ||
          !world.random.chance(0.2),
      ),
  },
  {
    name: "S5 what is queued goes when its session goes to another thread",
    commit: (writes) => {
      const moves = writes.some(
        (write) =>
          write.op === "update" &&
          write.table === SESSIONS &&
          write.set?.["thread_version"] === write.set?.["version"],
      );
      return moves ? [...writes, { op: "delete", table: MAILBOX, where: { due: 2 } }] : [...writes];
    },
  },
  {
    name: "S6 nobody is told that a call was decided",
    commit: (writes) =>
      writes.map((write) => {
        if (write.op !== "insert" || write.table !== EVENTS) return write;
        const chunks = JSON.stringify(write.row["chunks"]).replaceAll("tool-call-decided", "data-other");
        return { ...write, row: { ...write.row, chunks: JSON.parse(chunks) as never } };
      }),
  },
  {
    name: "S6 a session does not hear what others change in it",
    select: (query) => {
      if (query.table !== SESSIONS || typeof query.where?.["id"] !== "object") return query;
      return { ...query, where: { id: "nobody" } };
    },
  },
];
