import { scriptedModel, type ScriptedReply } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { agentWith, chunksOf, typesOf } from "../agent/__fixtures__/agent-with.ts";
import { silentLogger } from "../logger.ts";
import { createTool } from "../tool/tool.ts";
import { hasToolCall, stepCountIs } from "./stop-when.ts";

const again: ScriptedReply = { toolCalls: [{ toolName: "t", input: {} }] };
const t = createTool({ id: "t", description: "", execute: async () => "ok" });
const forever = (config = {}) => agentWith(() => again, { tools: { t }, ...config });

describe("the loop", () => {
  it("takes five steps unless told otherwise", async () => {
    const { agent, model } = forever();
    expect((await agent.generate("go")).steps).toHaveLength(5);
    await agent.generate("go", { maxSteps: 2 });
    expect(model.calls).toHaveLength(7);
  });

  it("stops when a condition says so, within maxSteps", async () => {
    const { agent } = forever();
    expect((await agent.generate("go", { stopWhen: stepCountIs(8) })).steps).toHaveLength(8);
    expect((await agent.generate("go", { stopWhen: [stepCountIs(9), hasToolCall("t")] })).steps).toHaveLength(
      1,
    );
    expect((await agent.generate("go", { stopWhen: stepCountIs(9), maxSteps: 3 })).steps).toHaveLength(3);
    expect(
      (await agent.generate("go", { stopWhen: async ({ steps }) => steps.length === 6 })).steps,
    ).toHaveLength(6);
  });

  it("lets prepareStep change one step", async () => {
    const other = scriptedModel(["from the other"]);
    const { agent, model } = forever();
    const result = await agent.generate("go", {
      prepareStep: ({ stepNumber, steps, messages }) => {
        expect(steps).toHaveLength(stepNumber);
        expect(messages.length).toBeGreaterThan(0);
        if (stepNumber === 0)
          return {
            toolChoice: "required",
            activeTools: ["t"],
            system: "Now.",
            providerOptions: { x: { y: 1 } },
            modelSettings: { topK: 3 },
          };
        return {
          model: other,
          tools: {},
          messages: [{ role: "user", content: [{ type: "text", text: "only this" }] }],
        };
      },
    });
    expect(result.text).toBe("from the other");
    expect(model.calls[0]).toMatchObject({
      toolChoice: { type: "required" },
      providerOptions: { x: { y: 1 } },
      topK: 3,
    });
    expect(model.calls[0]!.prompt[0]).toEqual({ role: "system", content: "Now." });
    expect(other.calls[0]!.tools).toBeUndefined();
    expect(other.calls[0]!.prompt.map((message) => message.role)).toEqual(["system", "user"]);
  });

  it("passes sampling settings on", async () => {
    const { agent, model } = agentWith(["ok"]);
    await agent.generate("hi", {
      temperature: 0.3,
      modelSettings: { maxOutputTokens: 9, stopSequences: ["X"], seed: 4 },
      providerOptions: { openai: { a: 1 } },
    });
    expect(model.calls[0]).toMatchObject({
      temperature: 0.3,
      maxOutputTokens: 9,
      stopSequences: ["X"],
      seed: 4,
      providerOptions: { openai: { a: 1 } },
    });
  });

  it("puts context before the input, and takes strings, lists and objects", async () => {
    const { agent, model } = agentWith(["ok"]);
    await agent.generate(["one", { role: "user", content: "two" }], {
      context: [{ role: "user", content: "background" }],
    });
    expect(
      model.calls[0]!.prompt.slice(1).map((message) => (message.content as { text: string }[])[0]!.text),
    ).toEqual(["background", "one", "two"]);
  });

  it("calls back for steps and the end, and survives callbacks that throw", async () => {
    const seen: string[] = [];
    const { agent } = agentWith([again, "done"], { tools: { t } });
    const boom = (name: string) => () => {
      seen.push(name);
      throw new Error(name);
    };
    const result = await agent.generate("go", {
      onStepFinish: boom("step"),
      onFinish: boom("finish"),
      onChunk: () => {
        throw new Error("chunk");
      },
    });
    expect([result.text, seen]).toEqual(["done", ["step", "step", "finish"]]);
  });

  it("gives onFinish the whole outcome", async () => {
    let event: any;
    await agentWith([again, "done"], { tools: { t } }).agent.generate("go", {
      onFinish: (given) => void (event = given),
    });
    expect(event).toMatchObject({
      text: "done",
      finishReason: "stop",
      steps: [{}, {}],
      toolCalls: [{ toolName: "t" }],
      toolResults: [{ result: "ok" }],
      totalUsage: { totalTokens: 30 },
    });
  });

  it("ends as aborted, with the text so far", async () => {
    const controller = new AbortController();
    let aborted: unknown;
    const { agent } = agentWith([{ text: ["Hel", "lo"], hang: { after: 3 } }]);
    const output = await agent.stream("hi", {
      abortSignal: controller.signal,
      onAbort: (event) => void (aborted = event),
      onFinish: () => expect.fail("not finished"),
      onError: () => expect.fail("no error"),
    });
    for await (const chunk of output.fullStream) if (chunk.type === "text-delta") controller.abort();
    expect((await typesOf(output)).at(-1)).toBe("abort");
    expect([output.status, await output.finishReason, await output.text]).toEqual([
      "canceled",
      "aborted",
      "Hel",
    ]);
    expect(aborted).toMatchObject({ steps: [{ text: "Hel", finishReason: "aborted" }] });
  });

  it("does not call a model when it was aborted before it began", async () => {
    const { agent, model } = agentWith(["hi"]);
    const result = await agent.generate("hi", { abortSignal: AbortSignal.abort() });
    expect([result.finishReason, model.calls.length]).toEqual(["aborted", 0]);
  });

  it("abandons a tool and a model that ignore the abort", async () => {
    const controller = new AbortController();
    const hangs = createTool({ id: "t", description: "", execute: () => new Promise(() => {}) });
    const { agent } = agentWith([again], { tools: { t: hangs } });
    const output = await agent.stream("go", { abortSignal: controller.signal });
    for await (const chunk of output.fullStream)
      if (chunk.type === "tool-call") setTimeout(() => controller.abort(), 5);
    expect(await output.finishReason).toBe("aborted");
    expect(await output.toolResults).toMatchObject([
      { isError: true, result: expect.stringContaining("aborted") },
    ]);
    const deaf = agentWith([], { model: scriptedModel([{ hang: true }], { ignoreAbort: true }) }).agent;
    expect((await deaf.generate("hi", { abortSignal: AbortSignal.timeout(10) })).finishReason).toBe(
      "aborted",
    );
  });

  it("calls a reply that just stops incomplete", async () => {
    const { agent } = agentWith([{ text: ["Hel", "lo"], cutAfter: 3 }]);
    const output = await agent.stream("hi");
    await expect(output.text).rejects.toMatchObject({ code: "model-incomplete" });
    expect((await chunksOf(output)).at(-1)).toMatchObject({
      type: "error",
      payload: { error: { code: "model-incomplete" } },
    });
  });

  it("says what an error in the middle of a reply was, also when it is an object", async () => {
    const parts = [
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "x" },
      { type: "error", error: { reason: "overloaded" } },
    ];
    await expect(agentWith([{ parts: parts as never }]).agent.generate("hi")).rejects.toThrow(/overloaded/);
  });

  it("ends a model that hangs, before and after its first words", async () => {
    await expect(
      agentWith([{ hang: true }]).agent.generate("hi", { maxRetries: 0, limits: { firstChunkMs: 20 } }),
    ).rejects.toMatchObject({ code: "model-timeout" });
    await expect(
      agentWith([{ text: ["a", "b"], hang: { after: 3 } }]).agent.generate("hi", { limits: { chunkMs: 20 } }),
    ).rejects.toMatchObject({ code: "model-timeout" });
  });

  it("falls back to the next model", async () => {
    const broken = scriptedModel([{ error: new Error("down") }]);
    const { agent } = agentWith([], {
      model: [
        { model: broken, maxRetries: 0 },
        { model: scriptedModel(["never"]), enabled: false },
        { model: scriptedModel(["second"]) },
      ],
    });
    expect((await agent.generate("hi")).text).toBe("second");
  });

  it("retries as often as the call says, then the agent, then twice", async () => {
    const failing = () =>
      scriptedModel(() => ({
        error: Object.assign(new Error("busy"), { statusCode: 503, isRetryable: true }),
      }));
    const system = {
      now: () => 0,
      monotonic: () => 0,
      newId: () => crypto.randomUUID(),
      random: () => 0,
      setTimer: (ms: number, callback: () => void) => {
        if (ms < 60_000) queueMicrotask(callback);
        return () => {};
      },
    };
    const count = async (config: object, options: object) => {
      const model = failing();
      await agentWith([], { model, system, logger: silentLogger, ...config })
        .agent.generate("hi", { limits: { firstChunkMs: 0, chunkMs: 0, totalMs: 0 }, ...options })
        .catch(() => {});
      return model.calls.length;
    };
    expect([
      await count({}, {}),
      await count({ maxRetries: 0 }, {}),
      await count({ maxRetries: 0 }, { maxRetries: 1 }),
      await count({ maxRetries: 3 }, { modelSettings: { maxRetries: 0 } }),
    ]).toEqual([3, 1, 2, 1]);
  });

  it("runs two calls of one agent side by side", async () => {
    const { agent } = agentWith(
      ({ prompt }) => `echo ${(prompt.at(-1)!.content as { text: string }[])[0]!.text}`,
    );
    const texts = await Promise.all(["a", "b", "c"].map(async (text) => (await agent.generate(text)).text));
    expect(texts).toEqual(["echo a", "echo b", "echo c"]);
  });
});
