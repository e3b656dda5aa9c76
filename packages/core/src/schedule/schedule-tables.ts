import type { ScheduleOutcome, ScheduleStatus, ScheduleTriggerKind } from "@selvedge/protocol";
import type { Table } from "../storage/table.ts";

export type ScheduleRow = {
  id: string;
  /** `workflow:<id>` or `agent:<id>`: what it starts. */
  subject: string;
  target: unknown;
  cron: string;
  timezone: string | null;
  status: ScheduleStatus;
  next_fire_at: number | null;
  last_fire_at: number | null;
  last_run_id: string | null;
  resource_id: string | null;
  declared: number;
  metadata: unknown;
  /** How often it has fired. */
  fires: number;
  /** Rises with every change of its settings. */
  version: number;
  created_at: number;
  updated_at: number;
};

/** `next_fire_at` has a value only while the schedule is active, so its index is all that a check reads. */
export const SCHEDULES: Table<ScheduleRow> = {
  name: "selvedge_schedules",
  columns: {
    id: "text",
    subject: "text",
    target: "json",
    cron: "text",
    timezone: "text",
    status: "text",
    next_fire_at: "integer",
    last_fire_at: "integer",
    last_run_id: "text",
    resource_id: "text",
    declared: "integer",
    metadata: "json",
    fires: "integer",
    version: "integer",
    created_at: "integer",
    updated_at: "integer",
  },
  key: ["id"],
  partition: "id",
  indexes: [
    { columns: ["next_fire_at"], having: "next_fire_at" },
    { columns: ["subject", "created_at"] },
    { columns: ["resource_id", "created_at"] },
  ],
};

export type TriggerRow = {
  schedule_id: string;
  /** The time it was due, or a new id for a fire by hand: a fire has one row, however often it is tried. */
  id: string;
  /** Rises by one with every fire of the schedule. */
  number: number;
  scheduled_at: number;
  fired_at: number;
  kind: ScheduleTriggerKind;
  outcome: ScheduleOutcome;
  run_id: string | null;
  error: string | null;
  /** While it is `running`: when it counts as interrupted, unless its process says otherwise. */
  due_at: number | null;
  /** While it is `running`: the process that carries it out. */
  owner: string | null;
};

export const TRIGGERS: Table<TriggerRow> = {
  name: "selvedge_schedule_triggers",
  columns: {
    schedule_id: "text",
    id: "text",
    number: "integer",
    scheduled_at: "integer",
    fired_at: "integer",
    kind: "text",
    outcome: "text",
    run_id: "text",
    error: "text",
    due_at: "integer",
    owner: "text",
  },
  key: ["schedule_id", "id"],
  partition: "schedule_id",
  indexes: [{ columns: ["schedule_id", "number"] }, { columns: ["due_at"], having: "due_at" }],
};
