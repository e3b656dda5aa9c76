import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LibSQLStore } from "@selvedge/libsql";
import type { Script } from "@selvedge/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AgentControllerConfig } from "./config.ts";
import { call, controllerWith, Listener, type Made, systemOf } from "./__fixtures__/controller-with.ts";

/** Stores of their own on one file: to each other they are other processes. */
let folder: string;
let stores: LibSQLStore[];
let made: Made[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "selvedge-"));
  stores = [];
  made = [];
});
afterEach(async () => {
  for (const { controller } of made) await controller.destroy();
  for (const store of stores) await store.close();
  rmSync(folder, { recursive: true });
});

function process(script: Script, more: Partial<Omit<AgentControllerConfig, "tools">> = {}): Made {
  const storage = new LibSQLStore({ url: `file:${join(folder, "store.db")}` });
  stores.push(storage);
  const one = controllerWith(script, { storage, ...more });
  made.push(one);
  return one;
}

/** A process that ended without a word. */
async function gone(one: Made): Promise<void> {
  await one.controller.destroy();
  await one.storage.close();
}

const open = { id: "s", ownerId: "o" };

describe("a session in several processes", () => {
  it("is opened again with its thread, mode, model, state, rules, grants and tags", async () => {
    const first = process(["One."]);
    const session = await first.controller.createSession({ ...open, tags: { projectPath: "/a" } });
    await session.mode.switch({ modeId: "build" });
    await session.model.switch({ modelId: "acme/big", modeId: "plan" });
    await session.state.set({ count: 1 });
    await session.permissions.setForCategory({ category: "edit", policy: "deny" });
    await session.permissions.setForTool({ toolName: "write(a*)", policy: "allow" });
    await session.grantTool("read");
    await session.sendMessage({ content: "Hi" });
    const threadId = session.thread.getId();
    await gone(first);

    const second = process(["Two."]);
    const again = await second.controller.createSession({ ...open });
    expect(again.thread.getId()).toBe(threadId);
    expect(again.mode.get()).toBe("build");
    expect(again.state.get()).toEqual({ projectPath: "/a", count: 1 });
    expect(again.permissions.getRules()).toEqual({
      categories: { edit: "deny" },
      tools: { "write(a*)": "allow" },
    });
    expect(again.getGrants()).toEqual({ categories: [], tools: ["read"] });
    expect(again.getTags()).toEqual({ projectPath: "/a" });
    expect(again.getTokenUsage()).toEqual(session.getTokenUsage());
    await again.mode.switch({ modeId: "plan" });
    expect(again.model.get()).toBe("acme/big");
  });

  it("tells what one process changed in every other: models of helpers and modes, and deleted threads", async () => {
    const [first, second] = [process([]), process([])];
    const session = await first.controller.createSession(open);
    const elsewhere = await second.controller.createSession(open);
    const listeners = [new Listener(session), new Listener(elsewhere)];
    const before = session.thread.getId()!;
    await session.om.observer.switchModel({ modelId: "acme/eye" });
    await session.subagents.model.set({ modelId: "acme/small" });
    await session.subagents.model.set({ modelId: "acme/tiny", agentType: "helper" });
    await session.model.switch({ modelId: "acme/big", modeId: "build" });
    await session.thread.create();
    await session.thread.delete({ threadId: before });
    for (const listener of listeners) {
      await listener.until("thread_deleted");
      expect(listener.all("om_model_changed")).toEqual([
        { type: "om_model_changed", role: "observer", modelId: "acme/eye" },
      ]);
      expect(listener.all("subagent_model_changed")).toEqual([
        { type: "subagent_model_changed", modelId: "acme/small", scope: "thread" },
        { type: "subagent_model_changed", modelId: "acme/tiny", scope: "thread", agentType: "helper" },
      ]);
      expect(listener.all("model_changed")).toEqual([
        { type: "model_changed", modelId: "acme/big", scope: "thread", modeId: "build" },
      ]);
      expect(listener.all("thread_deleted")).toEqual([{ type: "thread_deleted", threadId: before }]);
    }
    expect(elsewhere.om.observer.modelId()).toBe("acme/eye");
    expect(elsewhere.subagents.model.get({ agentType: "helper" })).toBe("acme/tiny");
  });

  it("leaves nothing behind when it cannot be opened", async () => {
    const { controller } = process([]);
    await controller.createSession({ id: "other", ownerId: "o", resourceId: "mine", threadId: "t" });
    await expect(controller.createSession({ ...open, threadId: "t" })).rejects.toMatchObject({
      code: "not-found",
    });
    const session = await controller.createSession({ ...open, tags: { projectPath: "/a" } });
    expect(session.getTags()).toEqual({ projectPath: "/a" });
  });

  it("is not there for another resource or owner", async () => {
    const first = process([]);
    await first.controller.createSession({ ...open, resourceId: "mine" });
    const second = process([]);
    for (const other of [{ resourceId: "yours" }, { resourceId: "mine", ownerId: "p" }, {}])
      await expect(second.controller.createSession({ ...open, ...other })).rejects.toMatchObject({
        code: "not-found",
      });
    await second.controller.createSession({ ...open, resourceId: "mine" });
  });

  it("has one thread when two of them open it at once", async () => {
    const [a, b] = [process([]), process([])];
    await a.storage.init();
    const [one, two] = await Promise.all([a, b].map(({ controller }) => controller.createSession(open)));
    expect(one!.thread.getId()).toBe(two!.thread.getId());
    expect(await one!.thread.list()).toHaveLength(1);
  });

  it("shows a change in all of them, as an event", async () => {
    const [a, b] = [process([]), process([])];
    const one = await a.controller.createSession(open);
    const two = await b.controller.createSession(open);
    const listener = new Listener(two);
    await one.mode.switch({ modeId: "build" });
    await one.state.set({ seen: true });
    await listener.until("mode_changed");
    expect(await listener.until("state_changed")).toMatchObject({
      changedKeys: ["seen"],
      state: { seen: true },
    });
    expect([two.mode.get(), two.state.get()]).toEqual(["build", { seen: true }]);
    const thread = await one.thread.create({ title: "Other" });
    expect(await listener.until("thread_changed")).toMatchObject({ threadId: thread.id });
    expect(two.thread.getId()).toBe(thread.id);
  });

  it("loses no change of its state, whoever makes it", async () => {
    const sessions = await Promise.all(
      [process([]), process([])].map(({ controller }) => controller.createSession(open)),
    );
    const increment = async (session: (typeof sessions)[number]) => {
      for (let count = 0; count < 25; count++)
        await session.state.update((state) => ({ updates: { count: Number(state["count"] ?? 0) + 1 } }));
    };
    await Promise.all(sessions.map(increment));
    for (const session of sessions) {
      await session.core.refresh();
      expect(session.state.get()).toEqual({ count: 50 });
    }
  });

  it("can be answered from any of them, and every prompt goes away", async () => {
    const script: Script = ({ prompt }) =>
      JSON.stringify(prompt).includes("written") ? "Done." : call("write", {}, "w1");
    const [a, b] = [process(script), process(script)];
    const one = await a.controller.createSession(open);
    const two = await b.controller.createSession(open);
    const [here, there] = [new Listener(one), new Listener(two)];
    const sent = one.sendMessage({ content: "Write" });
    await Promise.all([here.until("tool_approval_required"), there.until("tool_approval_required")]);
    expect(two.displayState.get()).toEqual(one.displayState.get());
    await two.respondToToolApproval({ decision: "approve" });
    await Promise.all([here.until("tool_decided"), there.until("tool_decided"), sent]);
    await there.until("agent_end");
    expect([...a.ran, ...b.ran]).toHaveLength(1);
    await expect(one.respondToToolApproval({ decision: "decline", toolCallId: "w1" })).rejects.toMatchObject({
      code: "already-decided",
    });
    expect(one.displayState.get()).toEqual(two.displayState.get());
  });

  it("goes on elsewhere with its mode, tools and rules when the process that asked is gone", async () => {
    const first = process([call("write", { path: "a" }, "w1")]);
    const session = await first.controller.createSession(open);
    await session.mode.switch({ modeId: "build" });
    const listener = new Listener(session);
    void session.sendMessage({ content: "Write" });
    await listener.until("tool_approval_required");
    const shown = session.displayState.get();
    await gone(first);

    const second = process(["Done."]);
    const again = await second.controller.createSession(open);
    expect(again.displayState.get()).toEqual({
      ...shown,
      currentMessage: expect.objectContaining({
        id: shown.currentMessage!.id,
        content: shown.currentMessage!.content,
      }),
    });
    const events = new Listener(again);
    await again.mode.switch({ modeId: "plan" });
    await again.respondToToolApproval({ decision: "always_allow_category" });
    await events.until("agent_end");
    expect(second.ran).toEqual(['write {"path":"a"}']);
    // The run keeps the mode that it began in.
    expect(systemOf(second.model, 0)).toBe("Weave.\nBuild now.");
    expect(again.getGrants().categories).toEqual(["edit"]);
  });

  it("answers a question and carries out a plan in another process, in the new mode", async () => {
    const first = process([call("submit_plan", { plan: "Weave" }, "p")]);
    const session = await first.controller.createSession(open);
    await session.sendMessage({ content: "Plan" });
    await gone(first);
    const second = process(["Building."]);
    const again = await second.controller.createSession(open);
    expect(again.suspensions.get({ toolCallId: "p" })).toMatchObject({ suspendPayload: { plan: "Weave" } });
    const events = new Listener(again);
    await again.respondToToolSuspension({ resumeData: { action: "approved" } });
    await events.until("agent_end");
    expect(systemOf(second.model, 0)).toBe("Weave.\nBuild now.");
    expect(again.mode.get()).toBe("build");
  });

  it("gives each process a session of its own, with the last one's state and rules and without its grants", async () => {
    const first = process(["One."]);
    expect(first.controller.session.mode.get()).toBe("plan");
    await first.controller.init();
    await first.controller.selectOrCreateThread();
    await first.controller.session.state.set({ theme: "dark" });
    await first.controller.session.permissions.setForTool({ toolName: "write", policy: "allow" });
    await first.controller.session.grantCategory("edit");
    await first.controller.session.mode.switch({ modeId: "build" });
    const second = process(["Two."]);
    await second.controller.init();
    const { session } = second.controller;
    expect(session.identity.getId()).toBe("loom");
    expect(session.state.get()).toEqual({ theme: "dark" });
    expect(session.permissions.getRules().tools).toEqual({ write: "allow" });
    expect(session.getGrants()).toEqual({ categories: [], tools: [] });
    expect(session.mode.get()).toBe("plan");
    const { id } = await second.controller.createThread();
    expect(first.controller.session.thread.getId()).not.toBe(id);
  });

  it("runs what others opened on its thread in the mode of the thread and under the rules of its session", async () => {
    const first = process(["One."]);
    const session = await first.controller.createSession(open);
    await session.mode.switch({ modeId: "build" });
    await session.permissions.setForTool({ toolName: "write", policy: "allow" });
    const target = { threadId: session.thread.getId()!, resourceId: "loom" };
    await gone(first);
    const second = process([call("write", {}), "Two."]);
    const agent = second.controller.getCurrentAgent();
    const reader = await agent.subscribeToThread({ ...target, after: 0 });
    agent.sendMessage("Hello from elsewhere", target);
    for await (const chunk of reader.stream) if (chunk.type === "finish") break;
    expect(systemOf(second.model, 0)).toBe("Weave.\nBuild now.");
    expect(second.ran).toHaveLength(1);
  });

  it("does not lend the rules of a session to a thread of another resource that names it", async () => {
    const { controller, ran, storage } = process([call("write", {}), "x"]);
    const session = await controller.createSession({ ...open, resourceId: "mine" });
    await session.state.set({ yolo: true });
    const domain = (await storage.getStore("memory"))!;
    const [now, metadata] = [new Date(0), { sessionId: "s" }];
    await domain.saveThread({
      thread: { id: "t", resourceId: "yours", metadata, createdAt: now, updatedAt: now },
    });
    const agent = controller.getCurrentAgent();
    const reader = await agent.subscribeToThread({ threadId: "t", resourceId: "yours", after: 0 });
    agent.sendMessage("Hi", { threadId: "t", resourceId: "yours" });
    for await (const { type } of reader.stream) if (type === "tool-call-approval" || type === "finish") break;
    expect(ran).toEqual([]);
  });

  it("asks for everything on a thread that no session has used", async () => {
    const { controller, ran, storage } = process([call("write", {}), "x"]);
    const domain = (await storage.getStore("memory"))!;
    const now = new Date(0);
    await domain.saveThread({ thread: { id: "t", resourceId: "loom", createdAt: now, updatedAt: now } });
    const agent = controller.getCurrentAgent();
    const reader = await agent.subscribeToThread({ threadId: "t", resourceId: "loom", after: 0 });
    agent.sendMessage("Hi", { threadId: "t", resourceId: "loom" });
    for await (const chunk of reader.stream) if (chunk.type === "tool-call-approval") break;
    expect(ran).toEqual([]);
  });

  it("falls back to the default mode where its own does not exist any more, and says so", async () => {
    const first = process([]);
    const session = await first.controller.createSession(open);
    await session.mode.switch({ modeId: "build" });
    await gone(first);
    const second = process([], { modes: [{ id: "only" }] });
    const again = await second.controller.createSession(open);
    expect(again.mode.get()).toBe("only");
    expect(again.mode.resolve()).toEqual({ id: "only" });
    expect(new Listener(again).all("info")).toMatchObject([{ message: expect.stringContaining('"build"') }]);
  });

  it("is deleted everywhere, and its threads stay", async () => {
    const [a, b] = [process([]), process([])];
    const one = await a.controller.createSession(open);
    const two = await b.controller.createSession(open);
    const listener = new Listener(two);
    const threadId = one.thread.getId()!;
    await a.controller.deleteSession({ id: "s" });
    await listener.until("info");
    await expect(two.state.set({ x: 1 })).rejects.toMatchObject({ code: "not-found" });
    await expect(a.controller.deleteSession({ id: "s" })).rejects.toMatchObject({ code: "not-found" });
    const again = await b.controller.createSession(open);
    expect(again.thread.getId()).toBe(threadId);
    expect(again.state.get()).toEqual({});
  });

  it("is another session after it was deleted and created anew, for whoever has the old one open", async () => {
    const [first, second] = [process(["Hello."]), process(["Hello."])];
    const old = await first.controller.createSession(open);
    await old.state.set({ who: "old" });
    await second.controller.createSession(open);
    await second.controller.deleteSession({ id: "s" });
    const fresh = await second.controller.createSession(open);
    await fresh.state.set({ who: "new" });
    await expect(old.state.set({ who: "old again" })).rejects.toMatchObject({ code: "not-found" });
    expect((await fresh.core.refresh()).state).toEqual({ who: "new" });
  });
});
