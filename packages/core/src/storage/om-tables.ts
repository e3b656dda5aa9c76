import type { Table } from "./table.ts";

/**
 * The partition of a record: the thread, so that its rows go with the thread, or the resource. Ids have no control
 * characters, so the two never meet.
 */
export function recordKey(scope: "thread" | "resource", threadId: string, resourceId: string): string {
  return scope === "thread" ? threadId : `\tresource ${resourceId}`;
}

export type OmRecordRow = {
  thread_id: string;
  source: string;
  id: string;
  scope: "thread" | "resource";
  resource_id: string;
  generation: number;
  version: number;
  log_tokens: number;
  reflected: number;
  reflected_tokens: number;
  total_observed: number;
  usage: unknown;
  config: unknown;
  hints: unknown;
  pending_tokens: number;
  pending_count: number;
  planned_id: string | null;
  planned_tokens: number;
  covered_seq: number;
  covered_id: string | null;
  cursor_seq: number;
  shown_seq: number;
  omitted_count: number;
  omitted_tokens: number;
  unbound: unknown;
  last_model: string | null;
  last_active_at: number | null;
  last_observed_at: number | null;
  created_at: number;
  updated_at: number;
};

/**
 * What is known of a log and of the messages that wait for it. `source` is empty; in resource scope there is one row more
 * per thread, with `source` naming it, which has the columns about messages.
 */
export const OM_RECORDS: Table<OmRecordRow> = {
  name: "selvedge_om_records",
  columns: {
    thread_id: "text",
    source: "text",
    id: "text",
    scope: "text",
    resource_id: "text",
    generation: "integer",
    /** Rises with every activation. */
    version: "integer",
    /** Tokens of the active log. */
    log_tokens: "integer",
    /** The last position that a reflection was tried with, and the size of the log then. */
    reflected: "integer",
    reflected_tokens: "integer",
    total_observed: "integer",
    usage: "json",
    /** Thresholds of this record. */
    config: "json",
    /** Current task, suggested response and extracted values of the newest active chunk. */
    hints: "json",
    /** Of the messages after the cursor. */
    pending_tokens: "integer",
    pending_count: "integer",
    /** The last message that a job was made for, and the tokens of those after the cursor that have one. */
    planned_id: "text",
    planned_tokens: "integer",
    /** Chunks cover the messages up to this one. */
    covered_seq: "integer",
    covered_id: "text",
    /** Active chunks cover the messages up to this one. */
    cursor_seq: "integer",
    /** The prompt begins after this message. */
    shown_seq: "integer",
    /** Messages after the cursor that are left out of the prompt. */
    omitted_count: "integer",
    omitted_tokens: "integer",
    /** Of a copy: the messages whose numbers are looked up when it is first used. */
    unbound: "json",
    last_model: "text",
    last_active_at: "integer",
    last_observed_at: "integer",
    created_at: "integer",
    updated_at: "integer",
  },
  key: ["thread_id", "source"],
  partition: "thread_id",
  indexes: [],
};

export type OmChunkRow = {
  thread_id: string;
  number: number;
  id: string;
  source: string;
  kind: "observe" | "reflect";
  state: "buffered" | "active" | "past";
  generation: number;
  position: number | null;
  upto: number | null;
  first_seq: number;
  last_seq: number;
  first_id: string | null;
  last_id: string | null;
  message_count: number;
  message_tokens: number;
  text: string;
  tokens: number;
  hints: unknown;
  cycle_id: string;
  input_tokens: number;
  created_at: number;
  activated_at: number | null;
};

/**
 * Pieces of the log, in the order of `position` and `number`. A reflection (`kind`) stands for all chunks up to position
 * `upto`, which become `past`, and begins a generation.
 */
export const OM_CHUNKS: Table<OmChunkRow> = {
  name: "selvedge_om_chunks",
  columns: {
    thread_id: "text",
    number: "integer",
    id: "text",
    source: "text",
    kind: "text",
    state: "text",
    /** The generation that it was made in; of a reflection, the one that it begins. */
    generation: "integer",
    /** The version of the record that it became active with. */
    position: "integer",
    upto: "integer",
    first_seq: "integer",
    last_seq: "integer",
    first_id: "text",
    last_id: "text",
    message_count: "integer",
    message_tokens: "integer",
    text: "text",
    tokens: "integer",
    hints: "json",
    cycle_id: "text",
    /** Of a reflection: the tokens of what it stands for. */
    input_tokens: "integer",
    created_at: "integer",
    activated_at: "integer",
  },
  key: ["id"],
  partition: "thread_id",
  auto: "number",
  indexes: [{ columns: ["thread_id", "state", "number"] }],
};

export type OmJobRow = {
  thread_id: string;
  number: number;
  id: string;
  source: string;
  source_resource: string;
  kind: "observe" | "reflect" | "renew";
  upto: number | null;
  to_id: string | null;
  tokens: number;
  most: number | null;
  state: "waiting" | "running" | "failed" | "done";
  attempt: number;
  due_at: number;
  owner: string | null;
  fence: number;
  agent_id: string;
  waited: number;
  cycle_id: string | null;
  started_at: number | null;
  last_error: string | null;
  created_at: number;
};

/**
 * Work for the observer and the reflector. An observation covers the messages from where the coverage ends up to `to_id`; a
 * reflection the active chunks up to position `upto`. The id is made of the kind and the range: no range has two jobs. A
 * renewal observes the messages of one chunk again, because some were deleted.
 */
export const OM_JOBS: Table<OmJobRow> = {
  name: "selvedge_om_jobs",
  columns: {
    thread_id: "text",
    number: "integer",
    id: "text",
    /** The thread whose messages are observed, and on whose stream the work is announced. */
    source: "text",
    source_resource: "text",
    kind: "text",
    /** Of a reflection: the last position that it stands for. */
    upto: "integer",
    /** Of an observation: its last message. Of a renewal: the chunk. */
    to_id: "text",
    tokens: "integer",
    /** How many tokens one call covers at most, after one was too long for the model. */
    most: "integer",
    state: "text",
    attempt: "integer",
    due_at: "integer",
    owner: "text",
    fence: "integer",
    agent_id: "text",
    /** 1 once a run has waited for it. */
    waited: "integer",
    cycle_id: "text",
    started_at: "integer",
    last_error: "text",
    created_at: "integer",
  },
  key: ["id"],
  partition: "thread_id",
  auto: "number",
  indexes: [{ columns: ["thread_id", "number"] }, { columns: ["state", "due_at"] }],
};

export type OmEventRow = {
  seq: number;
  id: string;
  thread_id: string;
  source: string;
  source_resource: string;
  chunk: unknown;
};

/** Chunks that wait for a number on the stream of a thread. */
export const OM_EVENTS: Table<OmEventRow> = {
  name: "selvedge_om_events",
  columns: {
    seq: "integer",
    id: "text",
    thread_id: "text",
    source: "text",
    source_resource: "text",
    chunk: "json",
  },
  key: ["id"],
  partition: "thread_id",
  auto: "seq",
  indexes: [{ columns: ["thread_id", "seq"] }],
};
