import { AgentError } from "../errors.ts";
import { CLAIM_MS } from "../storage/notification-domain.ts";
import type { VersionedNotification } from "../storage/notification-rows.ts";
import { decideAndSend } from "./decide-and-send.ts";
import { type NotificationContext, nowIn, wakeOptions } from "./notification-context.ts";
import {
  AS_A_MESSAGE,
  byUrgency,
  deliver,
  recordFailure,
  summarize,
  waitsForIdle,
} from "./notification-delivery.ts";

/** Delivers what is due on one thread. Records that wait for an idle thread stay unchanged while it is active. */
export async function deliverDue(
  context: NotificationContext,
  due: readonly VersionedNotification[],
): Promise<void> {
  const { domain } = context;
  const now = nowIn(context);
  const state = await context.threads.stateFor(context, context.agentId).catch((error: unknown) => {
    if (AgentError.is(error, "not-found")) return error;
    throw error;
  });
  if (AgentError.is(state)) {
    // The thread belongs to another resource. That may change, but it is not retried forever.
    for (const one of due) await recordFailure(context, one, {}, state);
    return;
  }
  const ready = due.filter((one) => state === "idle" || !waitsForIdle(one, now));
  if (ready.length === 0) return;
  const claimed = await domain.claim(ready, domain.storage.ownerId(), now + CLAIM_MS);
  const undecided = claimed.filter((one) => one.undecided);
  if (undecided.length > 0) await decideAndSend(context, undecided, { delivery: AS_A_MESSAGE });
  const decided = claimed.filter((one) => !one.undecided);
  const isDue = (date: Date | undefined) => date !== undefined && date.getTime() <= now;
  const summarized = decided.filter(({ record }) => isDue(record.summaryAt));
  const full = decided.filter(({ record }) => !isDue(record.summaryAt) && isDue(record.deliverAt));
  // The clock went back, so it is not due after all.
  for (const one of decided)
    if (!summarized.includes(one) && !full.includes(one)) await domain.tryUpdate(one, {});
  const items = [...full.map((one) => [one]), ...(summarized.length > 0 ? [summarized] : [])];
  // Everything that waited for an idle thread joins the run that the first record opens.
  let opened = false;
  for (const item of items.toSorted(byUrgency)) {
    const one = item[0]!;
    if (item === summarized) {
      const optionsFor = async (pressing: VersionedNotification) =>
        wakeOptions(pressing, await context.decide(pressing.record, state));
      await summarize(context, item, { optionsFor });
      continue;
    }
    const decision = await context.decide(one.record, state);
    const outcome = await deliver(context, one, {
      delivery: { ...AS_A_MESSAGE, queued: decision.action === "queue" },
      streamOptions: wakeOptions(one, decision),
      mayJoin: opened,
    });
    opened ||= outcome?.signal !== undefined;
  }
}
