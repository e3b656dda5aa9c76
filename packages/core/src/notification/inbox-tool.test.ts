import { describe, expect, it } from "vitest";
import { bareMemory } from "../agent/__fixtures__/agent-with.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { virtualSystem } from "@selvedge/testing";
import { CI, inbox, TARGET, told } from "./__fixtures__/inbox.ts";
import { createNotificationInboxTool, type NotificationInboxInput } from "./inbox-tool.ts";

/** An agent whose notifications wait in its inbox, and whose model acts on it in its first step. */
async function withTool(input: NotificationInboxInput) {
  const system = virtualSystem();
  const storage = new InMemoryStorage({ system });
  const notificationInbox = createNotificationInboxTool({ storage: await storage.getStore("notifications") });
  const call = { toolCalls: [{ toolName: "notificationInbox", input }] };
  const app = inbox(
    {
      system,
      memory: bareMemory(storage),
      tools: { notificationInbox },
      notifications: { deliveryPolicy: { default: "persist" } },
    },
    { storage, replies: [call] },
  );
  const run = async () => {
    await app.agent.sendMessage("Triage.", TARGET).admitted;
    await app.idle();
    return app.model.calls.at(-1)!.prompt.find(({ role }) => role === "tool");
  };
  const use = (use: NotificationInboxInput, place: object = TARGET) =>
    notificationInbox.execute({ context: use, ...place });
  return { ...app, tool: notificationInbox, run, use };
}

describe("the notification inbox tool", () => {
  it("has the documented name", async () => {
    const { tool } = await withTool({ action: "list" });
    expect(tool.id).toBe("notification-inbox");
    expect(() => createNotificationInboxTool({ storage: undefined })).toThrow(
      expect.objectContaining({ code: "storage-required" }),
    );
  });

  it("brings what is read into the running chat, oldest first, and reports only how much", async () => {
    const { agent, run, storage, list, model } = await withTool({ action: "read" });
    for (const summary of ["one", "two"]) await agent.sendNotificationSignal({ ...CI, summary }, TARGET);
    const result = JSON.stringify(await run());
    expect(result).toContain('"delivered":2');
    expect(result).not.toContain("one");
    expect(await told(storage)).toEqual(["notification one", "notification two"]);
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain(">one</notification>");
    for (const record of await list())
      expect(record).toMatchObject({
        status: "seen",
        seenAt: expect.any(Date),
        deliveredSignalId: expect.any(String),
      });
  });

  it("reads nothing twice", async () => {
    const { agent, use, storage } = await withTool({ action: "read" });
    const { record } = await agent.sendNotificationSignal(CI, TARGET);
    const counts = await Promise.all([1, 2, 3].map(() => use({ action: "read", id: record.id })));
    expect(counts.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(1);
    expect(await use({ action: "read", id: record.id })).toMatchObject({ alreadyRead: 1, delivered: 0 });
    expect(await use({ action: "read" })).toMatchObject({ alreadyRead: 0, delivered: 0 });
    expect(await told(storage)).toHaveLength(1);
  });

  it("only marks what had been delivered", async () => {
    const app = inbox();
    const tool = createNotificationInboxTool({ storage: await app.domain() });
    await app.agent.sendNotificationSignal(CI, TARGET);
    await app.idle();
    const result = await tool.execute({ context: { action: "read" }, ...TARGET });
    expect(result).toMatchObject({ delivered: 0, markedSeen: 1 });
    expect(await told(app.storage)).toHaveLength(1);
    expect((await app.list())[0]).toMatchObject({ status: "seen" });
  });

  it("does not repeat what was put into the chat of an idle thread, and tells what has been merged since", async () => {
    const app = inbox();
    const tool = createNotificationInboxTool({ storage: await app.domain() });
    const read = () => tool.execute({ context: { action: "read" }, ...TARGET });
    const quiet = { ...TARGET, ifIdle: { behavior: "persist" as const } };
    const keyed = { ...CI, dedupeKey: "ci" };
    const { record, persisted } = await app.agent.sendNotificationSignal(keyed, quiet);
    await persisted;
    expect(record).toMatchObject({ status: "pending", deliveredSignalId: expect.any(String) });
    await app.agent.sendNotificationSignal({ ...keyed, priority: "low", summary: "Again" }, TARGET);
    expect(await read()).toMatchObject({ delivered: 1, markedSeen: 0 });
    await app.agent.sendNotificationSignal({ ...CI, summary: "Other" }, quiet);
    expect(await read()).toMatchObject({ delivered: 0, markedSeen: 1 });
    expect(await told(app.storage)).toEqual([
      `notification ${CI.summary}`,
      "notification Again",
      "notification Other",
    ]);
  });

  it("leaves a record alone while its sender decides, and reads it when the sender is gone", async () => {
    const { use, domain, system, storage } = await withTool({ action: "read" });
    const until = system.now() + 1_000;
    const claim = { owner: "sender", until, writes: [] };
    await (await domain()).create({ ...CI, ...TARGET, agentId: "support" }, claim);
    expect(await use({ action: "read" })).toMatchObject({ delivered: 0, unavailable: 1 });
    await system.advance(1_000);
    expect(await use({ action: "read" })).toMatchObject({ delivered: 1, unavailable: 0 });
    expect(await told(storage)).toHaveLength(1);
  });

  it("lists and searches without changing anything", async () => {
    const { agent, use, list } = await withTool({ action: "list" });
    await agent.sendNotificationSignal([CI, { ...CI, source: "email", summary: "Lunch?" }], TARGET);
    const before = await list();
    expect((await use({ action: "list" })).notifications).toHaveLength(2);
    expect((await use({ action: "list", source: "email" })).notifications).toHaveLength(1);
    expect((await use({ action: "search", query: "lunch" })).notifications).toMatchObject([
      { source: "email" },
    ]);
    expect(await list()).toEqual(before);
  });

  it.each([
    ["markSeen", "seen"],
    ["dismiss", "dismissed"],
    ["archive", "archived"],
  ] as const)("%s makes a record %s", async (action, status) => {
    const { agent, use } = await withTool({ action });
    const { record } = await agent.sendNotificationSignal(CI, TARGET);
    expect(await use({ action, id: record.id })).toMatchObject({ notification: { id: record.id, status } });
  });

  it("says what a call lacks", async () => {
    const { use } = await withTool({ action: "list" });
    await expect(use({ action: "search" })).rejects.toMatchObject({ code: "invalid-argument" });
    await expect(use({ action: "dismiss" })).rejects.toMatchObject({ code: "invalid-argument" });
    await expect(use({ action: "list" }, {})).rejects.toMatchObject({ code: "invalid-argument" });
    await expect(use({ action: "read", id: "none" })).rejects.toMatchObject({ code: "not-found" });
    expect(await use({ action: "burn" as "list" })).toMatchObject({ error: true });
  });

  it("shows nothing of other resources", async () => {
    const { agent, use } = await withTool({ action: "list" });
    const { record } = await agent.sendNotificationSignal(CI, TARGET);
    const stranger = { threadId: TARGET.threadId, resourceId: "stranger" };
    expect(await use({ action: "list" }, stranger)).toEqual({ notifications: [] });
    expect(await use({ action: "search", query: "CI" }, stranger)).toEqual({ notifications: [] });
    expect(await use({ action: "read" }, stranger)).toMatchObject({ delivered: 0 });
    const nobody = { runId: "run", threadId: "elsewhere" };
    for (const action of ["list", "read", "search"] as const) {
      const used = use({ action, threadId: TARGET.threadId, query: "CI" }, nobody);
      await expect(used).rejects.toMatchObject({ code: "not-found" });
    }
    for (const action of ["read", "markSeen", "dismiss", "archive"] as const)
      await expect(use({ action, id: record.id }, stranger)).rejects.toMatchObject({ code: "not-found" });
  });
});
