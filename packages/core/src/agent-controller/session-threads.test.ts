import { Memory } from "@selvedge/memory";
import { describe, expect, it } from "vitest";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { controllerWith, Listener } from "./__fixtures__/controller-with.ts";

const open = { id: "s", ownerId: "o" };

/** Locks that several sessions share, and what was done with them. */
function locks(taken: string[] = []) {
  const held = new Set(taken);
  const log: string[] = [];
  return {
    held,
    log,
    acquire: async (id: string) => {
      if (held.has(id)) throw new Error(`${id} is locked`);
      log.push(`+${id}`);
      held.add(id);
    },
    release: (id: string) => {
      log.push(`-${id}`);
      held.delete(id);
    },
  };
}

describe("the threads of a session", () => {
  it("takes the newest thread with all tags, and never one of another scope", async () => {
    const { controller } = controllerWith([]);
    const a = await controller.createSession({ ...open, id: "a", tags: { projectPath: "/a" } });
    const b = await controller.createSession({ ...open, id: "b", tags: { projectPath: "/b" } });
    const again = await controller.createSession({ ...open, id: "c", tags: { projectPath: "/a" } });
    expect(b.thread.getId()).not.toBe(a.thread.getId());
    expect(again.thread.getId()).toBe(a.thread.getId());
    const thread = await a.thread.getById({ threadId: a.thread.getId()! });
    expect(thread!.metadata).toMatchObject({ projectPath: "/a", currentModeId: "plan" });
    const reserved = await controller.createSession({
      ...open,
      id: "d",
      tags: { currentModeId: "x", team: "t" },
    });
    const own = await reserved.thread.getById({ threadId: reserved.thread.getId()! });
    expect(own!.metadata).toMatchObject({ currentModeId: "plan", team: "t" });
  });

  it("walks on to a thread that is free, or makes one, and refuses to be put on a locked one", async () => {
    const storage = new InMemoryStorage();
    const threadLock = locks();
    const one = await controllerWith([], { storage, threadLock }).controller.createSession({
      ...open,
      id: "a",
    });
    const two = await controllerWith([], { storage, threadLock }).controller.createSession({
      ...open,
      id: "b",
    });
    expect(two.thread.getId()).not.toBe(one.thread.getId());
    const before = { ...two.core.row };
    await expect(two.thread.switch({ threadId: one.thread.getId()! })).rejects.toThrow("is locked");
    expect(two.core.row).toEqual(before);
    expect(threadLock.held).toEqual(new Set([one.thread.getId(), two.thread.getId()]));
  });

  it("talks on the thread whose lock it took, also after the thread was deleted", async () => {
    const threadLock = locks();
    const { controller } = controllerWith(() => "Hi.", { threadLock });
    const session = await controller.createSession({ id: "s", ownerId: "o" });
    const listener = new Listener(session);
    await session.sendMessage({ content: "One" });
    await session.thread.delete({ threadId: session.thread.getId()! });
    expect([session.thread.getId(), threadLock.held.size]).toEqual([null, 0]);
    await session.sendMessage({ content: "Two" });
    await Promise.all([session.thread.create(), session.thread.create()]);
    await session.sendMessage({ content: "Three" });
    expect(threadLock.held).toEqual(new Set([session.thread.getId()]));
    expect(listener.all("agent_end")).toHaveLength(3);
    expect(listener.types).not.toContain("error");
  });

  it("does not wait for a run that it cannot hear of", async () => {
    const storage = new InMemoryStorage();
    let isFree = true;
    const threadLock = {
      acquire: () => {
        if (!isFree) throw new Error("taken");
      },
      release: () => {},
    };
    const open = { id: "s", ownerId: "o" };
    const one = await controllerWith(["Hi."], { storage }).controller.createSession(open);
    const { controller } = controllerWith(["Hi."], { storage, threadLock });
    const two = await controller.createSession(open);
    const listener = new Listener(two);
    isFree = false;
    await one.thread.create();
    await listener.until("error");
    await expect(two.sendMessage({ content: "Hi" })).rejects.toThrow("taken");
    isFree = true;
    await two.sendMessage({ content: "Hi" });
  });

  it("takes the new lock before it lets go of the old one", async () => {
    const threadLock = locks();
    const { controller } = controllerWith([], { threadLock });
    const session = await controller.createSession(open);
    const first = session.thread.getId()!;
    const second = await session.thread.create({ title: "Two" });
    await session.thread.switch({ threadId: first });
    await session.thread.delete({ threadId: second.id });
    expect(threadLock.log).toEqual([`+${first}`, `+${second.id}`, `-${first}`, `+${first}`, `-${second.id}`]);
    await session.thread.delete({ threadId: first });
    expect(threadLock.held.size).toBe(0);
    expect(session.thread.getId()).toBeNull();
  });

  it("aborts what the session has under way when it leaves, unless it is told to let it go on", async () => {
    const { controller } = controllerWith(() => ({ text: ["a", "b"], delayMs: 40 }));
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    const first = session.thread.getId()!;
    const second = await session.thread.create();
    const wait = session.sendMessage({ content: "Go" });
    await listener.until("agent_start");
    await session.followUp({ content: "Later" });
    await session.thread.switch({ threadId: first, abort: false });
    await wait;
    await session.thread.switch({ threadId: second.id });
    // Queued messages stay with their thread, and are answered there.
    const texts = async () => JSON.stringify(await session.thread.listMessages({ threadId: second.id }));
    while (!(await texts()).includes("Later")) await new Promise((resolve) => setTimeout(resolve, 5));
    const sent = session.sendMessage({ content: "Stop me" });
    await listener.until("agent_start", 2);
    await session.thread.switch({ threadId: first });
    await sent;
    expect(session.thread.getId()).toBe(first);
  });

  it("comes back to the mode and the model that a thread was left in", async () => {
    const { controller } = controllerWith([]);
    const session = await controller.createSession(open);
    const first = session.thread.getId()!;
    await session.mode.switch({ modeId: "build" });
    await session.model.switch({ modelId: "acme/big" });
    await session.thread.create();
    await session.mode.switch({ modeId: "plan" });
    const listener = new Listener(session);
    await session.thread.switch({ threadId: first });
    expect([session.mode.get(), session.model.get()]).toEqual(["build", "acme/big"]);
    expect(listener.types).toEqual(["mode_changed", "thread_changed"]);
  });

  it("keeps to its resource", async () => {
    const { controller, storage } = controllerWith([]);
    const session = await controller.createSession(open);
    const domain = (await storage.getStore("memory"))!;
    const now = new Date(0);
    await domain.saveThread({
      thread: { id: "foreign", resourceId: "other", createdAt: now, updatedAt: now },
    });
    const refusal = { code: "not-found" };
    await expect(session.thread.switch({ threadId: "foreign" })).rejects.toMatchObject(refusal);
    await expect(session.thread.listMessages({ threadId: "foreign" })).rejects.toMatchObject(refusal);
    await expect(session.thread.delete({ threadId: "foreign" })).rejects.toMatchObject(refusal);
    expect(await session.thread.getById({ threadId: "foreign" })).toBeNull();
    expect(await session.thread.firstUserMessage({ threadId: "foreign" })).toBeNull();
    expect((await session.thread.list()).map(({ id }) => id)).not.toContain("foreign");
    expect((await session.thread.list({ allResources: true })).map(({ id }) => id)).toContain("foreign");
    await expect(controller.createSession({ ...open, id: "t", threadId: "foreign" })).rejects.toMatchObject(
      refusal,
    );
  });

  it("copies a thread with its messages, where there is a memory to do it", async () => {
    const without = await controllerWith(["x"]).controller.createSession(open);
    await expect(without.thread.clone()).rejects.toMatchObject({ code: "memory-required" });
    const storage = new InMemoryStorage();
    const { controller } = controllerWith(["One."], { storage, memory: new Memory({ storage }) });
    const session = await controller.createSession(open);
    await session.sendMessage({ content: "Hi" });
    const source = session.thread.getId();
    const copy = await session.thread.clone({ title: "Copy" });
    expect(session.thread.getId()).toBe(copy.id);
    expect(copy.id).not.toBe(source);
    expect((await session.thread.listActiveMessages()).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
    ]);
  });

  it("previews conversations, and keeps settings with the thread", async () => {
    const { controller } = controllerWith(["One."]);
    const session = await controller.createSession(open);
    await session.sendMessage({
      content: "First words",
      files: [{ data: "a`b", mediaType: "text/plain", filename: "n.txt" }],
    });
    const threadId = session.thread.getId()!;
    const previews = await session.thread.firstUserMessages({ threadIds: [threadId, "none"] });
    expect(previews.get(threadId)!.content).toEqual([
      { type: "text", text: "First words\n\nFile: n.txt\n```\na`b\n```" },
    ]);
    await session.thread.setSetting({ key: "color", value: "red" });
    expect(await session.thread.getSetting({ key: "color" })).toBe("red");
    await session.thread.deleteSetting({ key: "color" });
    expect(await session.thread.getSetting({ key: "color" })).toBeUndefined();
    expect((await session.thread.listMessages({ threadId, limit: 1 })).map(({ role }) => role)).toEqual([
      "assistant",
    ]);
  });

  it("keeps what controllers write on a thread out of reach of settings", async () => {
    const { controller } = controllerWith([]);
    const session = await controller.createSession(open);
    for (const key of ["sessionId", "currentModeId", "modeModelId_plan", "forkedSubagent"]) {
      const refused = { code: "invalid-argument", message: expect.stringContaining(`"${key}"`) };
      await expect(session.thread.setSetting({ key, value: "other" })).rejects.toMatchObject(refused);
      await expect(session.thread.deleteSetting({ key })).rejects.toMatchObject(refused);
    }
    expect(await session.thread.getSetting({ key: "sessionId" })).toBe("s");
  });
});
