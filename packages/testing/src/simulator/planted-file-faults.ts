import type { Write } from "@selvedge/core/storage";
import type { PlantedFault } from "./planted-faults.ts";
import { CHANGES, RUNS } from "./tables.ts";

/** A commit with what calls saved of their progress changed. */
function withProgress(writes: readonly Write[], change: (json: string) => string): Write[] {
  return writes.map((write) => {
    if (write.op !== "update" || write.table !== RUNS || !write.merge?.["open_step"]) return write;
    const progress = JSON.parse(change(JSON.stringify(write.merge["open_step"]))) as never;
    return { ...write, merge: { open_step: progress } };
  });
}

/** What a careless implementation of changes to files would do. */
export const PLANTED_FILE_FAULTS: readonly PlantedFault[] = [
  {
    name: "W1 a change is made before it is written down",
    commit: (writes) => withProgress(writes, () => "{}"),
  },
  { name: "W2 a change is made over that of another writer", files: { blind: true } },
  { name: "W3 a file is written in place", files: { inPlace: true } },
  {
    name: "W4 a change that was made is not recognised",
    commit: (writes) =>
      withProgress(writes, (json) => json.replaceAll(/"after":"[0-9a-f]+"/g, '"after":"other"')),
  },
  {
    name: "W5 a change is not listed",
    commit: (writes) => writes.filter((write) => write.op !== "insert" || write.table !== CHANGES),
  },
  {
    name: "W6 a change that was refused stays listed",
    commit: (writes) => writes.filter((write) => write.op !== "delete" || write.table !== CHANGES),
  },
];
