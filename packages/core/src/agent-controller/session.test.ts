import { describe, expect, it } from "vitest";
import { call, controllerWith, Listener, systemOf, toolsOf } from "./__fixtures__/controller-with.ts";

const open = { id: "s", ownerId: "o" };

describe("a session", () => {
  it("answers a message in its mode, with its tools, and remembers the conversation", async () => {
    const { controller, model } = controllerWith(["Hello.", "Again."]);
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    await session.sendMessage({ content: "Hi" });
    expect(systemOf(model, 0)).toBe("Weave.\nPlan first.");
    expect(toolsOf(model, 0)).toEqual([
      "ask_user",
      "submit_plan",
      "task_check",
      "task_complete",
      "task_update",
      "task_write",
      "write",
    ]);
    expect(listener.types).toEqual([
      "agent_start",
      "message_start",
      "message_end",
      "message_start",
      "text",
      "message_update",
      "usage_update",
      "message_end",
      "agent_end",
    ]);
    const [user, assistant] = listener.all("message_end").map(({ message }) => message);
    expect(user).toMatchObject({ role: "user", content: [{ type: "text", text: "Hi" }] });
    expect(assistant).toMatchObject({
      role: "assistant",
      stopReason: "complete",
      content: [{ type: "text", text: "Hello." }],
    });
    await session.sendMessage({ content: "And?" });
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("Hello.");
    const stored = await session.thread.listActiveMessages();
    expect(stored.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(stored[1]!.id).toBe(assistant!.id);
  });

  it("asks before a tool runs, says why, and runs it when it is approved", async () => {
    const { controller, ran } = controllerWith([call("write", { path: "a" }, "w1"), "Done."]);
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    const sent = session.sendMessage({ content: "Write" });
    const asked = await listener.until("tool_approval_required");
    expect(asked).toMatchObject({ toolCallId: "w1", toolName: "write", reason: 'no rule for "write"' });
    expect(session.displayState.get().pendingApproval).toMatchObject({ toolCallId: "w1" });
    expect(session.approval.isArmed()).toBe(true);
    expect(ran).toEqual([]);
    expect(listener.types).not.toContain("agent_end");
    await session.respondToToolApproval({ decision: "approve" });
    await sent;
    expect(ran).toHaveLength(1);
    expect(listener.all("agent_start")).toHaveLength(1);
    expect(listener.all("tool_decided")).toHaveLength(1);
    expect(listener.all("tool_end")).toMatchObject([{ toolCallId: "w1", result: "written", isError: false }]);
    expect(session.displayState.get().pendingApproval).toBeNull();
  });

  it("grants a category together with the decision, and does not ask again", async () => {
    const { controller, ran } = controllerWith([call("write", {}, "w1"), call("write", {}, "w2"), "Done."]);
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    const sent = session.sendMessage({ content: "Write" });
    await listener.until("tool_approval_required");
    await session.respondToToolApproval({ decision: "always_allow_category" });
    await sent;
    expect(ran).toHaveLength(2);
    expect(session.getGrants()).toEqual({ categories: ["edit"], tools: [] });
    expect(["write", "other", "ask_user"].map((name) => session.resolveToolApproval(name))).toEqual([
      "allow",
      "ask",
      "allow",
    ]);
    await session.revokeCategory("edit");
    expect(session.hasCategoryGrant("edit")).toBe(false);
  });

  it("never runs what a rule denies, and does not offer it", async () => {
    const { controller, ran, model } = controllerWith([call("write", {}), "Sorry."]);
    const session = await controller.createSession(open);
    await session.permissions.setForTool({ toolName: "write(secret*)", policy: "deny" });
    await session.permissions.setForTool({ toolName: "write", policy: "deny" });
    await session.state.set({ yolo: true });
    await session.sendMessage({ content: "Write" });
    expect(ran).toEqual([]);
    expect(toolsOf(model, 0)).not.toContain("write");
  });

  it("refuses a denied call without asking, and the model hears why", async () => {
    const { controller, ran, model } = controllerWith([call("write", { path: "secret/a" }), "Sorry."]);
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    await session.permissions.setForTool({ toolName: "write(secret*)", policy: "deny" });
    await session.sendMessage({ content: "Write" });
    expect(ran).toEqual([]);
    expect(listener.types).not.toContain("tool_approval_required");
    expect(listener.all("tool_end")).toMatchObject([{ isError: true }]);
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("write(secret*)");
  });

  it("takes a message instead of an answer as a no, and reads it next", async () => {
    const { controller, ran, model } = controllerWith([call("write", {}, "w1"), "All right."]);
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    const sent = session.sendMessage({ content: "Write" });
    await listener.until("tool_approval_required");
    await session.sendMessage({ content: "Rather read." });
    await sent;
    expect(ran).toEqual([]);
    const prompt = JSON.stringify(model.calls[1]!.prompt);
    expect(prompt).toContain("interrupted_by_user_message");
    expect(prompt).toContain("Rather read.");
  });

  it("waits for the answer to a question, as a run that has ended", async () => {
    const { controller, model } = controllerWith([
      call(
        "ask_user",
        { question: "Which?", options: [{ label: "A" }, { label: "B" }], selectionMode: "multi_select" },
        "q",
      ),
      "Both then.",
    ]);
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    await session.sendMessage({ content: "Go" });
    expect(listener.all("tool_suspended")).toMatchObject([
      {
        toolCallId: "q",
        toolName: "ask_user",
        suspendPayload: { question: "Which?", selectionMode: "multi_select" },
      },
    ]);
    expect(listener.all("agent_end")).toMatchObject([{ reason: "suspended" }]);
    expect(session.suspensions.hasPending()).toBe(true);
    await expect(session.respondToToolSuspension({ resumeData: 5 })).rejects.toMatchObject({
      code: "tool-input-invalid",
    });
    expect(session.suspensions.has({ toolCallId: "q" })).toBe(true);
    await session.respondToToolSuspension({ resumeData: ["A", "B"] });
    await listener.until("agent_end", 2);
    expect(listener.types.filter((type) => type === "agent_start")).toHaveLength(2);
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("The user answered: A, B");
    expect(session.suspensions.hasPending()).toBe(false);
    await expect(session.respondToToolSuspension({ resumeData: "C", toolCallId: "q" })).rejects.toMatchObject(
      {
        code: "already-decided",
      },
    );
  });

  it("goes on in the next mode when a plan is approved, in the same run", async () => {
    const { controller, model } = controllerWith([
      call("submit_plan", { plan: "1. Weave" }, "p"),
      call("submit_plan", { plan: "2. Weave better" }, "p2"),
      "Building.",
    ]);
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    await session.sendMessage({ content: "Plan" });
    const { runId } = listener.all("agent_end")[0]!;
    await session.respondToToolSuspension({ resumeData: { action: "rejected", feedback: "Better!" } });
    await listener.until("agent_end", 2);
    expect(systemOf(model, 1)).toBe("Weave.\nPlan first.");
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("Better!");
    expect(session.mode.get()).toBe("plan");
    await session.respondToToolSuspension({ resumeData: { action: "approved" } });
    const end = await listener.until("agent_end", 3);
    expect(end).toMatchObject({ runId, reason: "complete" });
    expect(systemOf(model, 2)).toBe("Weave.\nBuild now.");
    expect(session.mode.get()).toBe("build");
    expect(listener.all("mode_changed")).toMatchObject([{ modeId: "build", previousModeId: "plan" }]);
    expect((await session.thread.getById({ threadId: session.thread.getId()! }))!.metadata).toMatchObject({
      currentModeId: "build",
    });
  });

  it("shows the model a task list once, also when a task tool is refused or changes nothing", async () => {
    const tasks = [{ content: "Warp", status: "pending", activeForm: "Warping" }];
    const { controller } = controllerWith([
      call("task_write", { tasks }),
      call("task_complete", { id: "none" }),
      call("task_write", { tasks }),
      "Done.",
    ]);
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    await session.sendMessage({ content: "Go" });
    expect(listener.all("state_signal")).toHaveLength(1);
  });

  it("keeps a task list with the thread, shows it to the model, and counts tokens", async () => {
    const tasks = [{ content: "Warp", status: "in_progress", activeForm: "Warping" }];
    const { controller, model } = controllerWith([
      call("task_write", { tasks }),
      call("task_complete", { id: "task_warp" }),
      "Done.",
    ]);
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    await session.sendMessage({ content: "Go" });
    expect(listener.all("task_updated").map((event) => event.tasks[0]!.status)).toEqual([
      "in_progress",
      "completed",
    ]);
    expect(session.displayState.get().tasks).toMatchObject([{ id: "task_warp", status: "completed" }]);
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("<tasks");
    const usage = listener.all("usage_update").reduce((sum, event) => sum + event.usage.totalTokens, 0);
    expect(usage).toBeGreaterThan(0);
    expect(session.getTokenUsage().totalTokens).toBe(usage);
  });

  it("steers what goes on, queues what comes next, and keeps the queue", async () => {
    const { controller, model } = controllerWith(async ({ index }) =>
      index === 0 ? { ...call("task_check", {}), delayMs: 30 } : `Answer ${index}.`,
    );
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    const sent = session.sendMessage({ content: "One" });
    await listener.until("agent_start");
    await session.followUp({ content: "Three" });
    expect(session.followUps.count()).toBe(1);
    await session.steer({ content: "Two" });
    expect((await session.followUps.list()).map(({ content }) => content)).toEqual([
      [{ type: "text", text: "Three" }],
    ]);
    await sent;
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("Two");
    await listener.until("agent_end", 2);
    expect(JSON.stringify(model.calls.at(-1)!.prompt)).toContain("Three");
    await expect.poll(() => session.followUps.isEmpty()).toBe(true);
    expect(listener.all("follow_up_queued")).toMatchObject([{ count: 1 }]);
  });

  it("lets queued messages be changed, taken back, and read at once", async () => {
    const { controller, model } = controllerWith(async ({ index }) =>
      index === 0 ? { ...call("task_check", {}), delayMs: 60 } : `Answer ${index}.`,
    );
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    const sent = session.sendMessage({ content: "One" });
    await listener.until("agent_start");
    for (const content of ["a", "b", "c"]) await session.followUp({ content });
    const [a, b] = await session.followUps.list();
    await session.followUps.remove({ id: a!.id });
    await session.followUps.steer(b!.id);
    const [c] = await session.followUps.list();
    await session.followUps.edit({ id: c!.id, content: "changed" });
    await sent;
    await listener.until("agent_end", 2);
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain('"b"');
    const last = JSON.stringify(model.calls.at(-1)!.prompt);
    expect(last).toContain("changed");
    expect(last).not.toContain('"a"');
    expect(model.calls).toHaveLength(3);
  });

  it("aborts what goes on, also from inside a listener, and answers the next message", async () => {
    const { controller } = controllerWith(({ index }) => (index === 0 ? call("write", {}, "w1") : "Next."));
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    session.subscribe((event) => {
      if (event.type === "tool_approval_required") {
        session.abort();
        session.abort();
      }
    });
    await session.sendMessage({ content: "Go" });
    expect(listener.all("agent_end")).toMatchObject([{ reason: "aborted" }]);
    expect(listener.types).not.toContain("error");
    expect(session.displayState.get()).toMatchObject({ pendingApproval: null, isRunning: false });
    await session.sendMessage({ content: "Again" });
    expect(listener.all("agent_end")).toMatchObject([{ reason: "aborted" }, { reason: "complete" }]);
  });

  it("uses the model and the mode that were selected, from the next run on", async () => {
    const { controller, model } = controllerWith(["One.", "Two."]);
    const used: string[] = [];
    const tracked: string[] = [];
    const other = controllerWith(["One.", "Two."], {
      resolveModel: (id) => {
        used.push(id);
        return model as never;
      },
      modelUseCountTracker: (id) => tracked.push(id),
    });
    void controller;
    const session = await other.controller.createSession(open);
    await session.model.switch({ modelId: "acme/big" });
    expect([session.model.get(), session.model.displayName(), session.model.hasSelection()]).toEqual([
      "acme/big",
      "big",
      true,
    ]);
    await session.sendMessage({ content: "Hi" });
    await session.mode.switch({ modeId: "build" });
    await session.model.switch({ modelId: "acme/small" });
    await session.mode.switch({ modeId: "plan" });
    expect(session.model.get()).toBe("acme/big");
    await session.mode.switch({ modeId: "build" });
    expect(session.model.get()).toBe("acme/small");
    await session.sendMessage({ content: "Hi" });
    expect(used).toEqual(["acme/big", "acme/small"]);
    expect(tracked).toEqual(["acme/big", "acme/small"]);
    expect(systemOf(model, 1)).toBe("Weave.\nBuild now.");
    await expect(session.mode.switch({ modeId: "none" })).rejects.toMatchObject({ code: "not-found" });
    const listener = new Listener(session);
    await session.model.switch({ modelId: "acme/any", scope: "global" });
    await session.model.switch({ modelId: "acme/here" });
    expect(listener.all("model_changed").map(({ scope }) => scope)).toEqual(["global", "thread"]);
  });

  it("rejects a message whose run cannot start, and shows the error", async () => {
    const { controller } = controllerWith(["x"], {
      resolveModel: () => {
        throw new Error("No such model.");
      },
    });
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    await session.model.switch({ modelId: "acme/none" });
    await expect(session.sendMessage({ content: "Hi" })).rejects.toThrow();
    expect(listener.all("agent_end")).toMatchObject([{ reason: "error" }]);
    expect(listener.all("error")).toHaveLength(1);
  });

  it("puts signals and notifications into the conversation, and wakes it only where that is wanted", async () => {
    const { controller, model } = controllerWith(["Seen."]);
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    const ifIdle = { behavior: "persist" } as const;
    await session.sendSignal({ type: "system-reminder", contents: "Be brief." }, { ifIdle });
    expect(await listener.until("system_reminder")).toMatchObject({ message: "Be brief." });
    expect(model.calls).toHaveLength(0);
    const notification = { source: "ci", kind: "failed", priority: "high", summary: "Red." } as const;
    await session.sendNotificationSignal(notification);
    expect(await listener.until("notification")).toMatchObject({ source: "ci" });
    await listener.until("agent_end");
    expect(JSON.stringify(model.calls[0]!.prompt)).toContain("Be brief.");
  });

  it("does not become an unhandled rejection where nobody waits", async () => {
    const { controller } = controllerWith(["x"]);
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    void session.respondToToolApproval({ decision: "approve" });
    void session.respondToToolSuspension({ resumeData: "x", toolCallId: "none" });
    void session.steer({ content: 5 as never });
    void session.grantCategory("none" as never);
    void session.grantTool("");
    void session.permissions.setForCategory({ category: "none" as never, policy: "allow" });
    void session.permissions.setForTool({ toolName: "", policy: "allow" });
    void session.followUps.steer("none");
    await listener.until("error", 8);
    expect(
      listener
        .all("error")
        .map(({ error }) => (error as { code?: string }).code)
        .toSorted((a = "", b = "") => a.localeCompare(b)),
    ).toEqual([...Array<string>(5).fill("invalid-argument"), "not-found", "not-found", "not-found"]);
  });
});
