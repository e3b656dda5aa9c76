import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agentWith, chunksOf } from "../agent/__fixtures__/agent-with.ts";
import { HERE, ON, onThread } from "../agent/__fixtures__/on-thread.ts";
import type { Agent } from "../agent/agent.ts";
import { EVENTS } from "../storage/thread-tables.ts";
import { createTool } from "../tool/tool.ts";
import { HIDDEN_PAYLOAD } from "../tool/transform.ts";
import { askModel } from "../model/ask-model.ts";

/** A model that never ends and never waits: each part is there as soon as it is asked for. */
function endless(part: (index: number) => object, first: object[] = [{ type: "text-start", id: "1" }]) {
  let index = 0;
  return {
    specificationVersion: "v4",
    provider: "endless",
    modelId: "model",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("not here")),
    doStream: async () => ({
      stream: new ReadableStream<LanguageModelV4StreamPart>({
        pull: (controller) => {
          controller.enqueue((first[index] ?? part(index)) as LanguageModelV4StreamPart);
          index++;
        },
      }),
    }),
  } as unknown as LanguageModelV4;
}
const words = (delta: string) => {
  let index = 0;
  return endless(() => ({ type: "text-delta", id: "1", delta: `${delta}${index++ % 10}` }));
};
const call = (input: unknown = {}) => ({ toolCalls: [{ toolName: "t", input }] });
const tool = (execute: (...args: any[]) => unknown) => ({
  t: createTool({ id: "t", description: "", execute } as never),
});

describe("a reply that does not end", () => {
  it("is ended at its size, and only its beginning is kept", async () => {
    const { agent, messages, storage, idle } = onThread([], { model: words("x".repeat(1000)) });
    const output = await agent.stream("go", { ...ON, limits: { replyBytes: 1_000_000 } });
    await output.consumeStream();
    expect(output.error).toMatchObject({
      code: "limit-exceeded",
      message: expect.stringContaining("limits.replyBytes"),
    });
    await idle();
    const [, answer] = await messages();
    expect(answer!.content.metadata).toMatchObject({ incomplete: true });
    expect(JSON.stringify(answer).length).toBeLessThan(110_000);
    const events = await storage.select({ table: EVENTS });
    expect(JSON.stringify(events).length).toBeLessThan(3_000_000);
  });

  it("is ended when it consists of many small parts, and when the first output never comes", async () => {
    const limits = { replyBytes: 100_000 };
    const { agent } = agentWith([], { model: words("") });
    await expect(agent.generate("go", { limits })).rejects.toMatchObject({ code: "limit-exceeded" });
    const silent = agentWith([], { model: endless(() => ({ type: "raw", rawValue: { n: 1 } }), []) });
    await expect(silent.agent.generate("go", { limits, maxRetries: 0 })).rejects.toMatchObject({
      code: "model-failed",
      message: expect.stringContaining("limits.replyBytes"),
    });
    const calls = agentWith([], {
      model: endless((index) => ({ type: "tool-call", toolCallId: `${index}`, toolName: "t", input: "{}" })),
    });
    await expect(calls.agent.generate("go", { limits })).rejects.toMatchObject({ code: "limit-exceeded" });
    await expect(askModel(words("x"), { prompt: "go", limits })).rejects.toMatchObject({
      code: "limit-exceeded",
    });
  });

  it.each([
    ["warnings", () => ({ type: "stream-start", warnings: [{ type: "other", message: "x".repeat(5000) }] })],
    ["sources", (n: number) => ({ type: "source", sourceType: "url", id: `${n}`, url: "x".repeat(5000) })],
    ["facts about itself", () => ({ type: "response-metadata", id: "x".repeat(5000) })],
  ])("is ended when it consists of %s", async (_, part) => {
    let parts = 0;
    const first = [{ type: "text-start", id: "1" }];
    const model = endless((index) => (parts++, part(index)), first);
    await expect(
      agentWith([], { model }).agent.generate("go", { limits: { replyBytes: 100_000 } }),
    ).rejects.toMatchObject({ code: "limit-exceeded", message: expect.stringContaining("replyBytes") });
    expect(parts).toBeLessThan(100);
  });

  it("is ended at a number of tool calls, of which none is made", async () => {
    let ran = 0;
    const many = Array.from({ length: 6 }, () => call().toolCalls[0]!);
    const { agent, messages, idle } = onThread([{ toolCalls: many }], { tools: tool(() => ran++) });
    await expect(agent.generate("go", { ...ON, limits: { toolCalls: 5 } })).rejects.toMatchObject({
      code: "limit-exceeded",
      message: expect.stringContaining("limits.toolCalls"),
    });
    await idle();
    expect(ran).toBe(0);
    const parts = (await messages())[1]!.content.parts.filter(({ type }) => type === "tool-invocation");
    expect(parts).toHaveLength(5);
    for (const part of parts) expect(part).toMatchObject({ toolInvocation: { state: "output-error" } });
  });

  it("has a limited number of parts in the history, however small they are", async () => {
    const model = endless((index) => ({ type: "source", sourceType: "url", id: `${index}`, url: "x" }));
    const { agent, messages, idle } = onThread([], { model });
    const output = await agent.stream("go", ON);
    await output.consumeStream();
    expect(output.error).toMatchObject({ code: "limit-exceeded" });
    await idle();
    expect((await messages())[1]!.content.parts.length).toBeLessThan(2000);
  });

  it("is ended at its time, although it never waits, and lets others go on meanwhile", async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 10);
    const { agent } = agentWith([], { model: words("") });
    const limits = { totalMs: 300, replyBytes: 0, runBytes: 0 };
    await expect(agent.generate("go", { limits })).rejects.toMatchObject({
      code: "model-timeout",
      message: expect.stringContaining("limits.totalMs"),
    });
    const quiet = agentWith([], { model: endless(() => ({ type: "raw", rawValue: 1 }), []) });
    const early = { firstChunkMs: 100, replyBytes: 0 };
    await expect(quiet.agent.generate("go", { limits: early, maxRetries: 0 })).rejects.toMatchObject({
      code: "model-timeout",
    });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
  });

  it("can be aborted by a timer", async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 50);
    const { agent } = agentWith([], { model: words("") });
    const { finishReason } = await agent.generate("go", {
      abortSignal: controller.signal,
      limits: { replyBytes: 0, runBytes: 0 },
    });
    expect(finishReason).toBe("aborted");
  });

  it.each(["", "x".repeat(1000)])(
    "ends within a heap of 128 MB, without and with a thread, in parts of %j",
    async (delta) => {
      const script = `
        import { Agent } from "@selvedge/core/agent";
        import { InMemoryStorage } from "@selvedge/core/storage";
        import { Memory } from "@selvedge/memory";
        let n = 0;
        const model = { specificationVersion: "v4", provider: "p", modelId: "m", supportedUrls: {}, doStream: async () => ({
          stream: new ReadableStream({ pull: (c) => c.enqueue(n++ ? { type: "text-delta", id: "1", delta: ${JSON.stringify(delta)} + n } : { type: "text-start", id: "1" }) }),
        }) };
        const logger = { debug() {}, info() {}, warn() {}, error() {} };
        const agent = new Agent({ name: "a", instructions: "", model, logger, memory: new Memory({ storage: new InMemoryStorage() }) });
        for (const options of [{}, { memory: { thread: "t", resource: "r" } }]) {
          const output = await agent.stream("go", options);
          await output.consumeStream();
          console.log(output.error.code);
        }`;
      const { stdout } = await promisify(execFile)(process.execPath, [
        "--max-old-space-size=128",
        "--conditions=selvedge-source",
        "--input-type=module",
        "-e",
        script,
      ]);
      expect(stdout.trim().split("\n")).toEqual(["limit-exceeded", "limit-exceeded"]);
    },
  );
});

describe("a run that does not end", () => {
  it("is ended at its size, whatever fills it", async () => {
    const limits = { runBytes: 200_000 };
    const options = { limits, stopWhen: () => false };
    const results = agentWith(() => call(), { tools: tool(() => "x".repeat(10_000)) });
    await expect(results.agent.generate("go", options)).rejects.toMatchObject({
      code: "limit-exceeded",
      message: expect.stringContaining("limits.runBytes"),
    });
    expect(results.model.calls.length).toBeLessThan(30);
    const replies = agentWith(() => ({ text: "x".repeat(10_000), ...call() }), { tools: tool(() => 1) });
    await expect(replies.agent.generate("go", options)).rejects.toMatchObject({ code: "limit-exceeded" });
  });

  it.each(["write", "custom"])("is ended when a tool does not stop to %s", async (how) => {
    let refused: unknown;
    const tools = tool(async (_: unknown, { writer }: any) => {
      try {
        for (;;) await (how === "write" ? writer.write("x") : writer.custom({ type: "data-x", data: 1 }));
      } catch (error) {
        refused = error;
        throw error;
      }
    });
    const { agent } = agentWith([call(), "done"], { tools });
    await expect(agent.generate("go", { limits: { runBytes: 100_000 } })).rejects.toMatchObject({
      code: "limit-exceeded",
    });
    expect(refused).toMatchObject({ code: "limit-exceeded" });
  });

  it.each([
    ["throw", () => Promise.reject(new Error("x".repeat(10_000)))],
    ["throw values", () => Promise.reject({ x: "x".repeat(10_000) })],
    ["return", async () => "x".repeat(10_000)],
    ["suspend", async (_: unknown, { suspend }: any) => suspend("x".repeat(10_000))],
  ])("is ended by tools that %s, and begins no more of them", async (_, execute) => {
    let ran = 0;
    const tools = tool((...args: unknown[]) => (ran++, (execute as any)(...args)));
    const many = { toolCalls: Array.from({ length: 200 }, () => call().toolCalls[0]!) };
    const { agent, idle } = onThread([many, "done"], { tools });
    await expect(agent.generate("go", { ...ON, limits: { runBytes: 200_000 } })).rejects.toMatchObject({
      code: "limit-exceeded",
    });
    await idle();
    expect(ran).toBeLessThan(40);
  });

  it.each([
    ["signals", (args: any) => args.sendSignal({ type: "reactive", contents: "x".repeat(1000) })],
    ["chunks", (args: any) => args.writer.custom({ type: "data-x", data: "x".repeat(1000) })],
  ])("is ended when a processor does not stop to send %s", async (_, sendTo) => {
    let sent = 0;
    const endlessly = {
      id: "p",
      processInputStep: async (args: any) => {
        for (;;) {
          await sendTo(args);
          sent++;
        }
      },
    };
    const { agent } = onThread(["done"], { inputProcessors: [endlessly] });
    await expect(agent.generate("go", { ...ON, limits: { runBytes: 100_000 } })).rejects.toMatchObject({
      code: "limit-exceeded",
    });
    expect(sent).toBeLessThan(200);
  });

  it("is ended when a processor makes many chunks of one", async () => {
    const many = {
      id: "p",
      processOutputStream: ({ part }: any) =>
        part.type === "text-delta" ? Array.from({ length: 10_000 }, () => part) : part,
    };
    const { agent } = agentWith(["hi"], { outputProcessors: [many] });
    await expect(agent.generate("go", { limits: { runBytes: 100_000 } })).rejects.toMatchObject({
      code: "limit-exceeded",
    });
  });

  it("keeps one error of a tool that does not wait for its writes", async () => {
    const errors = new Set<unknown>();
    const tools = tool(async (_: unknown, { writer }: any) => {
      const writes = Array.from({ length: 1000 }, () => writer.write("x".repeat(1000)));
      for (const result of await Promise.allSettled(writes))
        if (result.status === "rejected") errors.add(result.reason);
      return "ok";
    });
    const { agent } = agentWith([call(), "done"], { tools });
    await expect(agent.generate("go", { limits: { runBytes: 100_000 } })).rejects.toMatchObject({
      code: "limit-exceeded",
    });
    expect(errors.size).toBe(1);
  });

  it("is ended when agents call each other without end", async () => {
    const again = { toolCalls: [{ toolName: "agent-self", input: { prompt: "again" } }] };
    const agents: Record<string, Agent> = {};
    const { agent, model } = agentWith(({ prompt }) => (prompt.at(-1)!.role === "tool" ? "done" : again), {
      agents: () => agents as never,
    });
    agents["self"] = agent;
    expect((await agent.generate("go")).text).toBe("done");
    expect(model.calls.length).toBeLessThan(30);
    expect(JSON.stringify(model.calls.map(({ prompt }) => prompt))).toContain("10 levels");
  });

  it("ends a tool at its time that writes without ever waiting", async () => {
    const tools = tool(async (_: unknown, { writer, abortSignal }: any) => {
      while (!abortSignal.aborted) await writer.write("x");
    });
    const { agent } = agentWith([call(), "done"], { tools });
    const { text, toolResults } = await agent.generate("go", {
      limits: { toolTimeoutMs: 50, runBytes: 0 },
    });
    expect([text, toolResults[0]!.isError]).toEqual(["done", true]);
  });
});

describe("what a tool says", () => {
  it("in one piece is cut on the stream and in the history", async () => {
    const long = "x".repeat(5_000_000);
    const tools = tool(async (_: unknown, { writer }: any) => {
      await writer.write({ long });
      await writer.custom({ type: "data-x", data: { long } });
      await writer.custom({ type: "data-y", data: long, transient: true });
    });
    const { agent } = agentWith([call(), "done"], { tools });
    const output = await agent.stream("go");
    const chunks = await chunksOf(output);
    for (const type of ["tool-output", "data-x", "data-y"]) {
      const chunk = chunks.find((each) => each.type === type) as any;
      expect(chunk.data ?? chunk.payload.output).toMatchObject({ truncated: true });
    }
    expect(await output.text).toBe("done");
  });

  it.each([
    ["an error", () => new Error("x".repeat(5_000_000))],
    ["text", () => "x".repeat(5_000_000)],
    ["a value", () => ({ list: Array.from({ length: 100_000 }, () => "xxxxxxxxxx") })],
  ])("by throwing %s is cut everywhere", async (_, make) => {
    const tools = tool(() => {
      throw make();
    });
    const { agent, model, storage, idle, follow } = onThread([call(), "done"], { tools });
    const reader = await follow();
    const output = await agent.stream("go", ON);
    const chunks = await chunksOf(output);
    const error = (chunks.find((chunk) => chunk.type === "tool-error") as any).payload.error;
    expect(String(error.message ?? error).length).toBeLessThan(70_000);
    expect(String(error.message ?? error)).toContain("limits.toolErrorBytes");
    await idle();
    for (const each of [model.calls[1]!.prompt, reader.chunks, await storage.select({ table: EVENTS })])
      expect(JSON.stringify(each).length).toBeLessThan(300_000);
    reader.stop();
  });
});

describe("what a tool throws", () => {
  it("is an error of the tool, also when it cannot be read", async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const tools = tool(() => Promise.reject(proxy));
    const { agent } = agentWith([call(), "done"], { tools });
    const { text, toolResults } = await agent.generate("go");
    expect([text, toolResults[0]!.isError]).toEqual(["done", true]);
  });
});

describe("the model that structures an answer", () => {
  it("has the limits of the call", async () => {
    const { agent } = agentWith(["An answer."]);
    const structuredOutput = { schema: { type: "object" }, model: words("x".repeat(1000)) };
    await expect(
      agent.generate("go", { structuredOutput: structuredOutput as never, limits: { replyBytes: 10_000 } }),
    ).rejects.toThrow("10000 bytes");
  });
});

describe("arguments that are too long", () => {
  it("are not handed to the tool, and the model is told", async () => {
    let ran = 0;
    const input = { text: "x".repeat(5_000_000) };
    const { agent, model, messages, idle } = onThread([call(input), "done"], { tools: tool(() => ran++) });
    await agent.sendMessage("go", HERE).admitted;
    await idle();
    expect(ran).toBe(0);
    const told = JSON.stringify(model.calls[1]!.prompt.at(-1));
    expect(told).toContain("limits.toolInputBytes");
    expect(JSON.stringify(await messages()).length).toBeLessThan(10_000);
  });
});

describe("a processor that never returns", () => {
  const never = () => new Promise<never>(() => {});
  const limits = { processorTimeoutMs: 40 };

  it.each([
    "processInput",
    "processInputStep",
    "processLLMRequest",
    "processOutputStream",
    "processLLMResponse",
    "processOutputStep",
    "processToolResult",
    "processOutputResult",
  ])("fails the run with its name and frees the thread: %s", async (hook) => {
    const stuck = { id: "stuck", [hook]: never } as never;
    const config = { tools: tool(() => 1) };
    const { agent, idle } = onThread([call(), "done", "again", "again"], config);
    const both = { inputProcessors: [stuck], outputProcessors: [stuck] };
    await expect(agent.generate("go", { ...ON, ...both, limits })).rejects.toMatchObject({
      code: "processor-failed",
      message: expect.stringMatching(/"stuck".*limits\.processorTimeoutMs/),
    });
    await idle();
    expect((await agent.generate("go", ON)).finishReason).not.toBe("error");
  });

  it.each([
    ["requireApproval", { requireApproval: never }],
    ["its schema", { inputSchema: z.any().refine(never) }],
  ])("nor does a tool that does not answer whether it may run: %s", async (_, rule) => {
    const t = createTool({ id: "t", description: "", execute: async () => 1, ...rule });
    const { agent, idle } = onThread([call(), "done", "again"], { tools: { t } });
    await expect(agent.generate("go", { ...ON, limits })).rejects.toMatchObject({
      code: "processor-failed",
      message: expect.stringContaining('"t"'),
    });
    await idle();
  });

  it("nor does a transform, whose payload is hidden then", async () => {
    const t = createTool({ id: "t", description: "", execute: async () => "secret" });
    const transform = { transformToolPayload: never };
    const { agent, messages } = onThread([call(), "done"], { tools: { t }, transform });
    const output = await agent.stream("go", { ...ON, limits });
    const chunks = await chunksOf(output);
    expect(await output.text).toBe("done");
    expect(JSON.stringify(chunks)).not.toContain("secret");
    expect(JSON.stringify(await messages())).toContain(HIDDEN_PAYLOAD);
  });

  it("does not hold a run in prepareStep, stopWhen or a callback", async () => {
    for (const option of ["prepareStep", "stopWhen"])
      await expect(agentWith(["a"]).agent.generate("go", { [option]: never, limits })).rejects.toMatchObject({
        message: expect.stringContaining(option),
      });
    for (const option of ["onChunk", "onStepFinish", "onFinish"])
      expect((await agentWith(["a"]).agent.generate("go", { [option]: never, limits })).text).toBe("a");
  });

  it("is given the time it needs within the limit", async () => {
    const slow = {
      id: "slow",
      processOutputStream: async ({ part }: any) => {
        await new Promise((resolve) => setTimeout(resolve, 15));
        return part;
      },
    };
    const { agent } = agentWith([{ text: ["a", "b", "c", "d", "e"] }], { outputProcessors: [slow] });
    expect((await agent.generate("go", { limits })).text).toBe("abcde");
  });
});
