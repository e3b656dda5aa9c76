import type { AnyTable, Table } from "./table.ts";

/** What the row of a thread's actor holds. */
export type ActorRow = {
  thread_id: string;
  resource_id: string;
  owner: string | null;
  fence: number;
  run_id: string | null;
  run_state: "idle" | "running" | "suspended";
  agent_id: string | null;
  next_seq: number;
  abort_run: string | null;
  mailbox_count: number | null;
  mailbox_bytes: number | null;
  has_mail: number | null;
};

/**
 * Who runs a thread. `fence` rises with every change of hands; the active run carries it too, and a process that lost
 * the thread cannot write with the old one. `run_id` is the active run; `run_state` is idle, running or suspended.
 */
export const ACTORS: Table<ActorRow> = {
  name: "selvedge_actors",
  columns: {
    thread_id: "text",
    resource_id: "text",
    owner: "text",
    fence: "integer",
    run_id: "text",
    run_state: "text",
    agent_id: "text",
    /** The number the next event gets. */
    next_seq: "integer",
    /** The run that should be aborted. */
    abort_run: "text",
    mailbox_count: "integer",
    mailbox_bytes: "integer",
    /** 1 while the mailbox has something in it, no value otherwise: finds idle threads with work to do. */
    has_mail: "integer",
  },
  key: ["thread_id"],
  partition: "thread_id",
  clustered: true,
  indexes: [
    { columns: ["run_state", "resource_id"], having: "run_id" },
    { columns: ["has_mail", "run_state"], having: "has_mail" },
    { columns: ["abort_run"], having: "abort_run" },
  ],
};

export type OwnerRow = { id: string; lease_until: number | null };

/** A process that runs threads, as long as it shows that it lives. */
export const OWNERS: Table<OwnerRow> = {
  name: "selvedge_owners",
  columns: { id: "text", lease_until: "integer" },
  key: ["id"],
  partition: "id",
  clustered: true,
  indexes: [],
};

export type MailboxRow = {
  seq: number;
  id: string;
  thread_id: string;
  resource_id: string;
  agent_id: string;
  due: number;
  run_id: string;
  opens: number;
  signal: unknown;
  options: unknown;
  bytes: number;
  attempts: number | null;
};

/**
 * Signals that were accepted and not yet taken by a run. `due` 0 joins the run under way, or opens one where there is
 * none; 1 opens a separate run.
 */
export const MAILBOX: Table<MailboxRow> = {
  name: "selvedge_mailbox",
  columns: {
    seq: "integer",
    id: "text",
    thread_id: "text",
    resource_id: "text",
    agent_id: "text",
    due: "integer",
    run_id: "text",
    /** 1 when `run_id` is the run this message opens, 0 when it is one that was under way. */
    opens: "integer",
    signal: "json",
    options: "json",
    bytes: "integer",
    /** How often a run that it opened came to nothing. */
    attempts: "integer",
  },
  key: ["id"],
  partition: "thread_id",
  auto: "seq",
  indexes: [{ columns: ["thread_id", "due", "seq"] }],
};

export type SendRow = {
  thread_id: string;
  key: string;
  signal: unknown;
  run_id: string | null;
  action: string;
  created_at: number;
};

/** What was answered to a send with an idempotency key. */
export const SENDS: Table<SendRow> = {
  name: "selvedge_sends",
  columns: {
    thread_id: "text",
    key: "text",
    signal: "json",
    run_id: "text",
    action: "text",
    created_at: "integer",
  },
  key: ["thread_id", "key"],
  partition: "thread_id",
  indexes: [{ columns: ["created_at"] }],
};

export type RunRow = {
  id: string;
  thread_id: string;
  resource_id: string;
  agent_id: string;
  fence: number;
  state: "running" | "suspended" | "done" | "failed" | "aborted";
  attempts: number | null;
  options: unknown;
  step: number;
  next: "continue" | "stop";
  response_id: string | null;
  response_steps: number | null;
  open_step: unknown;
  first_message_id: string | null;
  first_seq: number;
  usage: unknown;
  started_at: number;
  suspended_at: number | null;
  ended_at: number | null;
  error: unknown;
};

/**
 * Runs on threads: what another process needs to continue one. `fence` is the actor's; it is part of the
 * condition of every write of the run. `step` counts the steps that are stored.
 */
export const RUNS: Table<RunRow> = {
  name: "selvedge_runs",
  columns: {
    id: "text",
    thread_id: "text",
    resource_id: "text",
    agent_id: "text",
    fence: "integer",
    state: "text",
    /** How often it was started since it last completed a step. */
    attempts: "integer",
    options: "json",
    step: "integer",
    /** What the loop does after the last stored step. */
    next: "text",
    response_id: "text",
    /** Steps stored in the message `response_id`. */
    response_steps: "integer",
    /** A step whose tools are about to run: what the model said, where it will stand, and the calls. */
    open_step: "json",
    /** The order number of the run's first message. */
    first_message_id: "text",
    first_seq: "integer",
    usage: "json",
    started_at: "integer",
    suspended_at: "integer",
    ended_at: "integer",
    error: "json",
  },
  key: ["id"],
  partition: "thread_id",
  indexes: [
    { columns: ["thread_id"] },
    { columns: ["state", "suspended_at"], having: "suspended_at" },
    { columns: ["ended_at"], having: "ended_at" },
  ],
};

export type CallRow = {
  run_id: string;
  tool_call_id: string;
  thread_id: string;
  step: number;
  message_id: string | null;
  message_step: number | null;
  position: number;
  tool_name: string;
  args: unknown;
  args_hash: string;
  state: "started" | "done" | "waiting" | "decided";
  requires_approval: number;
  suspend_payload: unknown;
  resume_schema: string | null;
  reason: string | null;
  outcome: unknown;
  decision: unknown;
};

/**
 * The journal of tool calls that wait for a decision, or whose result waits for that of others. That a call is about to
 * run stands in its run (`open_step`), and here only when it waited before. A row goes when its result is in the history.
 *
 *     waiting → decided → started → done
 */
export const CALLS: Table<CallRow> = {
  name: "selvedge_calls",
  columns: {
    run_id: "text",
    tool_call_id: "text",
    thread_id: "text",
    step: "integer",
    /** The message and its step that hold the call. */
    message_id: "text",
    message_step: "integer",
    position: "integer",
    tool_name: "text",
    args: "json",
    args_hash: "text",
    state: "text",
    requires_approval: "integer",
    suspend_payload: "json",
    resume_schema: "text",
    /** The rule that made a call ask. */
    reason: "text",
    outcome: "json",
    decision: "json",
  },
  key: ["run_id", "tool_call_id"],
  partition: "thread_id",
  indexes: [{ columns: ["state"] }, { columns: ["thread_id"] }],
};

export type LaneRow = {
  thread_id: string;
  lane_id: string;
  version: number;
  cache_key: string;
  mode: "snapshot" | "delta";
  last_signal_id: string;
  last_snapshot_id: string | null;
  updated_at: number;
};

/** The current state of each lane of a thread. */
export const LANES: Table<LaneRow> = {
  name: "selvedge_lanes",
  columns: {
    thread_id: "text",
    lane_id: "text",
    version: "integer",
    cache_key: "text",
    mode: "text",
    last_signal_id: "text",
    last_snapshot_id: "text",
    updated_at: "integer",
  },
  key: ["thread_id", "lane_id"],
  partition: "thread_id",
  indexes: [],
};

export type EventRow = {
  thread_id: string;
  first: number;
  last: number;
  run_id: string;
  chunks: unknown;
  created_at: number;
  rested_at: number | null;
};

/** The thread's stream, in pieces: the events numbered `first` to `last`. */
export const EVENTS: Table<EventRow> = {
  name: "selvedge_events",
  columns: {
    thread_id: "text",
    first: "integer",
    last: "integer",
    run_id: "text",
    chunks: "json",
    created_at: "integer",
    /** When the thread came to rest after them; no value if more events of their run follow. Finds old events. */
    rested_at: "integer",
  },
  key: ["thread_id", "first"],
  partition: "thread_id",
  indexes: [{ columns: ["rested_at"], having: "rested_at" }],
};

export type ChoreRow = { id: string; next_at: number };

/** Work that one process does for all, and when it is next due. */
export const CHORES: Table<ChoreRow> = {
  name: "selvedge_chores",
  columns: { id: "text", next_at: "integer" },
  key: ["id"],
  partition: "id",
  indexes: [],
};

export const THREAD_TABLES: readonly AnyTable[] = [
  ACTORS,
  OWNERS,
  MAILBOX,
  SENDS,
  RUNS,
  CALLS,
  LANES,
  EVENTS,
  CHORES,
];
