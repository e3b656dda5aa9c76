import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { Agent } from "../agent/agent.ts";
import { ScriptedBrowser } from "../browser/__fixtures__/scripted-browser.ts";
import { AgentError } from "../errors.ts";
import { silentLogger } from "../logger.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";
import { call, controllerWith, Listener, systemOf, toolsOf } from "./__fixtures__/controller-with.ts";
import { AgentController } from "./agent-controller.ts";
import { FILES_STATE } from "./modified-files.ts";
import type { AgentControllerRequestContext } from "./request-context.ts";

const open = { id: "s", ownerId: "o" };
const tool = (id: string) => createTool({ id, description: id, execute: async () => id });

describe("a controller", () => {
  it("has no host before init(), and lists its modes as they were given", async () => {
    const modes = [{ id: "m", name: "M", metadata: { colour: "red" } }];
    const { controller } = controllerWith([], { modes });
    expect(controller.getMastra()).toBeUndefined();
    await Promise.all([controller.init(), controller.init()]);
    expect(controller.getMastra()).toBeDefined();
    expect(controller.listModes()).toEqual(modes);
    await controller.destroy();
    expect(controller.getMastra()).toBeUndefined();
  });

  it("tells thread, mode and threads of its own session, and the resources that have threads", async () => {
    const { controller } = controllerWith([]);
    const thread = await controller.createThread({ title: "One" });
    await controller.createSession({ ...open, resourceId: "another" });
    expect(await controller.getSession()).toMatchObject({
      currentThreadId: thread.id,
      currentModeId: "plan",
      threads: [{ id: thread.id, title: "One" }],
    });
    expect(await controller.getKnownResourceIds()).toEqual(["another", "loom"]);
    await controller.memory.renameThread({ title: "Two" });
    expect(await controller.memory.listThreads()).toMatchObject([{ title: "Two" }]);
    const other = await controller.memory.createThread();
    await controller.memory.switchThread({ threadId: thread.id });
    await controller.memory.deleteThread({ threadId: other.id });
    await expect(controller.memory.deleteThread({ threadId: other.id })).rejects.toMatchObject({
      code: "not-found",
    });
    void controller.setResourceId({ resourceId: "third" });
    expect([controller.session.identity.getResourceId(), controller.session.thread.getId()]).toEqual([
      "third",
      null,
    ]);
    expect(controller.session.identity.getId()).toBe("loom");
  });

  it("knows what models there are, who has a key, and how often they were used", async () => {
    const used: string[] = [];
    let asked = 0;
    const { controller } = controllerWith([], {
      modelAuthChecker: (provider) => (provider === "acme" ? true : undefined),
      modelUseCountProvider: () => ({ "acme/x": 3 }),
      modelUseCountTracker: (modelId) => {
        used.push(modelId);
        throw new Error("ignored");
      },
      customModelCatalogProvider: async () => {
        asked++;
        return [{ id: "acme/x", provider: "acme", modelName: "x", hasApiKey: true }];
      },
      gateways: [
        { id: "g", listModels: () => [{ id: "gate/y", provider: "gate", modelName: "y", hasApiKey: false }] },
        {
          id: "broken",
          listModels: () => {
            throw new Error("down");
          },
        },
      ],
    });
    expect(await controller.getCurrentModelAuthStatus()).toEqual({ hasAuth: true });
    await controller.session.model.switch({ modelId: "acme/x" });
    expect(used).toEqual(["acme/x"]);
    expect(await controller.getCurrentModelAuthStatus()).toEqual({ hasAuth: true });
    await controller.session.model.switch({ modelId: "anthropic/claude" });
    expect(await controller.getCurrentModelAuthStatus()).toMatchObject({ apiKeyEnvVar: "ANTHROPIC_API_KEY" });
    const models = await controller.listAvailableModels();
    expect(models.find(({ id }) => id === "acme/x")).toMatchObject({ useCount: 3, hasApiKey: true });
    expect(models.find(({ id }) => id === "gate/y")).toMatchObject({ useCount: 0, hasApiKey: false });
    expect(models.some(({ provider }) => provider === "openai")).toBe(true);
    await controller.listAvailableModels();
    expect(asked).toBe(1);
    controller.invalidateAvailableModelsCache();
    await controller.listAvailableModels();
    expect(asked).toBe(2);
  });

  it("gives its memory, nothing where there is none, and an error where its function gives none", async () => {
    const { controller, storage } = controllerWith([]);
    expect(await controller.getResolvedMemory()).toBeNull();
    const memory = new Memory({ storage });
    expect(await controllerWith([], { storage, memory: () => memory }).controller.getResolvedMemory()).toBe(
      memory,
    );
    const empty = controllerWith([], { memory: (() => undefined) as never }).controller;
    await expect(empty.getResolvedMemory()).rejects.toMatchObject({ code: "memory-required" });
    expect(await controller.getObservationalMemoryRecord()).toBeNull();
    await controller.loadOMProgress();
  });

  it("calls its heartbeats by either name, until they are removed", async () => {
    const did: string[] = [];
    const beat = (id: string) => ({
      id,
      intervalMs: 60_000,
      handler: () => void did.push(id),
      shutdown: async () => void did.push(`${id} down`),
    });
    const { controller } = controllerWith([], {
      heartbeatHandlers: [beat("a")],
      intervalHandlers: [{ ...beat("b"), immediate: false }],
    });
    await controller.init();
    await controller.registerHeartbeat(beat("c"));
    await controller.registerHeartbeat({ ...beat("c"), handler: () => void did.push("other") });
    await controller.removeHeartbeat({ id: "a" });
    await controller.removeHeartbeat({ id: "a" });
    await controller.stopHeartbeats();
    expect(did).toEqual(["a", "c", "c down", "other", "a down", "b down", "c down"]);
    await controller.destroy();
  });

  it("keeps nothing without a store: lists are empty and settings are not kept", async () => {
    const model = scriptedModel(["Hi.", "Again."]);
    const agent = new Agent({ name: "a", instructions: "", model }) as unknown as Agent;
    const controller = new AgentController({ id: "c", agent, modes: [{ id: "m" }], logger: silentLogger });
    const session = await controller.createSession(open);
    await session.sendMessage({ content: "Hello" });
    expect(session.thread.getId()).not.toBeNull();
    expect(await session.thread.list()).toEqual([]);
    expect(await session.thread.listActiveMessages()).toEqual([]);
    expect(await session.thread.firstUserMessage({ threadId: session.thread.getId()! })).toBeNull();
    expect(await controller.getKnownResourceIds()).toEqual([]);
    await session.thread.setSetting({ key: "colour", value: "red" });
    expect(await session.thread.getSetting({ key: "colour" })).toBeUndefined();
    await session.sendMessage({ content: "Still there?" });
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("Hello");
  });
});

describe("what a run of a session is made of", () => {
  it("has the agent's instructions, then the controller's, then the mode's", async () => {
    const { controller, model } = controllerWith(["Hi."], { instructions: "Be kind." });
    await (await controller.createSession(open)).sendMessage({ content: "Go" });
    expect(systemOf(model, 0)).toBe("Weave.\nBe kind.\nPlan first.");
  });

  it("has the tools of the mode in place of the agent's, or beside them, and only those that are available", async () => {
    const modes = [
      { id: "replaces", tools: { own: tool("own") } },
      { id: "adds", additionalTools: { own: tool("own") } },
      { id: "few", availableTools: ["write", "task_check"] },
      { id: "none", availableTools: [] },
    ];
    const { controller, model } = controllerWith(["1", "2", "3", "4"], {
      modes,
      disableBuiltinTools: ["ask_user", "submit_plan", "task_write", "task_update", "task_complete"],
    });
    const session = await controller.createSession(open);
    for (const { id } of modes) {
      await session.mode.switch({ modeId: id });
      await session.sendMessage({ content: "Go" });
    }
    expect(modes.map((_, index) => toolsOf(model, index))).toEqual([
      ["own", "task_check"],
      ["own", "task_check", "write"],
      ["task_check", "write"],
      [],
    ]);
  });

  it("has tools that a function makes of the request context, and the built-in ones also with a mode's agent", async () => {
    const model = scriptedModel(["Hi."]);
    const own = new Agent({ name: "own", instructions: "Own.", model, tools: { mine: tool("mine") } });
    const { controller } = controllerWith([], {
      modes: [{ id: "m", agent: own }],
      disableBuiltinTools: ["submit_plan"],
    });
    const session = await controller.createSession(open);
    await session.sendMessage({ content: "Go" });
    expect(systemOf(model, 0)).toBe("Own.");
    expect(toolsOf(model, 0)).toEqual([
      "ask_user",
      "mine",
      "task_check",
      "task_complete",
      "task_update",
      "task_write",
    ]);
  });

  it("has the browser of its session: its own, or the one that is made for it", async () => {
    const seen: unknown[] = [];
    const look = createTool({
      id: "look",
      description: "",
      execute: async (_, { requestContext }) => {
        seen.push((requestContext.get("controller") as AgentControllerRequestContext).browser);
      },
    });
    const made = { made: true };
    const { controller } = controllerWith(() => call("look", {}), {
      browser: () => made,
      tools: { look },
      initialState: { yolo: true },
      modes: [{ id: "m" }],
    });
    const mine = { mine: true };
    const first = await controller.createSession(open);
    const second = await controller.createSession({ ...open, id: "t", resourceId: "r2", browser: mine });
    expect([first.browser, second.browser]).toEqual([made, mine]);
    const stopped = Promise.all(
      [first, second].map(async (session) => {
        const listener = new Listener(session);
        const sent = session.sendMessage({ content: "Go" });
        await listener.until("tool_end");
        session.abort();
        await sent;
      }),
    );
    await stopped;
    expect(seen).toContain(made);
    expect(seen).toContain(mine);
  });

  it("offers the tools of its browser by category, and follows it on a lane", async () => {
    const browser = new ScriptedBrowser();
    const script = [call("browser_goto", { url: "https://a.test/" }), "Open.", "Still open."];
    const builtIn = { toolCategoryResolver: undefined as never };
    const { controller, model } = controllerWith(script, { browser, ...builtIn });
    const session = await controller.createSession(open);
    await session.permissions.setForCategory({ category: "read", policy: "allow" });
    await session.permissions.setForCategory({ category: "execute", policy: "deny" });
    await session.sendMessage({ content: "Go" });
    expect(toolsOf(model, 0)).toContain("browser_goto");
    expect(toolsOf(model, 0)).not.toContain("browser_click");
    expect(systemOf(model, 0)).toContain("You have a web browser.");
    expect(JSON.stringify(model.calls.at(-1)!.prompt)).toContain("URL: https://a.test/");
    expect(controller.getToolCategory({ toolName: "browser_evaluate" })).toBe("execute");
  });

  it("works without a browser that cannot be made, and says so", async () => {
    const { controller } = controllerWith(["Hi."], {
      browser: () => {
        throw new Error("no display");
      },
    });
    const session = await controller.createSession(open);
    expect(session.browser).toBeUndefined();
    const listener = new Listener(session);
    expect(listener.all("error")).toMatchObject([{ error: { message: "no display" } }]);
    await session.sendMessage({ content: "Go" });
    expect(await session.thread.listActiveMessages()).toHaveLength(2);
  });
});

describe("createSession", () => {
  it("makes one session for calls at the same time, and does not remember a failure", async () => {
    let fails = true;
    const { controller } = controllerWith([], {
      threadLock: {
        acquire: () => {
          if (fails) throw new Error("held");
        },
        release: () => {},
      },
    });
    await expect(controller.createSession(open)).rejects.toThrow("held");
    fails = false;
    const [a, b] = await Promise.all([controller.createSession(open), controller.createSession(open)]);
    expect(a).toBe(b);
    expect([a.identity.getId(), a.identity.getOwnerId(), a.identity.getResourceId()]).toEqual([
      "s",
      "o",
      "loom",
    ]);
  });

  it("does not give a session that goes by its folder the threads that others keep apart by more", async () => {
    const { controller, storage } = controllerWith([]);
    const tagged = await controller.createSession({ ...open, tags: { projectPath: "/a", branch: "x" } });
    const byFolder = controllerWith([], { storage, initialState: { projectPath: "/a" } }).controller;
    const session = await byFolder.createSession({ ...open, id: "t" });
    expect(session.thread.getId()).not.toBe(tagged.thread.getId());
    const again = await byFolder.createSession({ ...open, id: "u" });
    expect(again.thread.getId()).toBe(session.thread.getId());
    const same = await controller.createSession({ ...open, id: "v", tags: { projectPath: "/a" } });
    expect([session.thread.getId(), tagged.thread.getId()]).toContain(same.thread.getId());
  });
});

describe("a session", () => {
  it("says what helpers use: of the session, else of the controller", async () => {
    const { controller } = controllerWith([], {
      omConfig: { defaultObserverModelId: "acme/eye", defaultReflectionThreshold: 7 },
      resolveModel: (id) => `resolved/${id}`,
    });
    const { om, subagents } = await controller.createSession(open);
    expect([
      om.observer.modelId(),
      om.observer.threshold(),
      om.reflector.modelId(),
      om.reflector.threshold(),
    ]).toEqual(["acme/eye", null, null, 7]);
    expect(om.observer.resolvedModel()).toBe("resolved/acme/eye");
    await om.observer.switchModel({ modelId: "acme/other" });
    expect(om.observer.modelId()).toBe("acme/other");
    expect(subagents.model.get()).toBeNull();
  });

  it("says what runs, what is granted and what would become of a call", async () => {
    const { controller } = controllerWith([call("write", { path: "a" }, "w1"), "Done."]);
    const session = await controller.createSession({ ...open, tags: { team: "t" } });
    expect(session.resolveToolApproval("write")).toBe("ask");
    expect([session.stream.isOpen(), session.stream.isActive(), session.run.isRunning()]).toEqual([
      true,
      false,
      false,
    ]);
    expect([session.run.getTraceId(), session.getCurrentRunId(), session.approval.isArmed()]).toEqual([
      null,
      null,
      false,
    ]);
    const listener = new Listener(session);
    const sent = session.sendMessage({ content: "Go" });
    await listener.until("tool_approval_required");
    expect([session.approval.isArmed(), session.run.isRunning()]).toEqual([true, true]);
    expect(session.stream.activeRunId()).toBe(session.run.getRunId());
    await session.respondToToolApproval({ decision: "always_allow_category" });
    await sent;
    expect([session.hasCategoryGrant("edit"), session.hasToolGrant("write")]).toEqual([true, false]);
    expect(session.resolveToolApproval("write")).toBe("allow");
    await session.revokeCategory("edit");
    expect(session.resolveToolApproval("write")).toBe("ask");
    expect(session.getTags()).toEqual({ team: "t" });
    expect(controller.getToolCategory({ toolName: "write" })).toBe("edit");
  });

  it("shows the files that edit tools changed, and none of a call that failed", async () => {
    const broken = createTool({
      id: "write_badly",
      description: "",
      execute: async () => {
        throw new Error("disk full");
      },
    });
    const { controller, storage } = controllerWith(
      [
        {
          toolCalls: [
            { toolName: "write", input: { path: "a.txt" } },
            { toolName: "write_badly", input: { path: "b.txt" } },
          ],
        },
        call("write", { file_path: "c.txt" }),
        call("write", { path: "a.txt" }),
        "Done.",
      ],
      {
        tools: { write_badly: broken },
        initialState: { yolo: true },
        toolCategoryResolver: (name) => (name.startsWith("write") ? "edit" : null),
      },
    );
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    await session.sendMessage({ content: "Go" });
    const { modifiedFiles } = session.displayState.get();
    expect([...modifiedFiles.keys()]).toEqual(["a.txt", "c.txt"]);
    expect(modifiedFiles.get("a.txt")).toMatchObject({
      operations: ["write"],
      firstModified: expect.any(Date),
    });
    expect(listener.all("files_modified")).toHaveLength(2);
    const elsewhere = controllerWith([], { storage }).controller;
    const again = await elsewhere.createSession(open);
    expect(again.displayState.get()).toEqual(session.displayState.get());
    expect(again.displayState.get().modifiedFiles).toEqual(modifiedFiles);
  });

  it("shows no files of a step that could not be stored", async () => {
    class FullDisk extends InMemoryStorage {
      override async commit(...[writes, options]: Parameters<InMemoryStorage["commit"]>) {
        if (writes.some((write) => write.op === "insert" && write.row["type"] === FILES_STATE))
          throw new AgentError("storage-failed", "The disk is full.");
        return super.commit(writes, options);
      }
    }
    const storage = new FullDisk();
    const { controller } = controllerWith([call("write", { path: "a.txt" }), "Done."], {
      storage,
      initialState: { yolo: true },
    });
    const session = await controller.createSession(open);
    await session.sendMessage({ content: "Go" });
    const elsewhere = await controllerWith([], { storage }).controller.createSession(open);
    expect(session.displayState.get()).toEqual(elsewhere.displayState.get());
    expect(session.displayState.get().modifiedFiles).toEqual(new Map());
  });

  it("leaves a call waiting where the answer does not fit, and says why", async () => {
    const { controller } = controllerWith([call("submit_plan", { plan: "Weave" }, "p1"), "Thanks."]);
    const session = await controller.createSession(open);
    await session.sendMessage({ content: "Go" });
    await expect(
      session.respondToToolSuspension({ resumeData: { action: "perhaps" } }),
    ).rejects.toMatchObject({
      code: "tool-input-invalid",
      message: expect.stringContaining("action"),
    });
    expect(session.suspensions.get({ toolCallId: "p1" })).toMatchObject({ toolName: "submit_plan" });
    expect(session.mode.get()).toBe("plan");
    await session.respondToToolSuspension({ resumeData: { action: "rejected" } });
  });

  it("refuses a mode and a thread that do not exist, and stays where it is", async () => {
    const { controller } = controllerWith([]);
    const session = await controller.createSession(open);
    const { version, threadId } = session.core.row;
    await expect(session.mode.switch({ modeId: "nowhere" })).rejects.toMatchObject({
      code: "not-found",
      message: expect.stringMatching(/"nowhere".*plan, build/),
    });
    await expect(session.model.switch({ modelId: "a/b", modeId: "nowhere" })).rejects.toMatchObject({
      code: "not-found",
    });
    await expect(session.thread.switch({ threadId: "nowhere" })).rejects.toMatchObject({ code: "not-found" });
    await expect(session.thread.switch({ threadId: "a\0b" })).rejects.toMatchObject({
      code: "invalid-argument",
    });
    await expect(controller.createSession({ id: "a\0b", ownerId: "o" })).rejects.toMatchObject({
      code: "invalid-argument",
    });
    expect(session.core.row).toMatchObject({ version, threadId });
  });
});
