import assert from "node:assert/strict";
import { Agent } from "@selvedge/core/agent";
import type { Storage } from "@selvedge/core/storage";
import { LibSQLStore } from "@selvedge/libsql";
import { scriptedModel } from "@selvedge/testing";
import { type BlockSetUp, running } from "./block-set-up.ts";
import { assertWrittenIn, systemMessagesOf } from "./fixtures.ts";
import { chunksOf, readBy, type Target, THREAD_1, THREAD_2, threadAgent } from "./thread-fixtures.ts";

const FULL =
  '<notification source="github" type="ci-status" priority="high" status="delivered">CI failed on main: 3 tests failed.</notification>';

/** The blocks about notifications. */
export const notificationBlocks = {
  "1-sendnotificationsignal-1": running({
    hash: "a9c4ccde",
    after: "export { result };",
    given: () => threadAgent(),
    run: async ({ result }, { agent, model, memory }) => {
      assert.equal(result.accepted, true);
      assert.equal(result.decision.action, "deliver");
      assert.equal(result.record.status, "delivered");
      assert.equal(result.record.deliveredSignalId, result.signal.id);
      const chunks = await chunksOf(agent, THREAD_1);
      assert.equal(chunks[0]?.runId, result.runId);
      assert.deepEqual(readBy(model, 0), [FULL]);
      await assertOneRecord(memory.storage!, THREAD_1);
    },
  }),
  "1-sendnotificationsignal-2": {
    hash: "7254c6fa",
    run: async ({ supportAgent }, _, block) =>
      assertWrittenIn(block, await systemMessagesOf(supportAgent), 1),
  },
  "2-notification-signals-1": running({
    hash: "4c4a1bc0",
    given: () => threadAgent(),
    run: async (_, { agent, model, memory }) => {
      await chunksOf(agent, THREAD_2);
      assert.deepEqual(readBy(model, 0), [FULL]);
      const record = await assertOneRecord(memory.storage!, THREAD_2);
      assert.deepEqual(record.payload, { repository: "acme/app", branch: "main" });
    },
  }),
  "2-notification-signals-2": {
    hash: "06e96bfc",
    run: async ({ supportAgent }, _, block) =>
      assertWrittenIn(block, await systemMessagesOf(supportAgent), 1),
  },
  "2-notification-signals-3": running({
    hash: "8ea9d9fd",
    given: () => ({
      storage: new LibSQLStore({ url: ":memory:" }),
      supportAgent: new Agent({ name: "support", instructions: "Help.", model: scriptedModel([]) }),
    }),
    run: async ({ mastra }, { supportAgent, storage }) => {
      assert.equal(mastra.getAgent("supportAgent"), supportAgent);
      assert.equal(mastra.getStorage(), storage);
      await mastra.start();
      await mastra.close();
    },
  }),
  "2-notification-inbox-tool-1": running({
    hash: "ff52281c",
    given: () => ({ Agent, storage: new LibSQLStore({ url: ":memory:" }) }),
    run: async ({ supportAgent }, { storage }) => {
      const { notificationInbox } = await supportAgent.listTools();
      assert.equal(notificationInbox.id, "notification-inbox");
      const target = { threadId: "t", resourceId: "r" };
      const domain = (await storage.getStore("notifications"))!;
      await domain.createNotification({ ...target, source: "email", kind: "mail", summary: "Lunch?" });
      const { notifications } = await notificationInbox.execute({ context: { action: "list" }, ...target });
      assert.deepEqual([notifications[0].summary, notifications[0].status], ["Lunch?", "pending"]);
      const read = await notificationInbox.execute({ context: { action: "read" }, ...target });
      assert.equal(read.delivered, 1);
      await storage.close();
    },
  }),
} satisfies Record<string, BlockSetUp>;

async function assertOneRecord(storage: Storage, { threadId }: Target) {
  const records = await (await storage.getStore("notifications"))!.listNotifications({ threadId });
  assert.equal(records.length, 1);
  assert.equal(records[0]!.dedupeKey, "github:acme/app:main:ci");
  return records[0]!;
}
