import { describe, expect, it } from "vitest";
import { Mastra } from "../mastra/mastra.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { Mortal } from "../storage/__fixtures__/mortal.ts";
import { virtualSystem } from "@selvedge/testing";
import { CI, inbox, TARGET, told } from "./__fixtures__/inbox.ts";

const MINUTE = 60_000;
const SENDS = [
  { ...CI, priority: "urgent" as const, summary: "urgent" },
  { ...CI, priority: "medium" as const, summary: "deferred", source: "later" },
  { ...CI, priority: "low" as const, summary: "low", dedupeKey: "k" },
  { ...CI, priority: "low" as const, summary: "low again", dedupeKey: "k" },
];

/** One process sends and dispatches until it dies at its nth commit; another opens the same store and carries on. */
async function crashAt(commit: number, after: boolean) {
  const system = virtualSystem();
  const shared = new InMemoryStorage({ system });
  const dead = new Set<string>();
  const open = (name: string, left: number) => {
    const storage = new Mortal(shared, name, dead, system, left, after);
    const notifications = { deliveryPolicy: { sources: { later: "defer" as const } } };
    const app = inbox({ system, notifications }, { storage });
    const mastra = new Mastra({
      agents: { agent: app.agent },
      storage,
      system,
      logger: false,
      notifications: { dispatch: { enabled: true } },
    });
    return { ...app, mastra, storage };
  };
  const first = open("first", commit);
  let acknowledged = 0;
  void (async () => {
    await first.mastra.start();
    for (const one of SENDS) {
      await first.agent.sendNotificationSignal(one, TARGET);
      acknowledged++;
    }
  })();
  await system.advance(10 * MINUTE);
  const died = first.storage.dead;
  dead.add("first");
  const second = open("second", Number.POSITIVE_INFINITY);
  await system.until(second.mastra.start());
  await system.advance(10 * MINUTE);
  await second.idle();
  const domain = (await shared.getStore("notifications"))!;
  const records = await domain.listNotifications({ threadId: TARGET.threadId });
  return { died, acknowledged, records, told: await told(shared) };
}

describe("a process that dies at any commit while it sends and dispatches", () => {
  it.each([
    ["before", false],
    ["right after", true],
  ])("%s it took effect leaves every record delivered once, and one per key", async (_, after) => {
    let points = 0;
    for (let commit = 0; ; commit++) {
      const { died, acknowledged, records, told: heard } = await crashAt(commit, after);
      const place = `commit ${commit} ${after ? "after" : "before"}`;
      const summaries = records.map(({ summary }) => summary);
      // Stored means durable: what the caller heard of is there.
      const expected = ["urgent", "deferred", "low"].slice(0, Math.min(acknowledged, 3));
      for (const text of expected)
        expect(
          summaries.some((one) => one.startsWith(text)),
          `${place}: ${text}`,
        ).toBe(true);
      expect(records.filter(({ dedupeKey }) => dedupeKey === "k").length, place).toBeLessThanOrEqual(1);
      for (const record of records) {
        const full = heard.filter((one) => one === `notification ${record.summary}`);
        const isLow = record.priority === "low";
        expect(full, `${place}: ${record.summary} ${record.status}`).toHaveLength(isLow ? 0 : 1);
        expect(record.status, place).toBe(isLow ? "pending" : "delivered");
        if (isLow) expect(record.summarySignalId, place).toBeDefined();
      }
      const lows = records.filter(({ priority }) => priority === "low").length;
      expect(heard.filter((one) => one.startsWith("notification-summary")).length, place).toBe(lows);
      if (!died) break;
      points++;
    }
    expect(points).toBeGreaterThan(10);
  });
});
