import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Agent } from "../agent/agent.ts";
import { silentLogger } from "../logger.ts";
import { Mastra } from "../mastra/mastra.ts";
import { AgentController } from "./agent-controller.ts";
import type { AgentControllerConfig } from "./config.ts";
import { controllerWith } from "./__fixtures__/controller-with.ts";

const agent = new Agent({ name: "a", instructions: "", model: "openai/gpt-5.5" }) as unknown as Agent;
const make = (change: object) =>
  new AgentController({ id: "c", agent, modes: [{ id: "m" }], ...change } as AgentControllerConfig);
const invalid = (words: RegExp) =>
  expect.objectContaining({ code: "invalid-argument", message: expect.stringMatching(words) });

describe("new AgentController", () => {
  it.each([
    [{ id: "" }, /id must be/],
    [{ id: 5 }, /got 5/],
    [{ modes: [] }, /at least one mode/],
    [{ modes: undefined }, /at least one mode/],
    [{ modes: [{ id: "m" }, { id: "m" }] }, /Two modes have the id "m"/],
    [{ modes: [{ id: "m", transitionsTo: "m" }] }, /itself/],
    [{ modes: [{ id: "m", transitionsTo: "n" }] }, /"n".*not a mode.*Modes: m/],
    [{ modes: [{ id: "m", tools: {}, additionalTools: {} }] }, /Give one/],
    [{ modes: [{ id: "m", availableTools: "all" }] }, /list of tool names, got "all"/],
    [{ modes: [{ id: "a\0" }] }, /mode\.id/],
    [{ agent: undefined }, /no agent and no model/],
    [{ defaultModeId: "x" }, /defaultModeId "x".*Modes: m/],
    [{ resolveModel: "x" }, /resolveModel must be a function/],
    [{ disableBuiltinTools: ["ask"] }, /"ask"/],
    [{ threadLock: {} }, /acquire/],
    [{ permissionRules: { categories: { all: "allow" } } }, /got "all"/],
    [{ permissionRules: { tools: { write: "yes" } } }, /got "yes"/],
    [{ permissionRules: { tools: { "write(": "allow" } } }, /name\(pattern\), got "write\("/],
    [{ heartbeatHandlers: [{ id: "h", intervalMs: 0, handler: () => {} }] }, /intervalMs.*got 0/],
    [{ heartbeatHandlers: [{ id: "h", intervalMs: 5 }] }, /heartbeat must be/],
    [{ subagents: [{ id: "x", description: "" }] }, /needs a description/],
    [
      {
        subagents: [
          { id: "x", description: "d", allowedAgentControllerTools: [], allowedControllerTools: ["a"] },
        ],
      },
      /two names of one option/,
    ],
    [{ initialState: { at: new Date(0) } }, /"at"/],
    [{ initialState: { f: () => {} } }, /"f"/],
    [{ initialState: { big: "x".repeat(300_000) } }, /limit is 262144/],
  ])("refuses %j", (change, words) => {
    expect(() => make(change)).toThrow(expect.objectContaining({ message: expect.stringMatching(words) }));
  });

  it("finds the default mode by name, by mark, or takes the first", () => {
    const modes = [{ id: "a" }, { id: "b", metadata: { default: true } }, { id: "c", default: true }];
    expect(make({ modes }).session.mode.get()).toBe("b");
    expect(make({ modes, defaultModeId: "c" }).session.mode.get()).toBe("c");
    expect(make({ modes: [modes[0], modes[2]] }).session.mode.get()).toBe("c");
    expect(make({ modes: [{ id: "a" }, { id: "z" }] }).session.mode.get()).toBe("a");
    expect(make({ modes: [{ id: "a", defaultModelId: "x/y" }], agent: undefined }).session.model.get()).toBe(
      "x/y",
    );
  });

  it("begins with the defaults of the schema, under the initial state, and seeds the model", () => {
    const stateSchema = z.object({
      n: z.number().default(1),
      s: z.string().default("a"),
      currentModelId: z.string().optional(),
    });
    const { session } = new AgentController({
      id: "c",
      agent,
      modes: [{ id: "m" }],
      stateSchema,
      initialState: { s: "b", currentModelId: "acme/x" },
    });
    const state: { n: number; s: string } = session.state.get();
    expect(state).toEqual({ n: 1, s: "b", currentModelId: "acme/x" });
    expect(session.model.get()).toBe("acme/x");
  });

  it("refuses an initial state that the schema does not allow, and one that is only a part is fine", async () => {
    const stateSchema = z.object({ n: z.number(), path: z.string() });
    const begin = (initialState: object, schema: object = stateSchema) =>
      controllerWith([], { stateSchema: schema as typeof stateSchema, initialState });
    expect(() => begin({ n: "five" })).toThrow(invalid(/initialState.*"five".*stateSchema: n: /));
    const { controller } = begin({ n: 5 });
    const session = await controller.createSession({ id: "s", ownerId: "o" });
    expect(session.state.get()).toEqual({ n: 5 });
  });

  it("refuses it with the first use where the schema needs time", async () => {
    const plain = {
      type: "object",
      properties: { n: { type: "number" }, path: { type: "string" } },
      required: ["path"],
    } as const;
    const { controller, storage } = controllerWith([], { stateSchema: plain, initialState: { n: "five" } });
    const words = invalid(/initialState.*"five".*stateSchema: n: /);
    await expect(controller.createSession({ id: "s", ownerId: "o" })).rejects.toEqual(words);
    await expect(controller.init()).rejects.toEqual(words);
    expect(await controller.findSession("s")).toBeNull();
    const partial = controllerWith([], { storage, stateSchema: plain, initialState: { n: 5 } }).controller;
    await partial.createSession({ id: "s", ownerId: "o" });
  });
});

describe("permissionRules", () => {
  it("are the rules that a new session begins with, and the session's own from then on", async () => {
    const permissionRules = { categories: { read: "allow" as const }, tools: { look: "deny" as const } };
    const { controller } = controllerWith([], { permissionRules, toolCategoryResolver: () => "read" });
    const session = await controller.createSession({ id: "s", ownerId: "o" });
    expect([session.resolveToolApproval("find"), session.resolveToolApproval("look")]).toEqual([
      "allow",
      "deny",
    ]);
    await session.permissions.setForCategory({ category: "read", policy: "ask" });
    expect(session.permissions.getRules()).toEqual({ categories: { read: "ask" }, tools: { look: "deny" } });
    const other = await controller.createSession({ id: "t", ownerId: "o" });
    expect(other.permissions.getRules()).toEqual(permissionRules);
  });
});

describe("bad input of a session", () => {
  it("is refused with its value, and changes nothing", async () => {
    const { controller } = controllerWith([], { stateSchema: z.object({ n: z.number().optional() }) });
    const session = await controller.createSession({ id: "s", ownerId: "o" });
    const version = session.core.row.version;
    const refused: [() => unknown, RegExp][] = [
      [() => session.state.set({ n: "x" }), /"x".*does not match/],
      [() => session.state.set({ n: 1n }), /"n"/],
      [() => session.state.set([] as never), /must be an object/],
      [() => session.state.update(() => ({ updates: { n: "y" } })), /"y"/],
      [() => session.permissions.setForCategory({ category: "all" as never, policy: "allow" }), /got "all"/],
      [() => session.permissions.setForCategory({ category: "edit", policy: "yes" as never }), /got "yes"/],
      [() => session.permissions.setForTool({ toolName: "", policy: "allow" }), /toolName/],
      [() => session.grantCategory("x" as never), /got "x"/],
      [() => session.model.switch({ modelId: "" }), /modelId/],
      [() => session.model.switch({ modelId: "a/b", scope: "all" as never }), /got "all"/],
      [() => session.respondToToolApproval({ decision: "maybe" as never }), /got "maybe"/],
      [() => session.respondToToolSuspension({ resumeData: undefined }), /resumeData is missing/],
      [() => session.sendMessage({ content: 5 as never }), /content must be a string, got 5/],
      [() => session.sendMessage({ content: "x", files: [{ data: 1 }] as never }), /A file must be/],
      [() => session.thread.listMessages({ threadId: session.thread.getId()!, limit: -1 }), /got -1/],
      [() => controller.createSession({ id: "t", ownerId: "" }), /ownerId/],
      [() => controller.createSession({ id: "t", ownerId: "o", tags: { a: 1 } as never }), /tags/],
      [() => controller.createSession({} as never), /id must be/],
    ];
    for (const [call, words] of refused) await expect((async () => call())()).rejects.toEqual(invalid(words));
    expect(session.core.row.version).toBe(version);
    const big = { data: "x".repeat(600_000), mediaType: "text/plain", filename: "big.txt" };
    await expect(session.sendMessage({ content: "x", files: [big] })).rejects.toMatchObject({
      code: "limit-exceeded",
    });
    expect(await session.thread.listActiveMessages()).toEqual([]);
  });

  it("is `ambiguous` where several calls wait and none is named", async () => {
    const question = (id: string) => ({ toolName: "ask_user", input: { question: id }, toolCallId: id });
    const { controller } = controllerWith([{ toolCalls: [question("a"), question("b")] }, "Thanks."]);
    const session = await controller.createSession({ id: "s", ownerId: "o" });
    await session.sendMessage({ content: "Go" });
    await expect(session.respondToToolSuspension({ resumeData: "x" })).rejects.toMatchObject({
      code: "ambiguous",
    });
    await session.respondToToolSuspension({ resumeData: "x", toolCallId: "a" });
    await expect(session.respondToToolSuspension({ resumeData: "y", toolCallId: "a" })).rejects.toThrow();
  });
});

describe("new Mastra({ agentControllers })", () => {
  it("lends its store, finds controllers by name and id, and takes up their runs", async () => {
    const { controller, storage } = controllerWith(["Hi."]);
    void storage;
    const mastra = new Mastra({ agentControllers: { main: controller }, logger: silentLogger });
    expect(mastra.getAgentController("main")).toBe(controller);
    expect((mastra as Mastra).getAgentController("loom")).toBe(controller);
    expect(mastra.listAgentControllers()).toEqual({ main: controller });
    expect(() => (mastra as Mastra).getAgentController("none")).toThrow(
      /There is no agent controller "none"/,
    );
    expect(controller.getMastra()).toBe(mastra);
    await controller.init();
    await controller.sendMessage({ content: "Hello" });
    await mastra.close();
  });

  it("refuses an agent with the id of a controller", () => {
    const { controller } = controllerWith([]);
    const twin = new Agent({ name: "loom", instructions: "", model: "openai/gpt-5.5" });
    expect(() => new Mastra({ agents: { twin }, agentControllers: { main: controller } })).toThrow(
      /same id "loom"/,
    );
  });

  it("accepts a controller later, unless its name or id is taken", async () => {
    const { controller } = controllerWith(["Hi."]);
    const agent = new Agent({ name: "weaver", instructions: "", model: "openai/gpt-5.5" });
    const mastra: Mastra = new Mastra({ agents: { weaver: agent }, logger: silentLogger });
    await expect(mastra.addAgentController(controller, "weaver")).rejects.toThrow(/both called "weaver"/);
    expect(mastra.listAgentControllers()).toEqual({});
    await mastra.addAgentController(controller);
    expect(mastra.getAgentController("loom")).toBe(controller);
    expect(controller.getMastra()).toBe(mastra);
    const session = await controller.createSession({ id: "s", ownerId: "o" });
    await session.sendMessage({ content: "Hello" });
    await mastra.close();
    await expect(controller.createSession({ id: "s", ownerId: "o" })).rejects.toThrow(/destroyed/);
  });
});
