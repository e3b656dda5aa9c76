import type { Write } from "@selvedge/core/storage";

/** Commits of observational memory, by what they write. */
const COMMITS = [
  "job",
  "take",
  "observed",
  "activation",
  "reflected",
  "reflection-activation",
  "clone",
] as const;

export type OmCommit = (typeof COMMITS)[number];

/** Where a process is killed: at the n-th commit of a kind, before or after it took effect, or while a model is asked. */
export interface KillPoint {
  at: OmCommit | "observer" | "reflector";
  when: "before" | "after" | "during";
  n: number;
}

/** What a commit is to observational memory. */
export function commitKind(writes: readonly Write[]): OmCommit | undefined {
  for (const write of writes) {
    const { name } = write.table;
    if (write.op === "insert" && name === "selvedge_threads" && isClone(write.row["metadata"]))
      return "clone";
    if (write.op === "insert" && name === "selvedge_om_jobs") return "job";
    if (write.op === "update" && name === "selvedge_om_jobs" && write.set?.["state"] === "running")
      return "take";
    if (write.op === "insert" && name === "selvedge_om_chunks")
      return write.row["kind"] === "reflect" ? "reflected" : "observed";
    if (write.op === "update" && name === "selvedge_om_chunks" && write.set?.["state"] === "active")
      return typeof write.where["id"] === "string" ? "reflection-activation" : "activation";
  }
  return undefined;
}

function isClone(metadata: unknown): boolean {
  return typeof metadata === "object" && metadata !== null && "clone" in metadata;
}
