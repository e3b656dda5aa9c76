import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Mastra } from "../mastra/mastra.ts";
import { MESSAGES } from "../storage/tables.ts";
import { CI, inbox, TARGET } from "./__fixtures__/inbox.ts";
import { createNotificationInboxTool } from "./inbox-tool.ts";

const MINUTE = 60_000;

type Step =
  | { do: "send"; priority: "low" | "medium" | "high" | "urgent"; key: string | undefined; source: string }
  | { do: "hold" | "go" | "wait" | "read" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("send" as const),
      priority: fc.constantFrom("low" as const, "medium" as const, "high" as const, "urgent" as const),
      key: fc.constantFrom(undefined, "a", "b"),
      source: fc.constantFrom("github", "email"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("hold", "go", "wait", "read") }) },
) as fc.Arbitrary<Step>;

async function live(steps: readonly Step[]) {
  const app = inbox();
  const { agent, storage, system } = app;
  const tool = createNotificationInboxTool({ storage: await app.domain() });
  const dispatch = { enabled: true };
  const mastra = new Mastra({
    agents: { agent },
    storage,
    system,
    logger: false,
    notifications: { dispatch },
  });
  await mastra.start();
  let go: (() => Promise<void>) | undefined;
  for (const one of steps) {
    if (one.do === "send") {
      const { priority, source, key } = one;
      await agent.sendNotificationSignal({ ...CI, priority, source, ...(key && { dedupeKey: key }) }, TARGET);
    } else if (one.do === "hold") {
      if (!go) await app.idle();
      go ??= await app.hold();
    } else if (one.do === "go") {
      await go?.();
      go = undefined;
    } else if (one.do === "wait") await system.advance(MINUTE);
    else await tool.execute({ context: { action: "read" }, ...TARGET });
  }
  await go?.();
  for (let minute = 0; minute < 5; minute++) {
    await system.advance(MINUTE);
    await app.idle();
  }
  const full = new Map<string, number>();
  for (const row of await storage.select({ table: MESSAGES, where: { type: "notification" } })) {
    const { signal } = row["metadata"] as { signal: { metadata: { notification: { recordId: string } } } };
    const { recordId } = signal.metadata.notification;
    full.set(recordId, (full.get(recordId) ?? 0) + 1);
  }
  return { records: await app.list(), full };
}

describe("an inbox", () => {
  it("delivers each record in full at most once and tells of each, whatever happens in which order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        const { records, full } = await live(steps);
        for (const record of records) {
          const reached = record.status === "delivered" || record.status === "seen";
          expect(full.get(record.id) ?? 0).toBe(reached ? 1 : 0);
          if (!reached) {
            // Low and medium ones that were told of may wait for ever; nothing else does.
            expect(record).toMatchObject({ status: "pending", summarySignalId: expect.any(String) });
            expect(record.priority).toMatch(/^(low|medium)$/);
          }
          expect(record).not.toHaveProperty("summaryAt");
        }
        const keys = records.flatMap(({ status, source, dedupeKey }) =>
          status === "pending" && dedupeKey !== undefined ? [`${source} ${dedupeKey}`] : [],
        );
        expect(new Set(keys).size).toBe(keys.length);
      }),
      { numRuns: 150 },
    );
  });
});
