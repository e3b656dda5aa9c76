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
 * Answers that can be gone on from by their id. One begins on its thread after the message `after_seq`; it ends where the
 * one that has its id in `follows` begins, or with the thread. `follows` is unique, so a second one that goes on from the
 * same place gets a thread of its own. `answered` are the calls of the one before that this one brought results for.
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
    /** It stays as a mark of where the one before ends, until its thread goes. */
    deleted_at: "integer",
  },
  key: ["id"],
  partition: "thread_id",
  indexes: [{ columns: ["thread_id", "after_seq"] }, { columns: ["follows"], unique: true }],
};
