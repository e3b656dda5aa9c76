import { describe, expect, it } from "vitest";
import { growthOf, scriptedModel, type ScriptedReply } from "@selvedge/testing";
import { agentWith, bareMemory, chunksOf, listOf, typesOf } from "../agent/__fixtures__/agent-with.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";
import type { Processor } from "./processor.ts";

const t = createTool({ id: "t", description: "", execute: async () => "raw" });
const useTool: ScriptedReply = { toolCalls: [{ toolName: "t", input: {} }] };
const HOOKS = [
  "processInput",
  "processInputStep",
  "processLLMRequest",
  "processOutputStream",
  "processLLMResponse",
  "processOutputStep",
  "processToolResult",
  "processOutputResult",
  "processAPIError",
] as const;

/** Has every hook and notes each call; chunks only by type. */
function recorder(seen: string[], id = "recorder"): Processor {
  const hooks = HOOKS.map((hook) => [
    hook,
    (args: any) => {
      args.state.count = (args.state.count ?? 0) + 1;
      if (hook === "processOutputStream") {
        if (args.part.type === "text-delta") seen.push(`${hook} ${args.part.payload.text}`);
        return args.part;
      }
      seen.push(hook);
      return undefined;
    },
  ]);
  return { id, ...Object.fromEntries(hooks) };
}

const trip = (hook: keyof Processor, when: (args: any) => boolean = () => true): Processor =>
  ({
    id: `trip-${hook}`,
    [hook]: (args: any) =>
      when(args) ? args.abort(`stopped in ${hook}`, { metadata: { hook } }) : args.part,
  }) as Processor;

describe("processors", () => {
  it("are called in the documented order", async () => {
    const seen: string[] = [];
    const both = recorder(seen);
    const { agent } = agentWith([useTool, "done"], {
      tools: { t },
      inputProcessors: [both],
      outputProcessors: [both],
    });
    await agent.generate("go");
    expect(seen).toEqual([
      "processInput",
      "processInputStep",
      "processLLMRequest",
      "processLLMResponse",
      "processOutputStep",
      "processToolResult",
      "processInputStep",
      "processLLMRequest",
      "processOutputStream done",
      "processLLMResponse",
      "processOutputStep",
      "processOutputResult",
    ]);
  });

  it("run in the order of their list, each seeing what the one before left", async () => {
    const add = (id: string): Processor => ({
      id,
      processOutputStream: ({ part }) =>
        part.type === "text-delta"
          ? { ...part, payload: { ...part.payload, text: `${part.payload.text}${id}` } }
          : part,
    });
    const { agent } = agentWith(["x"], { outputProcessors: [add("1"), add("2")] });
    expect((await agent.generate("go")).text).toBe("x12");
  });

  it("change what the model reads: messages, system messages, overrides of one step", async () => {
    const other = scriptedModel(["other"]);
    const { agent, model } = agentWith([], {
      inputProcessors: [
        {
          id: "a",
          processInput: ({ messages, systemMessages }) => ({
            messages: [...messages, { role: "user", content: "loose" } as never],
            systemMessages: [...systemMessages, { role: "system", content: "Extra." }],
          }),
        },
        {
          id: "b",
          processInputStep: () => ({
            model: other,
            toolChoice: "none",
            modelSettings: { topK: 2 },
            providerOptions: { x: { y: 1 } },
            tools: { t },
          }),
        },
        {
          id: "c",
          processInputStep: ({ model: current, toolChoice }) => {
            expect([current, toolChoice]).toEqual([other, "none"]);
          },
        },
        { id: "d", processLLMRequest: ({ request }) => ({ ...request, seed: 42 }) },
      ],
    });
    expect((await agent.generate("hi")).text).toBe("other");
    expect(model.calls).toHaveLength(0);
    expect(other.calls[0]).toMatchObject({
      topK: 2,
      seed: 42,
      toolChoice: { type: "none" },
      providerOptions: { x: { y: 1 } },
      tools: [{ name: "t" }],
    });
    expect(
      other.calls[0]!.prompt.map((message) => [
        message.role,
        typeof message.content === "string" ? message.content : (message.content[0] as { text: string }).text,
      ]),
    ).toEqual([
      ["system", "Be brief."],
      ["system", "Extra."],
      ["user", "hi"],
      ["user", "loose"],
    ]);
  });

  it("can ask for an object in one step", async () => {
    const schema = { type: "object", properties: { a: { type: "number" } }, required: ["a"] };
    const { agent } = agentWith([{ object: { a: 1 } }], {
      inputProcessors: [{ id: "s", processInputStep: () => ({ structuredOutput: { schema } }) }],
    });
    expect((await agent.generate("hi")).object).toEqual({ a: 1 });
  });

  it("can drop a chunk, and put several in its place", async () => {
    const { agent } = agentWith([{ text: ["a", "-", "b"] }], {
      outputProcessors: [
        {
          id: "drop",
          processOutputStream: ({ part }) =>
            part.type === "text-delta" && part.payload.text === "-" ? null : part,
        },
        {
          id: "twice",
          processOutputStream: ({ part }) => (part.type === "text-delta" ? [part, part] : part),
        },
        {
          id: "after",
          processOutputStream: ({ part }) =>
            part.type === "text-delta"
              ? { ...part, payload: { ...part.payload, text: part.payload.text.toUpperCase() } }
              : part,
        },
      ],
    });
    const output = await agent.stream("go");
    expect([await listOf(output.textStream), await output.text]).toEqual([["A", "A", "B", "B"], "AABB"]);
  });

  it("change a tool's result before the model reads it", async () => {
    const { agent, model } = agentWith([useTool, "done"], {
      tools: { t },
      inputProcessors: [{ id: "p", processToolResult: ({ result }) => ({ result: `${String(result)}!` }) }],
    });
    await agent.generate("go");
    expect(model.calls[1]!.prompt.at(-1)).toMatchObject({ content: [{ output: { value: "raw!" } }] });
  });

  it("change a step before its tools run", async () => {
    const { agent, model } = agentWith([{ text: "bad", toolCalls: useTool.toolCalls! }, "done"], {
      tools: { t },
      outputProcessors: [
        {
          id: "p",
          processOutputStep: ({ messages }) =>
            messages.map((message) => ({
              ...message,
              content: {
                ...message.content,
                parts: message.content.parts.map((part) =>
                  part.type === "text" && part.text === "bad" ? { ...part, text: "good" } : part,
                ),
              },
            })),
        },
      ],
    });
    const result = await agent.generate("go");
    expect(result.steps[0]!.text).toBe("good");
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("good");
    expect(model.calls[1]!.prompt.at(-1)).toMatchObject({
      role: "tool",
      content: [{ output: { value: "raw" } }],
    });
  });

  it.each([
    "processInput",
    "processInputStep",
    "processLLMRequest",
    "processLLMResponse",
    "processOutputStep",
    "processToolResult",
    "processOutputResult",
  ] as const)("can stop the run in %s", async (hook) => {
    const { agent } = agentWith([useTool, "done"], {
      tools: { t },
      inputProcessors: [trip(hook)],
      outputProcessors: [trip(hook)],
    });
    const output = await agent.stream("go");
    const types = await typesOf(output);
    expect(types.slice(-2)).toEqual(["tripwire", "finish"]);
    expect([output.status, await output.finishReason]).toEqual(["tripwire", "tripwire"]);
    expect(output.tripwire).toEqual({
      reason: `stopped in ${hook}`,
      retry: false,
      metadata: { hook },
      processorId: `trip-${hook}`,
    });
  });

  it("can stop the run at any chunk, even at every chunk and at the last", async () => {
    for (const when of [
      () => true,
      ({ part }: any) => part.type === "text-delta",
      ({ part }: any) => part.type === "step-finish",
      ({ part }: any) => part.type === "finish",
    ]) {
      const output = await agentWith(["hi"], {
        outputProcessors: [trip("processOutputStream", when)],
      }).agent.stream("go");
      expect((await typesOf(output)).slice(-2)).toEqual(["tripwire", "finish"]);
      expect([output.status, output.error]).toEqual(["tripwire", undefined]);
    }
  });

  it("can stop the run at what a tool writes, after the other tools have ended", async () => {
    let ended = false;
    const writes = createTool({
      id: "w",
      description: "",
      execute: (_, { writer }) => writer.write("x"),
    });
    const slow = createTool({
      id: "s",
      description: "",
      execute: async () => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        ended = true;
      },
    });
    const { agent } = agentWith(
      [
        {
          toolCalls: [
            { toolName: "w", input: {} },
            { toolName: "s", input: {} },
          ],
        },
      ],
      {
        tools: { w: writes, s: slow },
        outputProcessors: [trip("processOutputStream", ({ part }) => part.type === "tool-output")],
      },
    );
    const output = await agent.stream("go");
    expect([await output.finishReason, ended]).toEqual(["tripwire", true]);
    expect((await typesOf(output)).at(-1)).toBe("finish");
  });

  it("have a step tried again, with feedback, as often as allowed", async () => {
    const counts: number[] = [];
    const strict: Processor = {
      id: "strict",
      processOutputStep: ({ text, abort, retryCount }) => {
        counts.push(retryCount);
        if (text !== "good") abort("say good", { retry: true });
      },
    };
    const storage = new InMemoryStorage();
    const { agent, model } = agentWith(["bad", "worse", "good"], {
      outputProcessors: [strict],
      maxProcessorRetries: 2,
      memory: bareMemory(storage),
    });
    const output = await agent.stream("go", { memory: { thread: "t", resource: "r" } });
    expect([await output.text, (await output.steps).length, (await output.totalUsage).totalTokens]).toEqual([
      "good",
      1,
      45,
    ]);
    expect(counts).toEqual([0, 1, 2]);
    expect(JSON.stringify(model.calls[1]!.prompt.at(-1))).toContain("say good");
    const chunks = await chunksOf(output);
    expect(
      chunks
        .filter((chunk) => chunk.type === "step-finish")
        .map((chunk) => (chunk as any).payload.stepResult.reason),
    ).toEqual(["retry", "retry", "stop"]);
    const stored = await (await storage.getStore("memory"))!.recentMessages({ threadId: "t", limit: 10 });
    expect(stored.map((message) => message.role)).toEqual(["user", "assistant"]);
    const spent = agentWith(["bad", "worse"], { outputProcessors: [strict] });
    expect((await spent.agent.generate("go", { maxProcessorRetries: 1 })).tripwire).toMatchObject({
      reason: "say good",
      retry: true,
    });
    expect((await agentWith(["bad"], { outputProcessors: [strict] }).agent.generate("go")).finishReason).toBe(
      "tripwire",
    );
  });

  it("see the number of the try while they read the stream too", async () => {
    const seen = new Set<number>();
    const picky: Processor = {
      id: "p",
      processOutputStream: ({ part, retryCount, abort }) => {
        seen.add(retryCount);
        return part.type === "text-delta" && retryCount === 0 ? abort("again", { retry: true }) : part;
      },
    };
    expect(
      (
        await agentWith(["a", "b"], { outputProcessors: [picky], maxProcessorRetries: 1 }).agent.generate(
          "go",
        )
      ).text,
    ).toBe("b");
    expect([...seen]).toEqual([0, 1]);
  });

  it("may have a rejected call made again, but not for ever", async () => {
    const retry: Processor = { id: "r", processAPIError: () => ({ retry: true }) };
    const once = agentWith([{ error: new Error("busy") }, "ok"], { inputProcessors: [retry] });
    expect((await once.agent.generate("go", { maxRetries: 0 })).text).toBe("ok");
    const never = agentWith(() => ({ error: new Error("busy") }), { inputProcessors: [retry] });
    await expect(never.agent.generate("go", { maxRetries: 0 })).rejects.toMatchObject({
      code: "model-failed",
    });
    expect(never.model.calls).toHaveLength(11);
  });

  it("fail the run by name when they throw", async () => {
    for (const hook of ["processInput", "processOutputStream", "processToolResult"]) {
      const bad = {
        id: "bad",
        [hook]: () => {
          throw new Error("oops");
        },
      } as Processor;
      const run = agentWith([useTool, "x"], {
        tools: { t },
        inputProcessors: [bad],
        outputProcessors: [bad],
      }).agent.generate("go");
      await expect(run).rejects.toMatchObject({
        code: "processor-failed",
        message: expect.stringContaining('"bad"'),
      });
    }
  });

  it("share state between the hooks of one run, and only there", async () => {
    const counts: unknown[] = [];
    const p: Processor = {
      id: "p",
      processInput: ({ state }) => void (state["n"] = ((state["n"] as number) ?? 0) + 1),
      processOutputStream: ({ part, state }) => (void (state["n"] = (state["n"] as number) + 1), part),
      processOutputResult: ({ state }) => void counts.push(state["n"]),
    };
    const { agent } = agentWith(["a", "a"], { inputProcessors: [p], outputProcessors: [p] });
    await agent.generate("go");
    await agent.generate("go");
    expect(counts[0]).toBeGreaterThan(3);
    expect(counts[1]).toBe(counts[0]);
  });

  it("write chunks of their own from any hook, also while they hold one", async () => {
    const p: Processor = {
      id: "p",
      processInput: async ({ writer }) => writer.custom({ type: "data-in", data: 1 }),
      processOutputStream: async ({ part, writer }) => {
        if (part.type === "text-delta") await writer.custom({ type: "data-mid", data: part.payload.text });
        return part;
      },
    };
    const output = await agentWith([{ text: ["a", "b"] }], {
      inputProcessors: [p],
      outputProcessors: [p],
    }).agent.stream("go");
    expect(
      (await typesOf(output)).filter((type) => type.startsWith("data-") || type === "text-delta"),
    ).toEqual(["data-in", "data-mid", "text-delta", "data-mid", "text-delta"]);
    expect((await output.content).filter((part) => part.type === "data-mid")).toHaveLength(2);
  });

  it("see data chunks only if they ask for them", async () => {
    const run = async (processDataParts: boolean) => {
      const seen: string[] = [];
      const p: Processor = {
        id: "p",
        processDataParts,
        processOutputStream: ({ part }) => (seen.push(part.type), part),
      };
      const w = createTool({
        id: "w",
        description: "",
        execute: async (_, { writer }) => writer.custom({ type: "data-x", data: 1 }),
      });
      await agentWith([{ toolCalls: [{ toolName: "w", input: {} }] }, "ok"], {
        tools: { w },
        outputProcessors: [p],
      }).agent.generate("go");
      return seen.includes("data-x");
    };
    expect([await run(false), await run(true)]).toEqual([false, true]);
  });

  it("cost the same for a late chunk as for an early one", async () => {
    const pass: Processor = {
      id: "p",
      processOutputStream: ({ part, streamParts }) => (void streamParts.length, part),
    };
    const read = async (count: number): Promise<void> => {
      const { agent } = agentWith([{ text: Array.from({ length: count }, () => "x") }], {
        outputProcessors: [pass],
      });
      await agent.generate("go");
    };
    expect(await growthOf(read, 1_000)).toBeLessThan(1.5);
  });

  it("of a call replace those of the agent", async () => {
    const seen: string[] = [];
    const note = (id: string): Processor => ({ id, processInput: () => void seen.push(id) });
    const { agent } = agentWith(["ok"], { inputProcessors: [note("agent")] });
    await agent.generate("go", { inputProcessors: [note("call")] });
    expect(seen).toEqual(["call"]);
  });
});
