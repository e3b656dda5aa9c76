import type { WorkflowRunStatus } from "@selvedge/protocol";
import type { AnyTable, Table } from "../storage/table.ts";
import type { StepRecord } from "./journal.ts";

export type WorkflowRunRow = {
  run_id: string;
  workflow_id: string;
  resource_id: string | null;
  status: WorkflowRunStatus;
  owner: string | null;
  fence: number;
  attempts: number | null;
  due_at: number | null;
  next_seq: number;
  first_seq: number;
  input: unknown;
  result: unknown;
  result_ref: unknown;
  error: unknown;
  tripwire: unknown;
  usage: unknown;
  context: unknown;
  options: unknown;
  graph: string | null;
  created_at: number;
  updated_at: number;
  ended_at: number | null;
};

/**
 * Runs of workflows. `fence` rises with every change of hands and stands in the condition of everything that the owner
 * writes. A run without an owner is taken up when `due_at` has come: its sleep is over, or it was resumed.
 */
export const WORKFLOW_RUNS: Table<WorkflowRunRow> = {
  name: "selvedge_workflow_runs",
  columns: {
    run_id: "text",
    workflow_id: "text",
    resource_id: "text",
    status: "text",
    owner: "text",
    fence: "integer",
    /** How often it was taken from a process that died, without a step completed since. */
    attempts: "integer",
    due_at: "integer",
    /** The number of the next event, as of the last rest. */
    next_seq: "integer",
    /** The number of the first event since the last time travel. */
    first_seq: "integer",
    input: "json",
    result: "json",
    result_ref: "json",
    error: "json",
    tripwire: "json",
    usage: "json",
    /** Values of the request context that are stored. */
    context: "json",
    options: "json",
    graph: "text",
    created_at: "integer",
    updated_at: "integer",
    ended_at: "integer",
  },
  key: ["run_id"],
  partition: "run_id",
  indexes: [
    { columns: ["workflow_id", "created_at"] },
    { columns: ["workflow_id", "due_at"], having: "due_at" },
    { columns: ["owner"], having: "owner" },
    { columns: ["ended_at"], having: "ended_at" },
  ],
};

export type WorkflowStepRow = {
  run_id: string;
  path: string;
  number: number;
  status: StepRecord["status"];
  attempt: number;
  bailed: number | null;
  input: unknown;
  input_ref: unknown;
  output: unknown;
  output_ref: unknown;
  error: unknown;
  tripwire: unknown;
  suspend: unknown;
  resume: unknown;
  labels: unknown;
  metadata: unknown;
  started_at: number;
  ended_at: number | null;
  suspended_at: number | null;
  resumed_at: number | null;
  due_at: number | null;
};

/**
 * The journal: one row per execution and per choice, unless a row of the log has it. That has what is stored once and
 * never changes: results. Here is what waits, may be claimed, or went through that. See `StepRecord` and `Path`.
 */
export const WORKFLOW_STEPS: Table<WorkflowStepRow> = {
  name: "selvedge_workflow_steps",
  columns: {
    run_id: "text",
    path: "text",
    number: "integer",
    status: "text",
    attempt: "integer",
    /** 1 if the step ended its workflow. */
    bailed: "integer",
    input: "json",
    input_ref: "json",
    output: "json",
    output_ref: "json",
    error: "json",
    tripwire: "json",
    suspend: "json",
    resume: "json",
    labels: "json",
    metadata: "json",
    started_at: "integer",
    ended_at: "integer",
    suspended_at: "integer",
    resumed_at: "integer",
    due_at: "integer",
  },
  key: ["run_id", "path"],
  partition: "run_id",
  clustered: true,
  indexes: [],
};

export type WorkflowStateRow = { run_id: string; key: string; value: unknown; version: number };

/** The state of runs. `version` rises with every change of the key. */
export const WORKFLOW_STATE: Table<WorkflowStateRow> = {
  name: "selvedge_workflow_state",
  columns: { run_id: "text", key: "text", value: "json", version: "integer" },
  key: ["run_id", "key"],
  partition: "run_id",
  indexes: [],
};

export type WorkflowOnceRow = { run_id: string; path: string; key: string; value: unknown };

/** Results of `once()` for steps that are not done. Without a value, it was begun. */
export const WORKFLOW_ONCE: Table<WorkflowOnceRow> = {
  name: "selvedge_workflow_once",
  columns: { run_id: "text", path: "text", key: "text", value: "json" },
  key: ["run_id", "path", "key"],
  partition: "run_id",
  indexes: [],
};

export type WorkflowMailRow = { seq: number; id: string; run_id: string; kind: string; payload: unknown };

/** Messages to runs that are being carried out. A run does not rest while it has one. */
export const WORKFLOW_MAIL: Table<WorkflowMailRow> = {
  name: "selvedge_workflow_mail",
  columns: { seq: "integer", id: "text", run_id: "text", kind: "text", payload: "json" },
  key: ["id"],
  partition: "run_id",
  auto: "seq",
  indexes: [{ columns: ["run_id", "seq"] }],
};

export type WorkflowEventRow = {
  run_id: string;
  first: number;
  last: number;
  chunks: unknown;
  records: unknown;
  created_at: number;
};

/**
 * The log of runs: one row per commit. `records` are the results that the events of the row are about (`LoggedResult`).
 * `chunks` are the events (`StoredEvent`). Values that the journal has are references.
 */
export const WORKFLOW_EVENTS: Table<WorkflowEventRow> = {
  name: "selvedge_workflow_events",
  columns: {
    run_id: "text",
    first: "integer",
    last: "integer",
    chunks: "json",
    records: "json",
    created_at: "integer",
  },
  key: ["run_id", "first"],
  partition: "run_id",
  indexes: [],
};

export type WorkflowGraphRow = { id: string; graph: unknown };

/** Graphs of workflows by their hash, so that a run can be shown after its workflow has changed. */
export const WORKFLOW_GRAPHS: Table<WorkflowGraphRow> = {
  name: "selvedge_workflow_graphs",
  columns: { id: "text", graph: "json" },
  key: ["id"],
  partition: "id",
  indexes: [],
};

/** The tables with rows of a run. */
export const TABLES_OF_A_RUN: readonly AnyTable[] = [
  WORKFLOW_STEPS,
  WORKFLOW_STATE,
  WORKFLOW_ONCE,
  WORKFLOW_MAIL,
  WORKFLOW_EVENTS,
] as readonly unknown[] as readonly AnyTable[];
