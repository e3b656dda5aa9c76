import { AgentError } from "@selvedge/core/errors";
import type { Stage } from "./actions.ts";
import { type SentNotification, SOURCES } from "./sim-inbox.ts";
import { inboxTool } from "./sim-tools.ts";

const PRIORITIES = ["low", "medium", "high", "urgent", undefined] as const;
/** Few keys, so that many notifications meet. */
const KEYS = ["a", "a", "b"] as const;

/** Something outside happened: one notification, or several at once. */
export function notify(stage: Stage): void {
  const { world, ledger } = stage;
  const { random } = world;
  const app = random.pick(stage.apps());
  const { process } = app;
  const thread = random.pick(stage.threads);
  const agent = stage.agents === 2 && random.chance(0.25) ? "other" : "agent";
  const isQuiet = random.chance(0.1);
  const count = random.chance(0.3) ? random.between(2, 4) : 1;
  const sent = Array.from({ length: count }, (): SentNotification => ({
    token: `${thread.threadId}#${world.nextNumber()}`,
    thread,
    agent,
    source: random.pick(SOURCES),
    process,
    isQuiet,
    outcome: "pending",
  }));
  const inputs = sent.map(({ token, source }) => {
    const priority = random.pick(PRIORITIES);
    const key = random.weighted([
      [3, undefined],
      [3, "dedupeKey"],
      [2, "coalesceKey"],
    ] as const);
    return {
      source,
      kind: "event",
      summary: `${token} happened`,
      ...(priority !== undefined && { priority }),
      ...(key !== undefined && { [key]: random.pick(KEYS) }),
    };
  });
  ledger.notifications.push(...sent);
  world.note(() => `${JSON.stringify(inputs)} for ${agent} through ${process.name}`);
  const options = { ...thread, ...(isQuiet && { ifIdle: { behavior: "persist" as const } }) };
  app.agents[agent].sendNotificationSignal(inputs, options).then(
    (results) => {
      for (const [index, one] of sent.entries()) {
        const { record, decision, signal } = results[index]!;
        one.outcome = "accepted";
        one.recordId = record.id;
        world.note(() => `${one.token} is in record ${record.id}, ${record.status}: ${decision.action}`);
        world.reached.add(`a notification was accepted: ${decision.action}${signal ? ", sent at once" : ""}`);
        if (record.coalescedCount > 1) world.reached.add("a notification was merged into another");
      }
    },
    (error: unknown) => {
      for (const one of sent) one.outcome = "rejected";
      world.note(() => `${sent.map(({ token }) => token).join()} is refused: ${String(error)}`);
      if (!AgentError.is(error)) world.violate("I7", `a notification failed with ${String(error)}`);
    },
  );
}

/** Somebody other than the model looks into an inbox, or clears a record away. */
export function useInbox(stage: Stage): void {
  const { world, ledger } = stage;
  const { random } = world;
  const { storage, process } = random.pick(stage.apps());
  const thread = random.pick(stage.threads);
  const known = ledger.notifications.filter(
    (one) => one.thread === thread && one.recordId !== undefined && one.source !== "spam",
  );
  const context =
    known.length > 0 && random.chance(0.3)
      ? { action: "dismiss" as const, id: random.pick(known).recordId! }
      : { action: "read" as const };
  world.note(() => `${JSON.stringify(context)} in the inbox of ${thread.threadId} through ${process.name}`);
  if (context.action === "dismiss") ledger.dismissed.add(context.id);
  inboxTool(storage)
    .then((tool) => tool.execute({ context, ...thread }))
    .then(
      () => world.reached.add(`an inbox was used: ${context.action}`),
      (error: unknown) => {
        if (!AgentError.is(error)) world.violate("I7", `an inbox failed with ${String(error)}`);
      },
    );
}
