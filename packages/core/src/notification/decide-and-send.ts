import type { NotificationRecord } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import type { VersionedNotification } from "../storage/notification-rows.ts";
import type { NotificationDeliveryDecision } from "./delivery-policy.ts";
import type { DeliveryOptions } from "../thread/threads.ts";
import { type NotificationContext, nowIn, wakeOptions } from "./notification-context.ts";
import { deliver, earliest, NOW_DECIDED, type Sent, summarize } from "./notification-delivery.ts";

/** The decision about a record, and the signal sent because of it. */
export type Outcome = Sent & { decision: NotificationDeliveryDecision };

/** The sender's options, if it is sent at once. */
export interface SenderWishes {
  delivery: DeliveryOptions;
  streamOptions?: AgentExecutionOptions | undefined;
}

/** How often a decision is repeated because the record or thread changed in between. */
const MAX_ROUNDS = 50;
/** In how many of these attempts the thread's state is a condition. */
const INSISTING_ROUNDS = 3;

/** Decides about stored records and carries the decision out; repeats both if something changed in between. */
export async function decideAndSend(
  context: NotificationContext,
  created: readonly VersionedNotification[],
  wishes: SenderWishes,
): Promise<Map<string, Outcome>> {
  const outcomes = new Map<string, Outcome>();
  let waiting = new Map(created.map((one) => [one.record.id, one]));
  for (let round = 0; waiting.size > 0 && round < MAX_ROUNDS; round++)
    waiting = await decideOnce(context, waiting, wishes, round, outcomes);
  if (waiting.size > 0)
    throw new AgentError(
      "thread-busy",
      `Thread "${context.threadId}" is changing too fast. The records are stored.`,
    );
  return outcomes;
}

/** Reads the thread once and decides about each record. Returns the records that must be decided again. */
async function decideOnce(
  context: NotificationContext,
  waiting: ReadonlyMap<string, VersionedNotification>,
  wishes: SenderWishes,
  round: number,
  outcomes: Map<string, Outcome>,
): Promise<Map<string, VersionedNotification>> {
  const { domain } = context;
  const state = await context.threads.stateFor(context, context.agentId);
  const again = new Map<string, VersionedNotification>();
  const toSummarize: VersionedNotification[] = [];
  const decisions = new Map<string, NotificationDeliveryDecision>();
  for (const [id, seen] of waiting) {
    const current = round === 0 ? seen : await domain.read(seen.record);
    const decision = await context.decide((current ?? seen).record, state);
    decisions.set(id, decision);
    // Another sender whose record was merged with this one decided about both, or the record was deleted with its
    // thread.
    if (current?.record.status !== "pending" || !current.undecided) outcomes.set(id, { decision });
    else if (isImmediateSummary(current, decision, nowIn(context))) toSummarize.push(current);
    else {
      const outcome = await act(context, current, decision, wishes);
      if (outcome) outcomes.set(id, { decision, ...outcome });
      else again.set(id, current);
    }
  }
  if (toSummarize.length === 0) return again;
  const outcome = await summarize(context, toSummarize, {
    decisions,
    optionsFor: async (one) => wakeOptions(one, decisions.get(one.record.id), wishes.streamOptions),
    onlyActive: round < INSISTING_ROUNDS && state === "active",
  });
  for (const one of toSummarize) {
    const { id } = one.record;
    if (outcome) outcomes.set(id, { decision: decisions.get(id)!, ...outcome });
    else again.set(id, one);
  }
  return again;
}

/** Carries out a decision. Returns `undefined` if the record changed in the meantime. */
async function act(
  context: NotificationContext,
  seen: VersionedNotification,
  decision: NotificationDeliveryDecision,
  wishes: SenderWishes,
): Promise<Sent | undefined> {
  const { record } = seen;
  const reason = decision.reason === undefined ? {} : { deliveryReason: decision.reason };
  const change = async (patch: Parameters<typeof context.domain.tryUpdate>[1]) =>
    (await context.domain.tryUpdate(seen, { ...reason, ...patch }, NOW_DECIDED)) ? {} : undefined;
  switch (decision.action) {
    case "deliver":
    case "queue":
      return deliver(context, seen, {
        delivery: { ...wishes.delivery, queued: decision.action === "queue" },
        streamOptions: wakeOptions(seen, decision, wishes.streamOptions),
        reason,
      });
    case "discard":
      return change({ status: "discarded" });
    case "persist":
      return change({});
    default: {
      // A merged record keeps the earlier time; otherwise it could wait forever while others arrive.
      const deliverAt = earliest(record.deliverAt, decision.deliverAt);
      const isSummary = decision.action === "summarize";
      // The model already knows about a record that waits for full delivery.
      const summaryAt =
        isSummary && !isToldOf(record) ? earliest(record.summaryAt, decision.summaryAt) : record.summaryAt;
      return change({ deliverAt, summaryAt });
    }
  }
}

function isToldOf(record: NotificationRecord): boolean {
  return record.summarySignalId !== undefined && record.deliverAt !== undefined;
}

function isImmediateSummary(
  { record }: VersionedNotification,
  { action, summaryAt }: NotificationDeliveryDecision,
  now: number,
): boolean {
  return action === "summarize" && summaryAt!.getTime() <= now && !isToldOf(record);
}
