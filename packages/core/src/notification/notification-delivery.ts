import type { NotificationRecord } from "@selvedge/protocol";
import { errorMessage } from "../errors.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import type { CreatedAgentSignal } from "../signal/signal.ts";
import type { VersionedNotification } from "../storage/notification-rows.ts";
import type { Row } from "../storage/storage.ts";
import type { Delivery, DeliveryOptions } from "../thread/threads.ts";
import type { NotificationDeliveryDecision } from "./delivery-policy.ts";
import { emit } from "./emit.ts";
import { type NotificationContext, nowIn } from "./notification-context.ts";
import { fullSignal, PRIORITIES, summarySignal } from "./notification-signal.ts";

const MAX_ATTEMPTS = 5;
const BACKOFF_MS = 30_000;
const MAX_BACKOFF_MS = 3_600_000;
/** Like a message: joins the active run, or opens one. */
export const AS_A_MESSAGE: DeliveryOptions = { queued: false, ifActive: "deliver", ifIdle: "wake" };

/** For changes that carry out a decision. */
export const NOW_DECIDED: Row = { undecided: 0 };

/** The signal sent, and its run. */
export interface Sent {
  runId?: string;
  signal?: CreatedAgentSignal;
  persisted?: Promise<void>;
}

/** Sends a record in full. Returns `undefined` if it changed in the meantime or has to wait. */
export async function deliver(
  context: NotificationContext,
  seen: VersionedNotification,
  options: {
    delivery?: DeliveryOptions;
    streamOptions: AgentExecutionOptions | undefined;
    reason?: { deliveryReason?: string };
    mayJoin?: boolean;
  },
): Promise<Sent | undefined> {
  const onlyIdle = !options.mayJoin && waitsForIdle(seen, nowIn(context));
  try {
    const emitted = await emit(context, {
      records: [seen],
      signal: fullSignal(seen.record),
      delivery: options.delivery ?? AS_A_MESSAGE,
      streamOptions: options.streamOptions,
      ...(onlyIdle && { only: isForIdle }),
      change: (_, signal, { action }) => ({
        patch: {
          ...options.reason,
          // A record that no run will see is not delivered: it stays in the inbox. The chat still shows it.
          ...(action !== "persist" && { status: "delivered" }),
          deliveredSignalId: signal.id,
          deliverAt: null,
          summaryAt: null,
        },
        more: NOW_DECIDED,
      }),
    });
    if (emitted?.admitted.action === "discard")
      return (await context.domain.tryUpdate(seen, { ...options.reason }, NOW_DECIDED)) ? {} : undefined;
    if (emitted) return toSent(emitted);
    // The record is unchanged, so the thread has become busy: the record waits.
    if (onlyIdle) await context.domain.tryUpdate(seen, {});
    return undefined;
  } catch (error) {
    await recordFailure(
      context,
      seen,
      { deliverAt: seen.record.deliverAt ?? new Date(nowIn(context)) },
      error,
    );
    return {};
  }
}

/** Announces records in one signal. If all have low priority, it wakes no one. */
export async function summarize(
  context: NotificationContext,
  records: readonly VersionedNotification[],
  options: {
    decisions?: ReadonlyMap<string, NotificationDeliveryDecision>;
    optionsFor: (pressing: VersionedNotification) => Promise<AgentExecutionOptions | undefined>;
    /** Only into an active run. */
    onlyActive?: boolean;
  },
): Promise<Sent | undefined> {
  const quiet = records.every(({ record }) => record.priority === "low");
  const pressing = records.toSorted((a, b) => byUrgency([a], [b]))[0]!;
  const streamOptions = await options.optionsFor(pressing);
  const inOrder = records.toSorted((a, b) => a.seq - b.seq);
  const decisionOf = ({ id }: NotificationRecord) => options.decisions?.get(id);
  try {
    const emitted = await emit(context, {
      records,
      signal: summarySignal(inOrder.map(({ record }) => record)),
      delivery: { queued: false, ifActive: "deliver", ifIdle: quiet ? "persist" : "wake" },
      streamOptions,
      ...(options.onlyActive && { only: ({ action }) => action === "deliver" }),
      change: ({ record }, signal) => {
        const decision = decisionOf(record);
        return {
          patch: {
            summaryAt: null,
            summarySignalId: signal.id,
            deliverAt: earliest(record.deliverAt, decision?.deliverAt),
            ...(decision?.reason !== undefined && { deliveryReason: decision.reason }),
          },
          more: NOW_DECIDED,
        };
      },
    });
    return emitted && toSent(emitted);
  } catch (error) {
    for (const one of records) {
      const deliverAt = earliest(one.record.deliverAt, decisionOf(one.record)?.deliverAt);
      const summaryAt = one.record.summaryAt ?? new Date(nowIn(context));
      await recordFailure(context, one, { summaryAt, deliverAt }, error);
    }
    return {};
  }
}

/** Counts a failed delivery. It is retried later, a limited number of times. */
export async function recordFailure(
  context: NotificationContext,
  { record: { id, threadId }, version }: VersionedNotification,
  times: { deliverAt?: Date | undefined; summaryAt?: Date | undefined },
  error: unknown,
): Promise<void> {
  const { domain, logger } = context;
  logger.warn(`Notification ${id} could not be delivered to thread "${threadId}"`, error);
  const seen = await domain.read({ threadId, id });
  // It changed, so it was sent after all or another process decided about it.
  if (seen?.version !== version || seen.record.status !== "pending") return;
  const now = nowIn(context);
  const deliveryAttempts = seen.record.deliveryAttempts + 1;
  const patch = {
    deliveryAttempts,
    lastDeliveryAttemptAt: new Date(now),
    lastDeliveryError: errorMessage(error),
  };
  if (deliveryAttempts >= MAX_ATTEMPTS) {
    await domain.tryUpdate(seen, { ...patch, status: "failed" });
    return;
  }
  const wait = Math.min(BACKOFF_MS * 2 ** (deliveryAttempts - 1), MAX_BACKOFF_MS);
  await domain.tryUpdate(seen, { ...patch, ...times }, { ...NOW_DECIDED, due_at: now + wait });
}

/** A summary announced it while the thread was active; the full record follows when the thread is idle. */
export function waitsForIdle({ record, undecided }: VersionedNotification, now: number): boolean {
  const summaryDue = record.summaryAt !== undefined && record.summaryAt.getTime() <= now;
  return !undecided && !summaryDue && record.priority === "high" && record.summarySignalId !== undefined;
}

/** It does not join an active run of its agent. */
function isForIdle({ branch }: Delivery): boolean {
  return branch === "idle";
}

/** Highest priority first, then oldest. */
export function byUrgency(a: readonly VersionedNotification[], b: readonly VersionedNotification[]): number {
  const rank = (item: typeof a) => Math.min(...item.map(({ record }) => PRIORITIES.indexOf(record.priority)));
  const time = (item: typeof a) => Math.min(...item.map(({ record }) => record.createdAt.getTime()));
  return rank(a) - rank(b) || time(a) - time(b);
}

export function earliest(a: Date | undefined, b: Date | undefined): Date | undefined {
  return a && b ? (a < b ? a : b) : (a ?? b);
}

function toSent({ signal, admitted }: NonNullable<Awaited<ReturnType<typeof emit>>>): Sent {
  return {
    signal,
    ...(admitted.runId !== undefined && { runId: admitted.runId }),
    ...(admitted.action === "persist" && { persisted: Promise.resolve() }),
  };
}
