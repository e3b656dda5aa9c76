import type { Table } from "../storage/table.ts";

export type SessionRow = {
  controller_id: string;
  id: string;
  owner_id: string;
  resource_id: string;
  default_resource_id: string;
  thread_id: string | null;
  thread_version: number | null;
  mode_id: string;
  model_id: string;
  tags: unknown;
  state: unknown;
  rules: unknown;
  grants: unknown;
  settings: unknown;
  process: string | null;
  version: number;
  incarnation: string | null;
  created_at: number;
  updated_at: number;
};

/**
 * Sessions of controllers: who, on which thread, in which mode, and what is allowed. `version` rises with every change.
 * `thread_version` is the version in which the session came to its thread; rows of an older version do not say it. `process` has the process of a session that no other shares.
 */
export const SESSIONS: Table<SessionRow> = {
  name: "selvedge_sessions",
  columns: {
    controller_id: "text",
    id: "text",
    owner_id: "text",
    resource_id: "text",
    default_resource_id: "text",
    thread_id: "text",
    thread_version: "integer",
    mode_id: "text",
    model_id: "text",
    tags: "json",
    state: "json",
    rules: "json",
    grants: "json",
    settings: "json",
    process: "text",
    version: "integer",
    /** Unique for every creation of a session, because an id can be used again. Older rows have none. */
    incarnation: "text",
    created_at: "integer",
    updated_at: "integer",
  },
  key: ["controller_id", "id"],
  partition: "id",
  indexes: [{ columns: ["controller_id", "process", "updated_at"] }],
};
