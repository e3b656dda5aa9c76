import { COMMITS } from "./commit-table.ts";
import { NOTIFICATIONS } from "./notification-table.ts";
import { DOMAINS } from "./domain.ts";
import { THREAD_STATE } from "./thread-state-table.ts";
import type { AnyTable, Table } from "./table.ts";
import { THREAD_TABLES } from "./thread-tables.ts";

export type { Table };

export type ThreadRow = {
  id: string;
  resource_id: string;
  title: string | null;
  metadata: unknown;
  /** The thread that a subagent works for. Lists of threads leave such threads out. */
  parent_id: string | null;
  created_at: number;
  updated_at: number;
};

export const THREADS: Table<ThreadRow> = {
  name: "selvedge_threads",
  columns: {
    id: "text",
    resource_id: "text",
    title: "text",
    metadata: "json",
    parent_id: "text",
    created_at: "integer",
    updated_at: "integer",
  },
  key: ["id"],
  partition: "id",
  clustered: true,
  indexes: [{ columns: ["resource_id", "updated_at"] }, { columns: ["created_at"] }],
};

export type MessageRow = {
  seq: number;
  id: string;
  thread_id: string;
  resource_id: string | null;
  role: string;
  type: string | null;
  content: unknown;
  metadata: unknown;
  created_at: number;
};

/**
 * `seq` is the order of a thread. Clocks jump; `created_at` is for people. `metadata` is `content.metadata`, apart so
 * that it can be changed by key.
 */
export const MESSAGES: Table<MessageRow> = {
  name: "selvedge_messages",
  columns: {
    seq: "integer",
    id: "text",
    thread_id: "text",
    resource_id: "text",
    role: "text",
    type: "text",
    content: "json",
    metadata: "json",
    created_at: "integer",
  },
  key: ["id"],
  partition: "thread_id",
  auto: "seq",
  indexes: [{ columns: ["thread_id", "seq"] }],
};

export type MessageStepRow = { message_id: string; step: number; thread_id: string; parts: unknown };

/**
 * What the later steps of a run added to its message, the second and so on. A step appends one row here instead of rewriting a message
 * that grows, so storing a step costs the same in the tenth step and in the thousandth.
 */
export const MESSAGE_STEPS: Table<MessageStepRow> = {
  name: "selvedge_message_steps",
  columns: { message_id: "text", step: "integer", thread_id: "text", parts: "json" },
  key: ["message_id", "step"],
  partition: "thread_id",
  clustered: true,
  // Found through their messages: an index by thread would be written with every step.
  indexes: [],
};

export type ResourceRow = {
  id: string;
  working_memory: string | null;
  metadata: unknown;
  version: number;
  created_at: number;
  updated_at: number;
};

/** A resource is the user or thing that threads belong to. */
export const RESOURCES: Table<ResourceRow> = {
  name: "selvedge_resources",
  columns: {
    id: "text",
    working_memory: "text",
    metadata: "json",
    version: "integer",
    created_at: "integer",
    updated_at: "integer",
  },
  key: ["id"],
  partition: "id",
  indexes: [],
};

/**
 * Rises by one with every change to `TABLES`. A store refuses a database with a higher number; it brings one with a
 * lower number up by adding the tables, columns and indexes that are missing.
 */
export const SCHEMA_VERSION: number = 12;

/**
 * The oldest version of this package that can work with a database of `SCHEMA_VERSION`, beside newer ones, as during a
 * deploy. Raise it when an older program would misread or lose what a newer one writes.
 */
export const READABLE_FROM: number = 7;

/** Core's own tables, in the order migrations create them. Other rooms declare theirs in a `Domain`. */
export const TABLES: readonly AnyTable[] = [
  THREADS,
  MESSAGES,
  MESSAGE_STEPS,
  RESOURCES,
  ...THREAD_TABLES,
  NOTIFICATIONS,
  COMMITS,
  DOMAINS,
  THREAD_STATE,
];
