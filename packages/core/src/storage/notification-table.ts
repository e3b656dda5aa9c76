import type { NotificationPriority, NotificationStatus } from "@selvedge/protocol";
import type { Table } from "./table.ts";

export type NotificationRow = {
  seq: number;
  thread_id: string;
  id: string;
  resource_id: string | null;
  agent_id: string | null;
  source: string;
  source_id: string | null;
  kind: string;
  priority: NotificationPriority;
  status: NotificationStatus;
  summary: string;
  payload: unknown;
  dedupe_key: string | null;
  coalesce_key: string | null;
  dedupe_slot: string | null;
  coalesce_slot: string | null;
  coalesced_count: number;
  attributes: unknown;
  metadata: unknown;
  options: unknown;
  created_at: number;
  updated_at: number;
  delivered_at: number | null;
  seen_at: number | null;
  dismissed_at: number | null;
  archived_at: number | null;
  discarded_at: number | null;
  deliver_at: number | null;
  summary_at: number | null;
  due_at: number | null;
  undecided: number | null;
  claim_owner: string | null;
  version: number;
  delivery_reason: string | null;
  delivery_attempts: number;
  last_attempt_at: number | null;
  last_error: string | null;
  delivered_signal_id: string | null;
  summary_signal_id: string | null;
};

/**
 * The inbox of each thread. `due_at` is when a pending record must be checked: the earlier of `deliver_at` and
 * `summary_at`, or, while it is claimed (`claim_owner`), the time until which others leave it alone. `version` rises
 * with every change, so that what is sent is what is stored. The two slots are set only while the record is pending:
 * their unique indexes allow one pending record per key.
 */
export const NOTIFICATIONS: Table<NotificationRow> = {
  name: "selvedge_notifications",
  columns: {
    /** Order of arrival, for records of the same millisecond. */
    seq: "integer",
    thread_id: "text",
    id: "text",
    resource_id: "text",
    agent_id: "text",
    source: "text",
    source_id: "text",
    kind: "text",
    priority: "text",
    status: "text",
    summary: "text",
    payload: "json",
    dedupe_key: "text",
    coalesce_key: "text",
    dedupe_slot: "text",
    coalesce_slot: "text",
    coalesced_count: "integer",
    attributes: "json",
    metadata: "json",
    /** For the run that the record wakes. */
    options: "json",
    created_at: "integer",
    updated_at: "integer",
    delivered_at: "integer",
    seen_at: "integer",
    dismissed_at: "integer",
    archived_at: "integer",
    discarded_at: "integer",
    deliver_at: "integer",
    summary_at: "integer",
    due_at: "integer",
    /** 1 from the time it is stored until the delivery policy has been consulted. */
    undecided: "integer",
    claim_owner: "text",
    version: "integer",
    delivery_reason: "text",
    delivery_attempts: "integer",
    last_attempt_at: "integer",
    last_error: "text",
    delivered_signal_id: "text",
    summary_signal_id: "text",
  },
  key: ["thread_id", "id"],
  partition: "thread_id",
  auto: "seq",
  search: ["summary", "kind", "source"],
  indexes: [
    { columns: ["status", "due_at"] },
    { columns: ["status", "updated_at"] },
    { columns: ["thread_id", "updated_at"] },
    { columns: ["dedupe_slot"], unique: true },
    { columns: ["coalesce_slot"], unique: true },
  ],
};
