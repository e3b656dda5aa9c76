import type { Row, Select, Write } from "@selvedge/core/storage";
import {
  ACTORS,
  CALLS,
  EVENTS,
  LANES,
  MAILBOX,
  MESSAGES,
  MESSAGE_STEPS,
  NOTIFICATIONS,
  OWNERS,
  RUNS,
  SENDS,
} from "./tables.ts";
import { PLANTED_SESSION_FAULTS } from "./planted-session-faults.ts";
import { PLANTED_COMMAND_FAULTS } from "./planted-command-faults.ts";
import { PLANTED_FILE_FAULTS } from "./planted-file-faults.ts";
import { hasCommands } from "./sim-commands.ts";
import { hasFiles } from "./sim-files.ts";
import type { PlantedCommandFault } from "./sim-machine.ts";
import type { PlantedFileFault } from "./sim-filesystem.ts";
import type { World } from "./world.ts";

/** A mistake made on purpose, to see that the checks find it. */
export interface PlantedFault {
  name: string;
  /** Whether a world can show it. Every world, when absent. */
  isIn?(seed: number): boolean;
  /** Changes what a commit does. */
  commit?(writes: readonly Write[], world: World): Write[];
  select?(query: Select, world: World): Select;
  /** Changes how the agent's tools are declared. */
  files?: PlantedFileFault;
  /** Changes how processes are identified. */
  commands?: PlantedCommandFault;
  tools?: { plainIsIdempotent?: boolean; approvalIsSkipped?: boolean };
}

const ANSWERED = /"state":"(result|output-error|output-denied)"/g;

/** The faults of the table in reliability.md that do most harm, each as a store or an agent would commit it. */
export const PLANTED_FAULTS: readonly PlantedFault[] = [
  {
    name: "F1 an accepted message is not written",
    commit: (writes, world) =>
      writes.filter(
        (write) => !(write.op === "insert" && write.table === MAILBOX && world.random.chance(0.2)),
      ),
  },
  { name: "F3 a tool in flight is run again", tools: { plainIsIdempotent: true } },
  {
    name: "F6 a notification is sent and not marked",
    commit: (writes) =>
      writes.some((write) => write.op === "insert" && write.table === MAILBOX)
        ? writes.filter((write) => write.table !== NOTIFICATIONS)
        : [...writes],
  },
  {
    name: "F6 a record that somebody took and died with stays taken",
    commit: (writes) =>
      writes.map((write) => {
        if (write.op !== "update" || write.table !== NOTIFICATIONS || !write.set?.["claim_owner"])
          return write;
        return { ...write, set: { ...write.set, due_at: null } };
      }),
  },
  {
    name: "F6 two dispatchers send one record",
    commit: (writes) =>
      writes.map((write) => {
        if (write.op !== "update" || write.table !== NOTIFICATIONS) return write;
        const { version: _, status: __, ...where } = write.where;
        return { ...write, where };
      }),
  },
  {
    name: "F7 a run ends with messages waiting and drops them",
    commit: (writes) => {
      const end = writes.find(
        (write) => write.op === "update" && write.table === ACTORS && write.set?.["run_id"] === null,
      );
      if (end?.op !== "update") return [...writes];
      const kept = writes.filter((write) => !(write.op === "require" && write.table === MAILBOX));
      return [
        ...kept,
        { op: "delete", table: MAILBOX, where: { thread_id: end.where["thread_id"] as string, due: 0 } },
      ];
    },
  },
  {
    name: "F8 two processes run one thread",
    commit: (writes) =>
      writes.map((write) => {
        if (write.op !== "update" || write.table !== ACTORS || write.where["run_id"] !== null) return write;
        const { run_id: _, fence: __, ...where } = write.where;
        return { ...write, where };
      }),
  },
  {
    name: "F9 an owner that lost its thread goes on writing",
    commit: (writes) =>
      writes.map((write) => {
        if (write.op === "insert" || write.table !== RUNS || !("fence" in write.where)) return write;
        return { ...write, where: { id: write.where["id"] as string } };
      }),
  },
  {
    name: "F10 a call is decided twice",
    // The place in the log would also show it, so that condition goes too.
    commit: (writes) => {
      const decision = writes.find(
        (write) => write.op === "update" && write.table === CALLS && write.where["state"] === "waiting",
      );
      return decision?.op === "update" ? [{ ...decision, require: false }] : [...writes];
    },
  },
  {
    name: "F11 a declined call runs",
    commit: (writes) =>
      writes.map((write) => {
        const decision = write.op === "update" && write.table === CALLS ? write.set?.["decision"] : undefined;
        if (write.op !== "update" || typeof decision !== "object" || decision === null) return write;
        return {
          ...write,
          set: { ...write.set, decision: { ...(decision as object), approved: true } as never },
        };
      }),
  },
  {
    name: "F12 a request that is sent again counts again",
    commit: (writes) => writes.filter((write) => write.table !== SENDS),
  },
  {
    name: "F13 two states of a lane get one version",
    commit: (writes) =>
      writes.map((write) => {
        if (write.table !== LANES) return write;
        if (write.op === "insert") return { ...write, onConflict: "update" as const };
        if (write.op !== "update") return write;
        const { version: _, ...where } = write.where;
        return { ...write, where };
      }),
  },
  {
    name: "F13 two pending records have one key",
    commit: (writes) =>
      writes.map((write) => {
        if (write.op !== "insert" || write.table !== NOTIFICATIONS) return write;
        return { ...write, row: { ...write.row, dedupe_slot: null, coalesce_slot: null } };
      }),
  },
  {
    name: "F18 a tool call stays without a result",
    commit: (writes) =>
      writes.map((write) => {
        if (write.op !== "insert" || (write.table !== MESSAGES && write.table !== MESSAGE_STEPS))
          return write;
        const row = JSON.stringify(write.row);
        return { ...write, row: JSON.parse(row.replaceAll(ANSWERED, '"state":"call"')) as Row };
      }),
  },
  {
    name: "I5 calls are not written down before they run",
    commit: (writes) =>
      writes.map((write) => {
        if (write.op !== "update" || write.table !== RUNS || !write.set?.["open_step"]) return write;
        return { ...write, set: { ...write.set, open_step: null } };
      }),
  },
  {
    name: "I14 a message is stored and not shown",
    commit: (writes, world) =>
      writes.map((write) => {
        if (write.op !== "insert" || write.table !== EVENTS || !world.random.chance(0.1)) return write;
        const chunks = JSON.stringify(write.row["chunks"]).replaceAll("data-user-message", "data-other");
        return { ...write, row: { ...write.row, chunks: JSON.parse(chunks) as never } };
      }),
  },
  {
    name: "I16 nobody notices that a process is gone",
    select: (query) =>
      query.table === OWNERS && !query.limit ? { ...query, where: { id: "nobody" } } : query,
  },
  {
    name: "I10 events of a run that is not over are deleted as old",
    commit: (writes) =>
      writes.some((write) => write.op === "delete" && write.table === EVENTS)
        ? writes.filter((write) => write.op !== "require")
        : [...writes],
    select: (query) =>
      query.table === ACTORS && query.columns?.length === 1 ? { ...query, where: { thread_id: "" } } : query,
  },
  {
    name: "T5 a thread shows another's messages",
    select: (query) => {
      if (query.table !== MESSAGES || !query.where) return query;
      const { thread_id: _, ...where } = query.where;
      return { ...query, where };
    },
  },
  { name: "T7 a tool runs without the approval it needs", tools: { approvalIsSkipped: true } },
  ...PLANTED_SESSION_FAULTS,
  ...PLANTED_FILE_FAULTS.map((fault) => ({ ...fault, isIn: hasFiles })),
  ...PLANTED_COMMAND_FAULTS.map((fault) => ({ ...fault, isIn: hasCommands })),
];

/** The first worlds that can show a fault. */
export function worldsWith({ isIn }: PlantedFault, count: number): number[] {
  const seeds: number[] = [];
  for (let seed = 1; seeds.length < count; seed++) if (!isIn || isIn(seed)) seeds.push(seed);
  return seeds;
}
