import type { Write } from "@selvedge/core/storage";
import type { PlantedFault } from "../../packages/testing/src/simulator/planted-faults.ts";

const RECORDS = "selvedge_om_records";
const JOBS = "selvedge_om_jobs";
const CHUNKS = "selvedge_om_chunks";
const EVENTS = "selvedge_om_events";

/** What a planted fault looks at in a write. */
interface Changed {
  where: Record<string, unknown> & { id?: { in?: string[] } };
  set?: Record<string, number | string>;
  increment?: Record<string, number>;
}

/** Changes the writes of one kind. */
function on(
  op: Write["op"],
  table: string,
  change: (write: Changed) => object | undefined,
): (writes: readonly Write[]) => Write[] {
  return (writes) =>
    writes.flatMap((write) =>
      write.op === op && write.table.name === table
        ? ((change(write as unknown as Changed) as Write | undefined) ?? [])
        : [write],
    );
}

const finishes = (all: readonly Write[]): boolean =>
  all.some((write) => write.op === "insert" && write.table.name === CHUNKS);

/** Mistakes that an engine of observational memory could make. */
export const PLANTED_OM_FAULTS: readonly PlantedFault[] = [
  {
    name: "a job is not in the commit that made it due",
    commit: (writes, world) =>
      on("insert", JOBS, (write) => (world.random.chance(0.3) ? undefined : write))(writes),
  },
  {
    name: "a worker that was overtaken stores its result",
    commit: (writes) => {
      if (!finishes(writes)) return [...writes];
      const unfenced = on("update", JOBS, (write) => {
        const { id } = write.where;
        return { ...write, where: { thread_id: write.where["thread_id"], id } };
      })(writes);
      return on("update", RECORDS, (write) => {
        const { covered_seq: _, ...where } = write.where;
        return { ...write, where };
      })(unfenced);
    },
  },
  {
    name: "the cursor is one message too far",
    commit: on("update", RECORDS, (write) =>
      write.set?.["cursor_seq"] === undefined
        ? write
        : {
            ...write,
            set: {
              ...write.set,
              cursor_seq: Number(write.set["cursor_seq"]) + 1,
              shown_seq: Number(write.set["shown_seq"]) + 1,
            },
          },
    ),
  },
  {
    name: "a reflection replaces a chunk that it did not read",
    commit: on("update", CHUNKS, (write) =>
      write.set?.["state"] === "past"
        ? { ...write, where: { thread_id: write.where["thread_id"], state: "active" } }
        : write,
    ),
  },
  {
    name: "some messages are not counted",
    commit: (writes, world) =>
      on("update", RECORDS, (write) => {
        const isCount = (write.increment?.["pending_tokens"] ?? 0) > 0 && world.random.chance(0.2);
        return isCount ? { ...write, increment: { ...write.increment, pending_tokens: 0 } } : write;
      })(writes),
  },
  {
    name: "a chunk does not advance the coverage",
    commit: (writes, world) =>
      finishes(writes) && world.random.chance(0.3)
        ? on("update", RECORDS, (write) => {
            if (write.set?.["covered_seq"] === undefined) return write;
            const { covered_seq: _, ...set } = write.set;
            return { ...write, set };
          })(writes)
        : [...writes],
  },
  {
    name: "a chunk that waited for its number is announced again",
    commit: on("delete", EVENTS, () => undefined),
  },
  {
    name: "a chunk becomes active and its messages stay",
    commit: on("update", RECORDS, (write) =>
      write.set?.["cursor_seq"] === undefined
        ? write
        : { ...write, set: { updated_at: write.set["updated_at"] } },
    ),
  },
  {
    name: "the log is one chunk short after an activation",
    commit: on("update", CHUNKS, (write) =>
      write.set?.["state"] === "active" && (write.where.id?.in?.length ?? 0) > 1
        ? { ...write, where: { ...write.where, id: { in: write.where.id!.in!.slice(1) } } }
        : write,
    ),
  },
  {
    name: "the job of a dead process is never taken over",
    select: (query) =>
      query.table.name === JOBS && (query.where as { state?: unknown } | undefined)?.state === "running"
        ? { ...query, where: { ...query.where, id: "" } }
        : query,
  },
  {
    name: "chunks that wait for a number are announced by runs alone",
    select: (query) =>
      query.table.name === EVENTS && query.where === undefined ? { ...query, where: { id: "" } } : query,
  },
];
