import type { NotificationPriority, NotificationRecord } from "@selvedge/protocol";
import type { SignalInput } from "../signal/signal.ts";

/** Highest priority first. */
export const PRIORITIES: readonly NotificationPriority[] = ["urgent", "high", "medium", "low"];

/** The text of a notification for the model. A record's own attributes follow ours and cannot replace them. */
export function fullSignal(record: NotificationRecord): SignalInput {
  const { source, kind, priority, coalescedCount } = record;
  const status = "delivered";
  const ours = {
    source,
    type: kind,
    priority,
    status,
    ...(coalescedCount > 1 && { coalescedCount }),
  };
  return {
    type: "notification",
    contents: record.summary,
    attributes: { ...ours, ...record.attributes, ...ours },
    metadata: {
      ...record.metadata,
      notification: {
        signal: "notification",
        recordId: record.id,
        source,
        kind,
        priority,
        status,
        coalescedCount,
      },
    },
  };
}

/**
 * Announces waiting records: how many, and from which sources, ordered by each source's oldest record. Records of the
 * same millisecond keep the given order.
 */
export function summarySignal(records: readonly NotificationRecord[]): SignalInput {
  const oldestFirst = records.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  const bySource = countBy(oldestFirst.map(({ source }) => source));
  const byPriority = countBy(records.map(({ priority }) => priority));
  const pending = records.length;
  const notificationIds = oldestFirst.map(({ id }) => id);
  const priority = PRIORITIES.find((one) => byPriority.has(one));
  const { threadId, resourceId, agentId } = records[0]!;
  return {
    type: "notification",
    tagName: "notification-summary",
    contents: Array.from(bySource, ([source, count]) => `${source}: ${count}`).join(", "),
    attributes: { pending },
    metadata: {
      notification: {
        signal: "summary",
        pending,
        groups: Array.from(bySource, ([source, count]) => ({ source, count })),
        byPriority: Object.fromEntries(byPriority),
        notificationIds,
        priority,
      },
      notificationSummary: {
        threadId,
        resourceId,
        agentId,
        pending,
        bySource: Object.fromEntries(bySource),
        byPriority: Object.fromEntries(byPriority),
        notificationIds,
      },
      notificationIds,
    },
  };
}

function countBy<Key>(keys: readonly Key[]): Map<Key, number> {
  const counts = new Map<Key, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}
