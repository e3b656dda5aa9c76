import type { Table } from "./table.ts";

export type ThreadStateRow = {
  thread_id: string;
  type: string;
  value: unknown;
  version: number;
  updated_at: number;
};

/** Named values of a thread, each with its version. */
export const THREAD_STATE: Table<ThreadStateRow> = {
  name: "selvedge_thread_state",
  columns: {
    thread_id: "text",
    type: "text",
    value: "json",
    version: "integer",
    updated_at: "integer",
  },
  key: ["thread_id", "type"],
  partition: "thread_id",
  indexes: [],
};
