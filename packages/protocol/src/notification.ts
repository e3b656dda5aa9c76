import type { JSONValue } from "./json.ts";

export const NOTIFICATION_PRIORITIES = ["low", "medium", "high", "urgent"] as const;
export type NotificationPriority = (typeof NOTIFICATION_PRIORITIES)[number];

export const NOTIFICATION_STATUSES = [
  "pending",
  "delivered",
  "seen",
  "dismissed",
  "archived",
  "discarded",
  "failed",
] as const;
export type NotificationStatus = (typeof NOTIFICATION_STATUSES)[number];

/** An external event in a thread's inbox. */
export interface NotificationRecord {
  id: string;
  threadId: string;
  resourceId?: string;
  agentId?: string;
  source: string;
  kind: string;
  priority: NotificationPriority;
  status: NotificationStatus;
  summary: string;
  payload?: unknown;
  sourceId?: string;
  dedupeKey?: string;
  coalesceKey?: string;
  coalescedCount: number;
  attributes?: Record<string, JSONValue>;
  metadata?: Record<string, unknown>;
  createdAt: Date;
  updatedAt: Date;
  deliveredAt?: Date;
  seenAt?: Date;
  dismissedAt?: Date;
  archivedAt?: Date;
  discardedAt?: Date;
  deliverAt?: Date;
  summaryAt?: Date;
  deliveryReason?: string;
  deliveryAttempts: number;
  lastDeliveryAttemptAt?: Date;
  lastDeliveryError?: string;
  deliveredSignalId?: string;
  summarySignalId?: string;
}
