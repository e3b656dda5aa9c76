import type {
  JSONValue,
  NotificationPriority,
  NotificationRecord,
  NotificationStatus,
} from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { checkId, checkMetadata, cleanText } from "./check-id.ts";
import { NOTIFICATIONS, type NotificationRow } from "./notification-table.ts";
import { encodeJson } from "./row-codec.ts";
import type { Write } from "./storage.ts";
import { update } from "./writes.ts";

/** The fields of a new record. */
export interface NotificationInput {
  threadId: string;
  resourceId?: string | undefined;
  agentId?: string | undefined;
  source: string;
  kind: string;
  summary: string;
  priority?: NotificationPriority | undefined;
  payload?: unknown;
  sourceId?: string | undefined;
  dedupeKey?: string | undefined;
  coalesceKey?: string | undefined;
  attributes?: NotificationRecord["attributes"] | undefined;
  metadata?: Record<string, unknown> | undefined;
  deliverAt?: Date | undefined;
  summaryAt?: Date | undefined;
}

/** Changes to a record. A status sets its own timestamp; `null` clears a time. */
export interface NotificationPatch {
  status?: NotificationStatus | undefined;
  deliverAt?: Date | null | undefined;
  summaryAt?: Date | null | undefined;
  deliveryReason?: string | undefined;
  deliveryAttempts?: number | undefined;
  lastDeliveryAttemptAt?: Date | undefined;
  lastDeliveryError?: string | undefined;
  deliveredSignalId?: string | undefined;
  summarySignalId?: string | undefined;
}

/** A record with its internal fields. */
export interface VersionedNotification {
  record: NotificationRecord;
  /** Rises with each new record. */
  seq: number;
  version: number;
  /** The sender's options for the run it wakes. */
  options: Record<string, JSONValue> | undefined;
  undecided: boolean;
  claimOwner: string | undefined;
  dueAt: number | undefined;
}

const PRIORITIES: ReadonlySet<unknown> = new Set<NotificationPriority>(["low", "medium", "high", "urgent"]);
const STAMPS: Partial<Record<NotificationStatus, string>> = {
  delivered: "delivered_at",
  seen: "seen_at",
  dismissed: "dismissed_at",
  archived: "archived_at",
  discarded: "discarded_at",
};
const STATUSES: ReadonlySet<unknown> = new Set([...Object.keys(STAMPS), "pending", "failed"]);
const OPTIONAL_IDS = ["resourceId", "agentId", "sourceId", "dedupeKey", "coalesceKey"] as const;

/** Refuses values that cannot be stored, before anything is stored. */
export function checkNotification(input: NotificationInput): NotificationInput {
  if (typeof input !== "object" || input === null)
    throw bad(`A notification must be an object, got ${showValue(input)}.`);
  checkId("threadId", input.threadId);
  checkId("notification.source", input.source);
  checkId("notification.kind", input.kind);
  for (const name of OPTIONAL_IDS)
    if (input[name] !== undefined)
      checkId(name === "resourceId" ? name : `notification.${name}`, input[name]);
  if (typeof input.summary !== "string" || input.summary === "")
    throw bad(`notification.summary must be a non-empty string, got ${showValue(input.summary)}.`);
  checkPriority(input.priority);
  if (input.attributes !== undefined) checkMetadata("notification.attributes", input.attributes);
  if (input.metadata !== undefined) checkMetadata("notification.metadata", input.metadata);
  for (const name of ["payload", "attributes", "metadata"] as const)
    if (input[name] !== undefined) encodeJson(`notification.${name}`, input[name]);
  return input;
}

function checkPriority(priority: unknown): void {
  if (priority === undefined || PRIORITIES.has(priority)) return;
  throw bad(`priority must be "low", "medium", "high" or "urgent", got ${showValue(priority)}.`);
}

export function toNotificationRow(
  input: NotificationInput,
  id: string,
  now: number,
): Partial<NotificationRow> {
  const deliverAt = millis("deliverAt", input.deliverAt);
  const summaryAt = millis("summaryAt", input.summaryAt);
  return {
    thread_id: input.threadId,
    id,
    resource_id: input.resourceId ?? null,
    agent_id: input.agentId ?? null,
    source: input.source,
    source_id: input.sourceId ?? null,
    kind: input.kind,
    priority: input.priority ?? "medium",
    status: "pending",
    summary: cleanText(input.summary),
    payload: input.payload ?? null,
    dedupe_key: input.dedupeKey ?? null,
    coalesce_key: input.coalesceKey ?? null,
    ...slots(input),
    coalesced_count: 1,
    attributes: input.attributes ?? null,
    metadata: input.metadata ?? null,
    created_at: now,
    updated_at: now,
    deliver_at: deliverAt,
    summary_at: summaryAt,
    due_at: earlier(deliverAt, summaryAt),
    undecided: 0,
    version: 1,
    delivery_attempts: 0,
  };
}

/** The unique values that allow one pending record per key. */
export function slots(
  input: Pick<
    NotificationInput,
    "threadId" | "source" | "kind" | "agentId" | "resourceId" | "dedupeKey" | "coalesceKey"
  >,
): { dedupe_slot: string | null; coalesce_slot: string | null } {
  const { threadId, source, kind, agentId = "", resourceId = "" } = input;
  const slot = (key: string | undefined) =>
    key === undefined ? null : JSON.stringify([threadId, source, kind, agentId, resourceId, key]);
  return { dedupe_slot: slot(input.dedupeKey), coalesce_slot: slot(input.coalesceKey) };
}

/** The change as a write that requires the record to be as it was read. */
export function updateRecord(
  seen: VersionedNotification,
  patch: NotificationPatch,
  now: number,
  more: Partial<NotificationRow> = {},
): Write {
  const { record, version } = seen;
  const status = patch.status ?? record.status;
  if (!STATUSES.has(status)) throw bad(`Unknown notification status ${showValue(status)}.`);
  const deliverAt = patch.deliverAt === undefined ? record.deliverAt : patch.deliverAt;
  const summaryAt = patch.summaryAt === undefined ? record.summaryAt : patch.summaryAt;
  const [deliver, summary] = [millis("deliverAt", deliverAt), millis("summaryAt", summaryAt)];
  const pending = status === "pending";
  // A record that still waits for its decision keeps the time of its next check.
  const waits = seen.undecided && more.undecided !== 0 ? (seen.dueAt ?? null) : null;
  const stamp = patch.status === undefined ? undefined : STAMPS[patch.status];
  return update(NOTIFICATIONS, {
    where: { thread_id: record.threadId, id: record.id, version },
    set: {
      status,
      ...(stamp !== undefined && { [stamp]: now }),
      updated_at: now,
      deliver_at: deliver,
      summary_at: summary,
      due_at: pending ? (earlier(deliver, summary) ?? waits) : null,
      claim_owner: null,
      ...(pending ? slots(record) : { dedupe_slot: null, coalesce_slot: null, undecided: 0 }),
      ...(patch.deliveryReason !== undefined && {
        delivery_reason: text("deliveryReason", patch.deliveryReason),
      }),
      ...(patch.deliveryAttempts !== undefined && { delivery_attempts: patch.deliveryAttempts }),
      ...(patch.lastDeliveryAttemptAt && {
        last_attempt_at: millis("lastDeliveryAttemptAt", patch.lastDeliveryAttemptAt),
      }),
      ...(patch.lastDeliveryError !== undefined && {
        last_error: text("lastDeliveryError", patch.lastDeliveryError),
      }),
      ...(patch.deliveredSignalId !== undefined && { delivered_signal_id: patch.deliveredSignalId }),
      ...(patch.summarySignalId !== undefined && { summary_signal_id: patch.summarySignalId }),
      ...more,
    },
    increment: { version: 1 },
    require: true,
  });
}

export function toVersioned(row: NotificationRow): VersionedNotification {
  return {
    record: toNotification(row),
    seq: row.seq,
    options: (row.options as Record<string, JSONValue> | null) ?? undefined,
    version: row.version,
    undecided: row.undecided === 1,
    claimOwner: row.claim_owner ?? undefined,
    dueAt: row.due_at ?? undefined,
  };
}

export function toNotification(row: NotificationRow): NotificationRecord {
  const date = (column: keyof NotificationRow) => {
    const time = row[column];
    return typeof time === "number" ? new Date(time) : undefined;
  };
  const value = (column: keyof NotificationRow) => row[column] ?? undefined;
  const all = {
    id: row.id,
    threadId: row.thread_id,
    resourceId: value("resource_id"),
    agentId: value("agent_id"),
    source: row.source,
    kind: row.kind,
    priority: row.priority,
    status: row.status,
    summary: row.summary,
    payload: value("payload"),
    sourceId: value("source_id"),
    dedupeKey: value("dedupe_key"),
    coalesceKey: value("coalesce_key"),
    coalescedCount: row.coalesced_count,
    attributes: value("attributes"),
    metadata: value("metadata"),
    createdAt: date("created_at"),
    updatedAt: date("updated_at"),
    deliveredAt: date("delivered_at"),
    seenAt: date("seen_at"),
    dismissedAt: date("dismissed_at"),
    archivedAt: date("archived_at"),
    discardedAt: date("discarded_at"),
    deliverAt: date("deliver_at"),
    summaryAt: date("summary_at"),
    deliveryReason: value("delivery_reason"),
    deliveryAttempts: row.delivery_attempts,
    lastDeliveryAttemptAt: date("last_attempt_at"),
    lastDeliveryError: value("last_error"),
    deliveredSignalId: value("delivered_signal_id"),
    summarySignalId: value("summary_signal_id"),
  };
  const given = Object.entries(all).filter(([, one]) => one !== undefined);
  return Object.fromEntries(given) as unknown as NotificationRecord;
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}

function millis(name: string, date: Date | null | undefined): number | null {
  if (date === undefined || date === null) return null;
  const time = date instanceof Date ? date.getTime() : Number.NaN;
  if (Number.isNaN(time)) throw bad(`${name} must be a date, got ${showValue(date)}.`);
  return time;
}

function text(name: string, value: unknown): string {
  if (typeof value !== "string") throw bad(`${name} must be a string, got ${showValue(value)}.`);
  return cleanText(value);
}

function bad(message: string): AgentError {
  return new AgentError("invalid-argument", message);
}
