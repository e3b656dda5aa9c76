import type { Table } from "@selvedge/core/storage";

export type ResponseRow = {
  id: string;
  thread_id: string;
  resource_id: string;
  agent_id: string;
  previous_id: string | null;
  follows: string | null;
  after_seq: number;
  answered: unknown;
  created_at: number;
  deleted_at: number | null;
};

/**
 * Responses that can be continued by id. A response starts on its thread after the message `after_seq`. It ends where
 * the response with its id in `follows` starts, or at the end of the thread. `follows` is unique, so a second
 * continuation of the same response gets a separate thread. `answered` are the calls of the previous response that this
 * one provided results for.
 */
export const RESPONSES: Table<ResponseRow> = {
  name: "selvedge_responses",
  columns: {
    id: "text",
    thread_id: "text",
    resource_id: "text",
    agent_id: "text",
    previous_id: "text",
    follows: "text",
    after_seq: "integer",
    answered: "json",
    created_at: "integer",
    /** The row stays until its thread is deleted: it marks where the previous response ends. */
    deleted_at: "integer",
  },
  key: ["id"],
  partition: "thread_id",
  indexes: [{ columns: ["thread_id", "after_seq"] }, { columns: ["follows"], unique: true }],
};
