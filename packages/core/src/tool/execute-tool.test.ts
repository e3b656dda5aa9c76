import { jsonSchema, tool as aiTool } from "ai";
import { type } from "arktype";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ScriptedReply, ScriptedToolCall } from "@selvedge/testing";
import { agentWith, chunksOf } from "../agent/__fixtures__/agent-with.ts";
import type { AgentConfig } from "../agent/agent-config.ts";
import { silentLogger } from "../logger.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import { createTool, type ToolsInput } from "./tool.ts";

const call = (toolName: string, input: unknown = {}): ScriptedReply => ({ toolCalls: [{ toolName, input }] });

/** Has a model make these calls in its first step and say "done" in its second. */
async function runCalls(
  tools: ToolsInput,
  calls: ScriptedToolCall[],
  options: AgentExecutionOptions = {},
  config: Partial<AgentConfig> = {},
) {
  const { agent, model } = agentWith([{ toolCalls: calls }, "done"], { tools, ...config });
  const output = await agent.stream("go", options);
  const chunks = await chunksOf(output);
  return {
    output,
    chunks,
    model,
    toolMessage: model.calls[1]?.prompt.at(-1) as
      | { role: string; content: { output: any; toolCallId: string }[] }
      | undefined,
  };
}

const one = (tools: ToolsInput, name = "t", input: unknown = {}, options: AgentExecutionOptions = {}) =>
  runCalls(tools, [{ toolName: name, input }], options);
const tool = (execute: (...args: any[]) => unknown, more: object = {}) =>
  createTool({ id: "t", description: "", execute, ...more } as never);

describe("a tool call", () => {
  it.each([
    ["zod", z.object({ n: z.number() })],
    ["arktype", type({ n: "number" })],
    ["valibot", toStandardJsonSchema(v.object({ n: v.number() }))],
    ["JSON Schema", { type: "object", properties: { n: { type: "number" } }, required: ["n"] }],
    [
      "the AI SDK's jsonSchema()",
      jsonSchema({ type: "object", properties: { n: { type: "number" } }, required: ["n"] }),
    ],
  ])("checks its input with %s, and lets the model repair it", async (_, inputSchema) => {
    const seen: unknown[] = [];
    const t = createTool({
      id: "t",
      description: "",
      inputSchema: inputSchema as never,
      execute: async ({ context }) => void seen.push(context),
    });
    const { agent, model } = agentWith([call("t", { n: "x" }), call("t", { n: 2 }), "done"], {
      tools: { t },
    });
    const result = await agent.generate("go");
    expect(seen).toEqual([{ n: 2 }]);
    expect(model.calls[0]!.tools![0]).toMatchObject({
      name: "t",
      inputSchema: { type: "object", properties: { n: { type: "number" } } },
    });
    expect(result.toolResults[0]).toMatchObject({
      isError: true,
      result: { error: true, message: expect.stringContaining("n"), validationErrors: [{ path: ["n"] }] },
    });
    expect(model.calls[1]!.prompt.at(-1)).toMatchObject({
      role: "tool",
      content: [{ output: { type: "error-json" } }],
    });
  });

  it("tells the model that its arguments are not JSON", async () => {
    const { toolMessage, output } = await one({ t: tool(() => "never") }, "t", "{not json");
    expect(toolMessage!.content[0]!.output.value.message).toContain("not a JSON object");
    expect(await output.text).toBe("done");
  });

  it.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
    "knows no tool %s unless there is one",
    async (name) => {
      const unknown = await one({ t: tool(() => 1) }, name);
      expect(unknown.chunks.find((chunk) => chunk.type === "tool-error")).toMatchObject({
        payload: { toolName: name, error: { code: "tool-not-found" } },
      });
      expect(unknown.toolMessage!.content[0]!.output.value).toContain("Available tools: t.");
      const known = await one(Object.fromEntries([[name, tool(() => "mine")]]), name);
      expect(known.toolMessage!.content[0]!.output).toEqual({ type: "text", value: "mine" });
      expect(({} as Record<string, unknown>)["execute"]).toBeUndefined();
    },
  );

  it.each([[new Error("bad")], ["bad"], [undefined], [null], [{ code: 1 }], [Object.create(null)]])(
    "goes on when a tool throws %o",
    async (thrown) => {
      for (const execute of [
        () => {
          throw thrown;
        },
        async () => {
          throw thrown;
        },
      ]) {
        const { output, chunks, toolMessage } = await one({ t: tool(execute) });
        expect(chunks.find((chunk) => chunk.type === "tool-error")).toMatchObject({
          payload: { toolName: "t" },
        });
        expect(toolMessage!.content[0]!.output.type).toBe("error-text");
        expect(await output.text).toBe("done");
      }
    },
  );

  it.each([
    ["undefined", undefined, { type: "json", value: null }],
    ["null", null, { type: "json", value: null }],
    ["a number", 5, { type: "json", value: 5 }],
    ["text", "hi", { type: "text", value: "hi" }],
  ])("takes %s as a result", async (_, value, expected) => {
    expect((await one({ t: tool(() => value) })).toolMessage!.content[0]!.output).toEqual(expected);
  });

  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  it.each([
    ["a cycle", cyclic],
    ["a BigInt", 1n],
    ["a BigInt inside", { n: 1n }],
    ["a function", () => 1],
    ["a symbol", Symbol("s")],
  ])("describes %s, which is not JSON", async (_, value) => {
    const { toolMessage, output } = await one({ t: tool(() => value) });
    expect(toolMessage!.content[0]!.output.value).toMatchObject({
      error: true,
      message: expect.stringContaining("not JSON"),
    });
    expect(await output.text).toBe("done");
  });

  it("cuts a result of 10 MB, and an error as long", async () => {
    const { toolMessage } = await one({ t: tool(() => "x".repeat(10_000_000)) });
    expect(toolMessage!.content[0]!.output.value).toMatchObject({ truncated: true });
    expect(JSON.stringify(toolMessage).length).toBeLessThan(1 << 20);
    const failed = await one({
      t: tool(() => {
        throw new Error("x".repeat(10_000_000));
      }),
    });
    expect(JSON.stringify(failed.toolMessage).length).toBeLessThan(1 << 20);
  });

  it("ends a tool that hangs, at its own limit or the run's", async () => {
    let signal: AbortSignal | undefined;
    const hang = (_: unknown, options: { abortSignal: AbortSignal }) => (
      (signal = options.abortSignal),
      new Promise(() => {})
    );
    const { toolMessage, output } = await one({ t: tool(hang) }, "t", {}, { limits: { toolTimeoutMs: 20 } });
    expect(toolMessage!.content[0]!.output.value).toContain("20 ms");
    expect([await output.text, signal!.aborted]).toEqual(["done", true]);
    expect((await one({ t: tool(hang, { timeoutMs: 10 }) })).toolMessage!.content[0]!.output.value).toContain(
      "10 ms",
    );
    const slowOutput = await one(
      { t: tool(() => 1, { toModelOutput: () => new Promise(() => {}) }) },
      "t",
      {},
      { limits: { toolTimeoutMs: 20 } },
    );
    expect(slowOutput.toolMessage!.content[0]!.output.value).toContain("20 ms");
  });

  it("does not wait for observers, whatever they do", async () => {
    const seen: string[] = [];
    const observers = {
      onInputStart: () => void seen.push("start"),
      onInputDelta: ({ inputTextDelta }: { inputTextDelta: string }) =>
        void seen.push(`delta ${inputTextDelta}`),
      onInputAvailable: () => (seen.push("available"), new Promise<void>(() => {})),
      onOutput: ({ output }: { output: unknown }) => (
        seen.push(`output ${String(output)}`),
        Promise.reject(new Error("x"))
      ),
    };
    const { output } = await one({ t: tool(() => (seen.push("execute"), 7), observers) }, "t", { a: 1 });
    expect(await output.text).toBe("done");
    expect(seen).toEqual(["start", 'delta {"a":1}', "available", "execute", "output 7"]);
  });

  it("runs the calls of a step in parallel, as many as allowed", async () => {
    const most = async (options: AgentExecutionOptions) => {
      let now = 0;
      let peak = 0;
      const t = tool(async () => {
        peak = Math.max(peak, ++now);
        await new Promise((resolve) => setTimeout(resolve, 5));
        now--;
      });
      await runCalls(
        { t },
        Array.from({ length: 12 }, () => ({ toolName: "t", input: {} })),
        options,
      );
      return peak;
    };
    expect(await most({})).toBe(10);
    expect(await most({ toolCallConcurrency: 3 })).toBe(3);
    expect(await most({ toolCallConcurrency: { limit: 1, strategy: "called" } })).toBe(1);
  });

  it("makes output that breaks its schema the tool's error", async () => {
    const t = createTool({
      id: "t",
      description: "",
      outputSchema: z.object({ n: z.number() }),
      execute: async () => ({ n: "x" }) as never,
    });
    expect((await one({ t })).chunks.find((chunk) => chunk.type === "tool-error")).toMatchObject({
      payload: { error: { code: "tool-output-invalid" } },
    });
  });

  it("shows the model what toModelOutput makes, and the caller the result", async () => {
    const content = { type: "content", value: [{ type: "text", text: "seen" }] };
    const { toolMessage, output } = await one({
      t: tool(() => ({ raw: 1 }), { toModelOutput: () => content }),
    });
    expect(toolMessage!.content[0]!.output).toEqual(content);
    expect(await output.toolResults).toMatchObject([{ result: { raw: 1 } }]);
  });

  it("takes tools of the AI SDK", async () => {
    const t = aiTool({
      description: "AI",
      inputSchema: z.object({ city: z.string() }),
      execute: async function* ({ city }, { toolCallId }) {
        yield `${city}…`;
        yield `${city} ${toolCallId}`;
      },
      toModelOutput: ({ output, input }) => ({
        type: "text",
        value: `${(input as { city: string }).city}: ${String(output)}`,
      }),
    });
    const { toolMessage, chunks, model } = await one({ t: t as never }, "t", { city: "Oslo" });
    expect(model.calls[0]!.tools![0]).toMatchObject({
      description: "AI",
      inputSchema: { required: ["city"] },
    });
    expect(chunks.find((chunk) => chunk.type === "tool-output")).toMatchObject({
      payload: { output: "Oslo…" },
    });
    expect(toolMessage!.content[0]!.output).toEqual({ type: "text", value: "Oslo: Oslo call-1-1" });
    const asks = aiTool({
      inputSchema: z.object({}),
      needsApproval: true,
      execute: async (): Promise<string> => expect.fail("unasked"),
    });
    expect(await (await one({ t: asks as never })).output.finishReason).toBe("suspended");
  });

  it("writes progress to the stream and its own data into the stored message", async () => {
    const t = tool(async (_: unknown, { writer, writableStream }: any) => {
      await writer.write("half");
      await writableStream.custom({ type: "data-kept", data: { n: 1 } });
      await writer.custom({ type: "data-gone", data: 1n, transient: true });
      return "ok";
    });
    const { chunks, output } = await one({ t });
    expect(
      chunks.filter((chunk) => chunk.type === "tool-output" || chunk.type.startsWith("data-")),
    ).toMatchObject([
      { payload: { toolCallId: "call-1-1", output: "half" } },
      { type: "data-kept", data: { n: 1 } },
      { type: "data-gone", transient: true },
    ]);
    expect((await output.steps)[0]!.content.filter((part) => part.type.startsWith("data-"))).toEqual([
      { type: "data-kept", data: { n: 1 } },
    ]);
  });

  it("gives execute everything the documents name", async () => {
    let args: any[] = [];
    await one(
      {
        t: tool((...given) => {
          args = given;
        }),
      },
      "t",
      { a: 1 },
      { runId: "r1" },
    );
    expect(args[0]).toMatchObject({ context: { a: 1 }, runId: "r1" });
    expect(args[0].runtimeContext).toBe(args[0].requestContext);
    expect(args[1]).toMatchObject({
      toolCallId: "call-1-1",
      messages: [{ role: "user" }],
      idempotencyKey: "r1:call-1-1",
    });
    await expect(args[1].elicitation.sendRequest({})).rejects.toMatchObject({ code: "not-supported" });
  });
});

describe("which tools there are", () => {
  it("hides tools that are not active, and refuses them", async () => {
    const tools = { a: tool(() => "a"), b: tool(() => expect.fail("hidden") as never) };
    const { model, toolMessage } = await one(tools, "b", {}, { activeTools: ["a"] });
    expect(model.calls[0]!.tools!.map((each) => each.name)).toEqual(["a"]);
    expect(toolMessage!.content[0]!.output.value).toContain('no tool "b"');
  });

  it("says once that a tool of one toolset hides that of another", async () => {
    const warnings: string[] = [];
    const logger = { ...silentLogger, warn: (message: string) => warnings.push(message) };
    const own = tool(() => "same");
    const { agent } = agentWith(() => "done", { tools: { t: tool(() => "own") }, logger });
    const toolsets = { one: { t: tool(() => "one"), u: own }, two: { t: tool(() => "two"), u: own } };
    for (let call = 0; call < 3; call++) await agent.generate("go", { toolsets });
    expect(warnings).toEqual([expect.stringMatching(/"t".*"one".*"two"/)]);
  });

  it("lets toolsets win over the agent's own tools, and later sets over earlier", async () => {
    const { toolMessage } = await one(
      { t: tool(() => "own") },
      "t",
      {},
      { toolsets: { one: { t: tool(() => "one") }, two: { t: tool(() => "two") } } },
    );
    expect(toolMessage!.content[0]!.output.value).toBe("two");
  });

  it("passes toolChoice on", async () => {
    const { model } = await one(
      { t: tool(() => 1) },
      "t",
      {},
      { toolChoice: { type: "tool", toolName: "t" } },
    );
    expect(model.calls[0]!.toolChoice).toEqual({ type: "tool", toolName: "t" });
    expect((await one({ t: tool(() => 1) })).model.calls[0]!.toolChoice).toEqual({ type: "auto" });
  });

  it("refuses a tool that is none", async () => {
    await expect(agentWith(["x"], { tools: { t: 5 as never } }).agent.generate("hi")).rejects.toMatchObject({
      code: "invalid-argument",
    });
    await expect(
      agentWith(["x"], { tools: { t: { inputSchema: 5 } } }).agent.generate("hi"),
    ).rejects.toMatchObject({ code: "invalid-schema" });
    expect(() => createTool({ id: 1n as never, description: "" })).toThrow(
      expect.objectContaining({ code: "invalid-argument" }),
    );
  });

  it("says which converter a schema lacks", async () => {
    const definition = { id: "t", description: "", inputSchema: v.object({}) };
    expect(() => createTool(definition)).toThrow(/^Tool "t": .*toStandardJsonSchema/);
    await expect(agentWith(["x"], { tools: { t: definition } }).agent.generate("hi")).rejects.toThrow(
      /toStandardJsonSchema/,
    );
  });
});

describe("approval", () => {
  it.each([
    ["the call's option", { requireToolApproval: true }, {}],
    [
      "a function",
      { requireToolApproval: ({ toolName, args }: any) => toolName === "t" && args.a === 1 },
      {},
    ],
    [
      "a function that throws",
      {
        requireToolApproval: () => {
          throw new Error("?");
        },
      },
      {},
    ],
    ["the tool", {}, { requireApproval: true }],
    ["the tool's function", {}, { requireApproval: (input: any) => input.a === 1 }],
    [
      "the tool's function that throws",
      {},
      {
        requireApproval: () => {
          throw new Error("?");
        },
      },
    ],
  ])("is asked for by %s", async (_, options, more) => {
    const { output, chunks, model } = await one(
      { t: tool(() => expect.fail("unasked") as never, more) },
      "t",
      { a: 1 },
      options as never,
    );
    expect(chunks.find((chunk) => chunk.type === "tool-call-approval")).toMatchObject({
      payload: { toolCallId: "call-1-1", toolName: "t", args: { a: 1 } },
    });
    expect([output.status, await output.finishReason]).toEqual(["suspended", "suspended"]);
    expect(await output.suspendPayload).toEqual({ toolCallId: "call-1-1", toolName: "t", args: { a: 1 } });
    expect(JSON.parse((await output.resumeSchema)!)).toMatchObject({ required: ["approved"] });
    expect(model.calls).toHaveLength(1);
  });

  it("is not asked for when the function says no", async () => {
    expect(
      await (
        await one({ t: tool(() => 1) }, "t", {}, { requireToolApproval: () => false })
      ).output.finishReason,
    ).toBe("stop");
  });

  it.each([
    ["its own decision", undefined, { decision: "ask", reason: "its own" }, "ask: its own"],
    ["nothing, if it allows the call", undefined, { decision: "allow", reason: "its own" }, "runs"],
    [
      "its reason, where a rule asks without one",
      () => true,
      { decision: "allow", reason: "its own" },
      "ask: its own",
    ],
    [
      "the rule's reason, where it has one",
      () => ({ decision: "ask", reason: "a rule" }),
      { decision: "ask", reason: "its own" },
      "ask: a rule",
    ],
    [
      "nothing, if a rule allows the call",
      () => ({ decision: "allow" }),
      { decision: "ask", reason: "its own" },
      "runs",
    ],
    [
      "its question, even if a rule allows the call",
      () => ({ decision: "allow" }),
      { decision: "ask", always: true, reason: "its own" },
      "ask: its own",
    ],
    [
      "nothing, if a rule allows the call and its own check fails",
      () => ({ decision: "allow" }),
      undefined,
      "runs",
    ],
    [
      "a refusal, if a rule denies the call",
      () => ({ decision: "deny" }),
      { decision: "ask", always: true, reason: "its own" },
      "denied",
    ],
  ])("of a tool that decides by call shows %s", async (_, requireToolApproval, own, expected) => {
    let ran = false;
    const t = tool(() => (ran = true), { requireApproval: () => own ?? expect.fail("unable") });
    const { chunks } = await one({ t }, "t", {}, { requireToolApproval } as AgentExecutionOptions);
    const asked = chunks.find(({ type }) => type === "tool-call-approval") as { payload: { reason: string } };
    expect(asked ? `ask: ${asked.payload.reason}` : ran ? "runs" : "denied").toBe(expected);
  });

  it("runs the other calls of the step meanwhile", async () => {
    const tools = { ask: tool(() => 1, { requireApproval: true }), free: tool(() => "free") };
    const { output, chunks } = await runCalls(tools, [
      { toolName: "ask", input: {} },
      { toolName: "free", input: {} },
    ]);
    expect(
      chunks
        .map((chunk) => chunk.type)
        .filter((type) => type.startsWith("tool-result") || type === "tool-call-approval"),
    ).toEqual(["tool-result", "tool-call-approval"]);
    expect(await output.finishReason).toBe("suspended");
  });

  it("lets a tool suspend with a payload", async () => {
    const t = tool(
      async (_: unknown, { suspend }: any) => {
        await suspend({ ask: "name?" });
      },
      { resumeSchema: z.object({ name: z.string() }) },
    );
    const { output, chunks } = await one({ t });
    expect(chunks.find((chunk) => chunk.type === "tool-call-suspended")).toMatchObject({
      payload: { suspendPayload: { ask: "name?" } },
    });
    expect(await output.suspendPayload).toEqual({ ask: "name?" });
    expect(JSON.parse((await output.resumeSchema)!)).toMatchObject({
      properties: { name: { type: "string" } },
    });
  });
});

describe("createTool().execute", () => {
  it("works without arguments and validates both ways", async () => {
    expect(
      await createTool({
        id: "t",
        description: "",
        inputSchema: z.object({}),
        execute: async () => 5,
      }).execute(),
    ).toBe(5);
    const strict = createTool({
      id: "t",
      description: "",
      inputSchema: z.object({ a: z.string() }),
      execute: async ({ context }) => context.a,
    });
    expect(await strict.execute({ context: { a: 1 as never } })).toMatchObject({
      error: true,
      validationErrors: [{ path: ["a"] }],
    });
    expect(await strict.execute({ context: { a: "x" } })).toBe("x");
  });
});
