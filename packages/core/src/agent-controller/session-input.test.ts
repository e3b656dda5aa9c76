import { describe, expect, it } from "vitest";
import { createTool } from "../tool/tool.ts";
import type { AgentControllerRequestContext } from "./request-context.ts";
import type { Session } from "./session.ts";
import { call, controllerWith, Listener } from "./__fixtures__/controller-with.ts";

const open = { id: "s", ownerId: "o" };

describe("a session that is given bad input", () => {
  it("rejects a call without options with a typed error", async () => {
    const { controller } = controllerWith([]);
    const session = await controller.createSession(open);
    for (const bad of [undefined, null, 5, "x"] as never[]) {
      const calls: Record<string, () => Promise<unknown>> = {
        createSession: () => controller.createSession(bad),
        deleteSession: () => controller.deleteSession(bad),
        removeHeartbeat: () => controller.removeHeartbeat(bad),
        registerHeartbeat: () => controller.registerHeartbeat(bad),
        resolveWorkspace: () => controller.resolveWorkspace(bad),
        sendMessage: () => session.sendMessage(bad),
        steer: () => session.steer(bad),
        followUp: () => session.followUp(bad),
        respondToToolApproval: () => session.respondToToolApproval(bad),
        respondToToolSuspension: () => session.respondToToolSuspension(bad),
        setResourceId: () => session.setResourceId(bad),
        "mode.switch": () => session.mode.switch(bad),
        "model.switch": () => session.model.switch(bad),
        "state.set": () => session.state.set(bad),
        "state.update": () => session.state.update(bad),
        "permissions.setForCategory": () => session.permissions.setForCategory(bad),
        "permissions.setForTool": () => session.permissions.setForTool(bad),
        grantCategory: () => session.grantCategory(bad),
        "om.observer.switchModel": () => session.om.observer.switchModel(bad),
        "subagents.model.set": () => session.subagents.model.set(bad),
        "thread.switch": () => session.thread.switch(bad),
        "thread.delete": () => session.thread.delete(bad),
        "thread.rename": () => session.thread.rename(bad),
        "thread.getById": () => session.thread.getById(bad),
        "thread.listMessages": () => session.thread.listMessages(bad),
        "thread.firstUserMessage": () => session.thread.firstUserMessage(bad),
        "thread.firstUserMessages": () => session.thread.firstUserMessages(bad),
        "thread.getSetting": () => session.thread.getSetting(bad),
        "thread.setSetting": () => session.thread.setSetting(bad),
        "thread.deleteSetting": () => session.thread.deleteSetting(bad),
        "followUps.edit": () => session.followUps.edit(bad),
        "followUps.remove": () => session.followUps.remove(bad),
        "followUps.move": () => session.followUps.move(bad),
      };
      for (const [name, run] of Object.entries(calls)) {
        const code = await run().then(
          () => "accepted",
          (error: { code?: string }) => error.code,
        );
        expect([name, code]).toEqual([name, expect.stringMatching(/^(?:invalid-argument|not-found)$/)]);
      }
    }
  });

  it("refuses ids of an idGenerator that are no ids, or that are taken", async () => {
    for (const bad of ["", 5, undefined, "a\nb"]) {
      const { controller } = controllerWith([], { idGenerator: () => bad as string });
      if (bad === undefined) await controller.createSession(open);
      else await expect(controller.createSession(open)).rejects.toMatchObject({ code: "invalid-argument" });
    }
    const { controller } = controllerWith([], { idGenerator: () => "same" });
    const session = await controller.createSession(open);
    await expect(session.thread.create()).rejects.toMatchObject({ code: "conflict" });
    expect(session.thread.getId()).toBe("same");
  });

  it("refuses a rule that could never apply", async () => {
    const { controller } = controllerWith([]);
    const session = await controller.createSession(open);
    for (const toolName of ["write(secret*", "(secret*)", "write secret", "write()", "__proto__", "a)b(c"])
      await expect(session.permissions.setForTool({ toolName, policy: "deny" })).rejects.toMatchObject({
        code: "invalid-argument",
      });
    await session.permissions.setForTool({ toolName: "write(f(x) *)", policy: "deny" });
    expect(session.permissions.getRules().tools).toEqual({ "write(f(x) *)": "deny" });
  });

  it("refuses an answer to a call that waits for permission, and permission for one that waits for an answer", async () => {
    const { controller, ran } = controllerWith([
      call("write", {}, "w1"),
      call("ask_user", { question: "Why?" }, "q1"),
      "Done.",
    ]);
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    const sent = session.sendMessage({ content: "Write" });
    await listener.until("tool_approval_required");
    await expect(
      session.respondToToolSuspension({ toolCallId: "w1", resumeData: "yes" }),
    ).rejects.toMatchObject({ code: "invalid-argument" });
    expect([ran, session.approval.isArmed()]).toEqual([[], true]);
    await session.respondToToolApproval({ decision: "approve" });
    await sent;
    for (const decision of ["approve", "decline", "always_allow_category"] as const)
      await expect(session.respondToToolApproval({ toolCallId: "q1", decision })).rejects.toMatchObject({
        code: expect.stringMatching(/^(?:invalid-argument|tool-input-invalid)$/),
      });
    expect(session.suspensions.has({ toolCallId: "q1" })).toBe(true);
    expect(session.getGrants()).toEqual({ categories: [], tools: [] });
  });
});

describe("a second answer to a call", () => {
  it("is `already-decided`, also when the run has ended, and is `not-found` for a call that never was", async () => {
    const { controller } = controllerWith([call("ask_user", { question: "Why?" }, "q1"), "Done."]);
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    await session.sendMessage({ content: "Ask" });
    await session.respondToToolSuspension({ toolCallId: "q1", resumeData: "So." });
    await listener.until("agent_end", 2);
    const again = (toolCallId: string) => session.respondToToolSuspension({ toolCallId, resumeData: "No." });
    await expect(again("q1")).rejects.toMatchObject({
      code: "already-decided",
      message: expect.stringContaining('"q1"'),
    });
    await expect(
      session.respondToToolApproval({ toolCallId: "q1", decision: "approve" }),
    ).rejects.toMatchObject({ code: "already-decided" });
    await expect(again("q2")).rejects.toMatchObject({ code: "not-found" });
  });
});

describe("a session that is closed", () => {
  const calls = (session: Session): Promise<unknown>[] => [
    session.sendMessage({ content: "Hi" }),
    session.steer({ content: "Hi" }),
    session.followUp({ content: "Hi" }),
    session.sendSignal({ type: "system-reminder", contents: "Hi" }),
    session.respondToToolApproval({ decision: "approve" }),
    session.respondToToolSuspension({ resumeData: "Hi" }),
    session.mode.switch({ modeId: "build" }),
    session.thread.create(),
  ];

  it("refuses to talk after it was deleted, can be opened again, and ends with its controller", async () => {
    const { controller, model } = controllerWith(() => "Hi.");
    const refused = { status: "rejected", reason: { code: "not-found" } };
    const deleted = await controller.createSession(open);
    await controller.deleteSession({ id: "s" });
    for (const one of await Promise.allSettled(calls(deleted))) expect(one).toMatchObject(refused);
    expect(model.calls).toHaveLength(0);
    const again = await controller.createSession(open);
    await again.sendMessage({ content: "Hi" });
    await controller.destroy();
    const late = [...calls(again), controller.createSession(open), controller.init()];
    for (const one of await Promise.allSettled(late)) expect(one).toMatchObject(refused);
    expect(model.calls).toHaveLength(1);
  });
});

describe("calls of a session that nobody waits for", () => {
  it("shows another resource at once, and makes later calls belong to it", async () => {
    const { controller } = controllerWith(["Hi."]);
    const { session } = controller;
    await controller.selectOrCreateThread();
    void controller.setResourceId({ resourceId: "project" });
    expect([session.identity.getResourceId(), session.thread.getId()]).toEqual(["project", null]);
    const thread = await controller.createThread();
    expect(thread.resourceId).toBe("project");
    expect(await session.thread.list()).toMatchObject([{ id: thread.id }]);
    expect([session.identity.getId(), session.identity.getOwnerId()]).toEqual(["loom", "loom"]);
  });

  it("aborts a message that is still on its way", async () => {
    const { controller } = controllerWith(({ index }) => `Answer ${index}.`);
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    const sent = session.sendMessage({ content: "Hi" });
    session.abort();
    await sent;
    expect(listener.all("agent_end")).toMatchObject([{ reason: "aborted" }]);
    await session.sendMessage({ content: "Again" });
    expect(listener.all("agent_end")).toMatchObject([{ reason: "aborted" }, { reason: "complete" }]);
  });

  it("tells the count after every follow-up, and keeps their order", async () => {
    const { controller, model } = controllerWith(({ index }) =>
      index === 0 ? call("write", {}, "w1") : "Done.",
    );
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    void session.sendMessage({ content: "Hi" });
    await listener.until("tool_approval_required");
    for (const content of ["one", "two", "three"]) void session.followUp({ content });
    await listener.until("follow_up_queued", 3);
    expect(listener.all("follow_up_queued").map(({ count }) => count)).toEqual([1, 2, 3]);
    await session.respondToToolApproval({ decision: "decline" });
    await listener.until("agent_end", 4);
    const asked = model.calls
      .at(-1)!
      .prompt.flatMap(({ role, content }) => (role === "user" ? [content] : []));
    expect(JSON.stringify(asked)).toMatch(/one.*two.*three/s);
  });

  it("queues nothing where no run is under way", async () => {
    const { controller } = controllerWith(() => "Done.");
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    await session.followUp({ content: "one" });
    await listener.until("agent_end");
    await session.sendMessage({ content: "two" });
    expect(listener.types).not.toContain("follow_up_queued");
  });

  it("creates one thread for two messages of a session without one", async () => {
    const { controller } = controllerWith(() => "Hi.");
    await Promise.all([controller.sendMessage({ content: "a" }), controller.sendMessage({ content: "b" })]);
    expect(await controller.session.thread.list()).toHaveLength(1);
  });
});

describe("what tools see of their session", () => {
  it("shows a change of the state at once, and the tags of the session", async () => {
    const seen: unknown[] = [];
    const look = createTool({
      id: "look",
      description: "Looks.",
      execute: async (_input, { requestContext }) => {
        const { getState, setState } = requestContext.get("controller") as AgentControllerRequestContext;
        seen.push(getState());
        await setState({ count: 1 });
        seen.push(getState());
      },
    });
    const { controller } = controllerWith([call("look", {}), "Done."], {
      tools: { look },
      initialState: { yolo: true },
    });
    const session = await controller.createSession({ ...open, tags: { projectPath: "/a" } });
    await session.sendMessage({ content: "Look" });
    expect(seen).toEqual([
      { yolo: true, projectPath: "/a" },
      { yolo: true, projectPath: "/a", count: 1 },
    ]);
  });

  it("has the signal of the run, which says when it was aborted", async () => {
    const begun = Promise.withResolvers<AbortSignal | undefined>();
    const wait = createTool({
      id: "wait",
      description: "Waits.",
      execute: (_input, { requestContext }) => {
        const { abortSignal } = requestContext.get("controller") as AgentControllerRequestContext;
        begun.resolve(abortSignal);
        return new Promise<void>((resolve) => abortSignal?.addEventListener("abort", () => resolve()));
      },
    });
    const { controller } = controllerWith([call("wait", {})], {
      tools: { wait },
      initialState: { yolo: true },
    });
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    const sent = session.sendMessage({ content: "Wait" });
    const signal = await begun.promise;
    expect(signal?.aborted).toBe(false);
    session.abort();
    await sent;
    expect(signal?.aborted).toBe(true);
    expect(listener.all("agent_end")).toMatchObject([{ reason: "aborted" }]);
  });
});
