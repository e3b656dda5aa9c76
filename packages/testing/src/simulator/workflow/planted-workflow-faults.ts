import { WORKFLOW_DOMAIN } from "@selvedge/core/workflows";
import type { Table, Write } from "@selvedge/core/storage";
import type { PlantedFault } from "../planted-faults.ts";
import { OWNERS } from "../tables.ts";

function table(name: string): Table {
  const found = WORKFLOW_DOMAIN.tables.find((one) => one.name === `selvedge_workflow_${name}`);
  if (!found) throw new Error(`Workflows have no table ${name}.`);
  return found;
}

export const WORKFLOW_RUNS: Table = table("runs");
const STEPS = table("steps");
const STATE = table("state");
const ONCE = table("once");
const MAIL = table("mail");
const EVENTS = table("events");

/** The rows that a commit adds to a table. */
function adds(write: Write, to: Table): write is Write & { op: "insert" } {
  return write.op === "insert" && write.table === to;
}

/** What a careless engine would do. */
export const PLANTED_WORKFLOW_FAULTS: readonly PlantedFault[] = [
  {
    name: "W1 a choice is not stored",
    commit: (writes) =>
      writes.filter((write) => !(adds(write, STEPS) && /(^|\/)\?/.test(write.row["path"] as string))),
  },
  {
    name: "W1 the result of a step is not stored",
    commit: (writes, world) =>
      writes.filter(
        (write) => !(adds(write, STEPS) && write.row["status"] === "success" && world.random.chance(0.1)),
      ),
  },
  {
    name: "W1 a step's state is not stored with it",
    commit: (writes, world) => writes.filter((write) => !(adds(write, STATE) && world.random.chance(0.2))),
  },
  {
    name: "W2 the result of once() is not stored",
    commit: (writes) => writes.filter((write) => !adds(write, ONCE)),
  },
  {
    name: "W4 a step that may run once is not written down before it runs",
    commit: (writes) => writes.filter((write) => !(adds(write, STEPS) && write.row["status"] === "running")),
  },
  {
    name: "W5 a step is resumed twice",
    commit: (writes) =>
      writes.map((write) => {
        if (write.op !== "update" || write.table !== STEPS || write.where["status"] !== "suspended")
          return write;
        const { status: _, ...where } = write.where;
        return { ...write, where };
      }),
  },
  {
    name: "W7 a time travel keeps the results after it",
    commit: (writes) => writes.filter((write) => !(write.op === "delete" && write.table === STEPS)),
  },
  {
    name: "I1 a cancellation before the start is not stored",
    commit: (writes) =>
      writes.some((write) => adds(write, WORKFLOW_RUNS) && write.row["status"] === "canceled")
        ? []
        : [...writes],
  },
  {
    name: "I1 a message to a run is not written",
    commit: (writes, world) => writes.filter((write) => !(adds(write, MAIL) && world.random.chance(0.5))),
  },
  {
    name: "I1 a run rests with a message waiting",
    commit: (writes) => writes.filter((write) => !(write.op === "require" && write.table === MAIL)),
  },
  {
    name: "I4 a process that lost its run goes on writing",
    commit: (writes) =>
      writes.map((write) => {
        if (write.op === "insert" || write.table !== WORKFLOW_RUNS || !("fence" in write.where)) return write;
        const { fence: _, owner: __, ...where } = write.where;
        return { ...write, where };
      }),
  },
  {
    name: "I10 some events are not stored",
    commit: (writes, world) => writes.filter((write) => !(adds(write, EVENTS) && world.random.chance(0.05))),
  },
  {
    name: "I12 the due time of a sleep is not stored",
    commit: (writes) =>
      writes.map((write) => {
        if (write.op !== "update" || write.table !== WORKFLOW_RUNS || !write.set?.["due_at"]) return write;
        return { ...write, set: { ...write.set, due_at: null } };
      }),
  },
  {
    name: "I16 nobody notices that a process is gone",
    select: (query) =>
      query.table === OWNERS && !query.limit ? { ...query, where: { id: "nobody" } } : query,
  },
];
