import type { PlantedFault } from "./planted-faults.ts";
import { PROCESSES, RUNS } from "./tables.ts";

/** What a careless implementation of commands would do. */
export const PLANTED_COMMAND_FAULTS: readonly PlantedFault[] = [
  {
    name: "P1 a command is run before it is written down",
    commit: (writes) =>
      writes.map((write) =>
        write.op === "update" && write.table === RUNS && write.merge?.["open_step"]
          ? { ...write, merge: { open_step: {} } }
          : write,
      ),
  },
  {
    name: "P2 a process has no row, so that no one ends it",
    commit: (writes) => writes.filter((write) => write.op !== "insert" || write.table !== PROCESSES),
  },
  { name: "P3 a process is killed by its number alone", commands: { byNumber: true } },
  { name: "P4 two machines are taken for one", commands: { oneHost: true } },
  {
    name: "P5 no one looks for what dead owners left",
    select: (query) =>
      query.table === PROCESSES && query.where?.["state"] === "running"
        ? { ...query, where: { ...query.where, host: "elsewhere" } }
        : query,
  },
];
