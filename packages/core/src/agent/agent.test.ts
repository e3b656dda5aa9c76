import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { silentLogger } from "../logger.ts";
import { RequestContext, RESOURCE_ID_KEY } from "../request-context/request-context.ts";
import { createTool } from "../tool/tool.ts";
import { agentWith, bareMemory } from "./__fixtures__/agent-with.ts";
import { Agent } from "./agent.ts";

const systemOf = (model: ReturnType<typeof scriptedModel>) =>
  model.calls[0]!.prompt.filter((message) => message.role === "system");

describe("Agent", () => {
  it("takes its id from its name and says what is missing", () => {
    expect(agentWith([]).agent.id).toBe("tester");
    expect(agentWith([], { id: "own" }).agent.id).toBe("own");
    expect(() => new Agent({ name: "", instructions: "", model: "a/b" })).toThrow(
      expect.objectContaining({ code: "invalid-argument" }),
    );
    expect(() => new Agent({ name: "x", instructions: "", model: undefined as never })).toThrow(
      /needs a model/,
    );
    expect(() => new Agent({ name: 1n as never, instructions: "", model: "a/b" })).toThrow(
      expect.objectContaining({ code: "invalid-argument" }),
    );
  });

  it.each([
    ["a string", "One.", ["One."]],
    ["strings", ["One.", "Two."], ["One.", "Two."]],
    ["a system message", { role: "system", content: "One." }, ["One."]],
    ["a mixture", ["One.", { role: "system", content: "Two." }], ["One.", "Two."]],
    ["a function", () => "One.", ["One."]],
    ["an async function", async () => ["One.", "Two."], ["One.", "Two."]],
  ])("takes instructions as %s", async (_, instructions, expected) => {
    const { agent, model } = agentWith(["ok"], { instructions: instructions as never });
    await agent.generate("hi");
    expect(systemOf(model).map((message) => message.content)).toEqual(expected);
  });

  it("keeps provider options on their own system message", async () => {
    const providerOptions = { anthropic: { cacheControl: { type: "ephemeral" } } };
    const { agent, model } = agentWith(["ok"], {
      instructions: ["a", { role: "system", content: "b", providerOptions }],
    });
    await agent.generate("hi");
    expect(systemOf(model)).toEqual([
      { role: "system", content: "a" },
      { role: "system", content: "b", providerOptions },
    ]);
  });

  it("refuses instructions that are none, even ones that cannot be shown", async () => {
    for (const wrong of [5, { role: "user", content: "x" }, [{ role: "system", content: 1n }]]) {
      await expect(
        agentWith(["ok"], { instructions: wrong as never }).agent.generate("hi"),
      ).rejects.toMatchObject({ code: "invalid-argument" });
    }
  });

  it("replaces instructions per call and adds `system` after them", async () => {
    const { agent, model } = agentWith(["ok"]);
    await agent.generate("hi", { instructions: "Other.", system: "More." });
    expect(systemOf(model).map((message) => message.content)).toEqual(["Other.", "More."]);
  });

  it("resolves every dynamic argument once per run, with the request context", async () => {
    const requestContext = new RequestContext<{ who: string }>([["who", "ada"]]);
    const seen: string[] = [];
    const note =
      <T>(name: string, value: T) =>
      ({
        requestContext: given,
        runtimeContext,
      }: {
        requestContext: RequestContext;
        runtimeContext: RequestContext;
      }) => {
        expect(runtimeContext).toBe(given);
        seen.push(`${name}:${given.get("who")}`);
        return value;
      };
    const model = scriptedModel(["ok"]);
    const agent = new Agent({
      name: "dynamic",
      instructions: note("instructions", "Hi."),
      model: note("model", model),
      tools: note("tools", {}),
      agents: note("agents", {}),
      defaultOptions: note("defaultOptions", { temperature: 0.5 }),
      inputProcessors: note("inputProcessors", []),
      outputProcessors: note("outputProcessors", []),
      memory: note("memory", bareMemory()),
      metadata: note("metadata", { tier: "gold" }),
      logger: silentLogger,
    });
    await agent.generate("hi", { requestContext, memory: { thread: "t", resource: "r" } });
    expect(seen.toSorted()).toEqual(
      [
        "agents",
        "defaultOptions",
        "inputProcessors",
        "instructions",
        "memory",
        "model",
        "outputProcessors",
        "tools",
      ].map((name) => `${name}:ada`),
    );
    expect(model.calls[0]!.temperature).toBe(0.5);
    expect(await agent.getMetadata({ requestContext })).toEqual({ tier: "gold" });
  });

  it("checks the request context before anything else happens", async () => {
    const schema = z.object({ tenant: z.string() });
    const { agent, model } = agentWith(["ok", "ok"], {
      requestContextSchema: schema,
      instructions: () => expect.fail("too early") as never,
    });
    await expect(agent.generate("hi")).rejects.toMatchObject({
      code: "invalid-context",
      message: expect.stringContaining("tenant"),
    });
    await expect(
      agent.stream("hi", { requestContext: new RequestContext([["tenant", 5]]) }),
    ).rejects.toMatchObject({ code: "invalid-context" });
    expect(model.calls).toHaveLength(0);
  });

  it("lets a server say whose a request is, whatever else the schema allows", async () => {
    const { agent } = agentWith(["ok"], { requestContextSchema: z.strictObject({ tenant: z.string() }) });
    const requestContext = new RequestContext([
      ["tenant", "acme"],
      [RESOURCE_ID_KEY, "ann"],
    ]);
    expect((await agent.generate("hi", { requestContext })).text).toBe("ok");
  });

  it("turns a context schema that throws into the same error", async () => {
    const broken = {
      "~standard": {
        version: 1,
        vendor: "x",
        validate: () => {
          throw new TypeError("boom");
        },
      },
    } as never;
    await expect(
      agentWith(["ok"], { requestContextSchema: broken }).agent.generate("hi"),
    ).rejects.toMatchObject({ code: "invalid-context" });
  });

  it("merges default options by key and leaves the caller's object as it was", async () => {
    const { agent, model } = agentWith(["ok"], {
      defaultOptions: {
        modelSettings: { temperature: 0.1, topP: 0.2 },
        providerOptions: { openai: { a: 1 } },
      },
      maxRetries: 1,
    });
    const own = Object.freeze({ modelSettings: { topP: 0.9 }, providerOptions: { openai: { b: 2 } } });
    await agent.generate("hi", own);
    expect(model.calls[0]).toMatchObject({
      temperature: 0.1,
      topP: 0.9,
      providerOptions: { openai: { a: 1, b: 2 } },
    });
    expect(own).toEqual({ modelSettings: { topP: 0.9 }, providerOptions: { openai: { b: 2 } } });
  });

  it("replaces a default model or schema whole", async () => {
    const other = scriptedModel([{ object: { b: 1 } }]);
    const { agent, model } = agentWith([], {
      defaultOptions: {
        model: scriptedModel([]),
        output: { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
      },
    });
    const result = await agent.generate("hi", {
      model: other,
      output: { type: "object", properties: { b: { type: "number" } } },
    });
    expect(result.object).toEqual({ b: 1 });
    expect(model.calls).toHaveLength(0);
    expect((other.calls[0]!.responseFormat as { schema: unknown }).schema).toEqual({
      type: "object",
      properties: { b: { type: "number" } },
    });
  });

  it("runs the legacy spellings with their own defaults", async () => {
    const { agent, model } = agentWith(["one", "two"], {
      defaultGenerateOptionsLegacy: { temperature: 0.1 },
      defaultStreamOptionsLegacy: async () => ({ temperature: 0.2 }),
    });
    expect((await agent.generateLegacy("hi")).text).toBe("one");
    expect(await (await agent.streamLegacy("hi")).text).toBe("two");
    expect(model.calls.map((call) => call.temperature)).toEqual([0.1, 0.2]);
  });

  it("answers what it is made of", async () => {
    const tool = createTool({ id: "t", description: "d" });
    const memory = bareMemory();
    const sub = agentWith([]).agent;
    const { agent } = agentWith([], {
      description: "About.",
      tools: { tool },
      agents: { sub },
      memory,
      voice: { v: 1 },
      editor: false,
    });
    expect(agent.getDescription()).toBe("About.");
    expect(await agent.getInstructions()).toBe("Be brief.");
    expect(await agent.listTools()).toEqual({ tool });
    expect(await agent.getTools()).toEqual({ tool });
    expect(await agent.listAgents()).toEqual({ sub });
    expect(await agent.getMemory()).toBe(memory);
    expect([agent.hasMemory, agent.voice, agent.editor]).toEqual([true, { v: 1 }, false]);
    expect([await agent.listScorers(), await agent.listWorkflows(), await agent.getDefaultOptions()]).toEqual(
      [{}, {}, {}],
    );
  });

  it.each([
    ["maxSteps", 0],
    ["maxSteps", 1.5],
    ["maxSteps", "3"],
    ["maxRetries", -1],
    ["temperature", Number.NaN],
    ["runId", ""],
    ["activeTools", "all"],
    ["abortSignal", {}],
    ["toolChoice", "maybe"],
    ["toolChoice", { type: "tool" }],
    ["toolCallConcurrency", 0],
    ["requireToolApproval", "yes"],
    ["stopWhen", 5],
    ["onFinish", {}],
    ["requestContext", new Map()],
    ["inputProcessors", [null]],
    ["inputProcessors", 5],
    ["clientTools", { a: null }],
    ["limits", { toolTimeoutMs: "x" }],
    ["structuredOutput", {}],
    ["memory", "thread"],
    ["toolsets", [1]],
  ])("refuses %s: %o with its name", async (name, value) => {
    const { agent, model } = agentWith(["ok"]);
    await expect(agent.stream("hi", { [name]: value } as never)).rejects.toMatchObject({
      code: "invalid-argument",
      message: expect.stringContaining(name),
    });
    expect(model.calls).toHaveLength(0);
  });

  it("refuses two ways of asking for an object", async () => {
    const schema = z.object({});
    await expect(
      agentWith(["ok"]).agent.generate("hi", { output: schema, experimental_output: schema }),
    ).rejects.toThrow(/Pass only one of/);
  });

  it("runs on a thread without memory, and warns once that nothing is remembered", async () => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
    const { agent, model } = agentWith(["one", "two"], { logger });
    expect((await agent.generate("first", { memory: { thread: "t", resource: "r" } })).text).toBe("one");
    expect((await agent.generate("second", { memory: { thread: "t", resource: "r" } })).text).toBe("two");
    expect(model.calls[1]!.prompt.filter(({ role }) => role !== "system")).toHaveLength(1);
    expect(warnings).toEqual([expect.stringMatching(/thread "t" but has no memory/)]);
  });

  it("refuses the id of a run that is active on a thread without memory", async () => {
    const gate = Promise.withResolvers<string>();
    const model = scriptedModel(() => gate.promise);
    const agent = new Agent({ name: "a", instructions: "", model, logger: silentLogger });
    const options = { runId: "r1", memory: { thread: "t", resource: "r" } };
    const first = await agent.stream("first", options);
    await expect.poll(() => model.calls.length).toBe(1);
    const second = agent.generate("second", options);
    second.catch(() => {});
    gate.resolve("one");
    await expect(second).rejects.toMatchObject({ code: "conflict" });
    expect(await first.text).toBe("one");
  });

  it("needs a thread for a resource, and storage for a memory", async () => {
    const { agent } = agentWith(["ok"]);
    await expect(agent.generate("hi", { resourceId: "r" })).rejects.toMatchObject({
      code: "invalid-argument",
    });
    const bare = agentWith(["ok"], { memory: { ...bareMemory(), storage: undefined } }).agent;
    await expect(bare.generate("hi", { threadId: "t" })).rejects.toMatchObject({ code: "storage-required" });
  });

  it("waits for background work in settled()", async () => {
    let done = false;
    const { agent } = agentWith(["ok"], {
      inputProcessors: [
        {
          id: "bg",
          processInput: ({ waitUntil }) =>
            waitUntil(new Promise<void>((resolve) => setTimeout(resolve, 20)).then(() => void (done = true))),
        },
      ],
    });
    await agent.generate("hi");
    await agent.settled();
    expect(done).toBe(true);
  });
});
