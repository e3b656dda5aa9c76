import type { Table } from "./table.ts";

type CommitRow = { id: string; created_at: number };

/** Commits that took effect, for stores whose responses can be lost. Kept until no process can ask again. */
export const COMMITS: Table<CommitRow> = {
  name: "selvedge_commits",
  columns: { id: "text", created_at: "integer" },
  key: ["id"],
  indexes: [{ columns: ["created_at"] }],
};
