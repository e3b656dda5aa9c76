import type { Logger } from "../logger.ts";
import type { DueOptions, NotificationDomain } from "../storage/notification-domain.ts";
import type { VersionedNotification } from "../storage/notification-rows.ts";
import type { System } from "../system.ts";

/** An agent that delivers its notifications. */
export interface DispatchAgent {
  readonly id: string;
  deliverNotifications(domain: NotificationDomain, due: readonly VersionedNotification[]): Promise<void>;
}

/** Which of the due records to deliver. */
export type DueRecords = Pick<DueOptions, "waitsForIdle" | "threadId">;

interface RoundOptions {
  domain: NotificationDomain;
  agents: readonly DispatchAgent[];
  system: System;
  logger: Logger;
  /** How many records are read at once. */
  batchSize: number;
  isClosed(): boolean;
}

/** How many records of a thread are delivered together, regardless of the page size. */
const MOST_TOGETHER = 500;

/**
 * Delivers what is due now, thread by thread. Each record is tried once; if it becomes due again, it waits for the next
 * round.
 */
export async function dispatchRound(options: RoundOptions, which: DueRecords): Promise<void> {
  const { domain, agents, system, batchSize } = options;
  const due = { ...which, now: new Date(Math.trunc(system.now())), agentId: agents.map(({ id }) => id) };
  const tried = new Set<string>();
  const isFresh = (one: VersionedNotification) => !tried.has(keyOf(one));
  for (let offset = 0; !options.isClosed();) {
    const page = await domain.listDue({ ...due, limit: batchSize, offset });
    const isLast = page.length < batchSize;
    const groups = Map.groupBy(page.filter(isFresh), ({ record }) =>
      JSON.stringify([record.agentId, record.resourceId, record.threadId]),
    );
    for (const group of groups.values()) {
      const { agentId, threadId, resourceId } = group[0]!.record;
      // One summary covers everything due on a thread, including records on later pages.
      const more = isLast
        ? []
        : await domain.listDue({ ...due, agentId, threadId, resourceId, limit: MOST_TOGETHER });
      const fresh = [...new Map([...group, ...more].map((one) => [keyOf(one), one])).values()].filter(
        isFresh,
      );
      for (const one of fresh) tried.add(keyOf(one));
      for (let from = 0; from < fresh.length; from += MOST_TOGETHER)
        await deliverGroup(options, fresh.slice(from, from + MOST_TOGETHER));
    }
    if (isLast) return;
    if (groups.size === 0) offset += page.length;
  }
}

async function deliverGroup(
  { domain, agents, logger }: RoundOptions,
  group: readonly VersionedNotification[],
): Promise<void> {
  const { agentId, threadId } = group[0]!.record;
  try {
    await agents.find(({ id }) => id === agentId)!.deliverNotifications(domain, group);
  } catch (error) {
    logger.error(`Notifications of thread "${threadId}" could not be delivered`, error);
  }
}

function keyOf({ record }: VersionedNotification): string {
  return `${record.threadId}\n${record.id}`;
}
