import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import type { ScriptedReply } from "@selvedge/testing";
import type { AgentConfig } from "../../agent/agent-config.ts";
import { HERE, ON, onThread } from "../../agent/__fixtures__/on-thread.ts";
import { silentLogger } from "../../logger.ts";
import { RequestContext } from "../../request-context/request-context.ts";
import { RUNS } from "../../storage/thread-tables.ts";
import { createTool } from "../../tool/tool.ts";

const circular: Record<string, unknown> = { code: 7 };
circular["self"] = circular;
let deep: unknown = 1;
for (let level = 0; level < 50_000; level++) deep = [deep];
/** What is JSON when it is first looked at, and later is not. */
function turning(): object {
  let looks = 0;
  return {
    get value() {
      if (++looks > 1) throw new Error("looked at twice");
      return 1;
    },
  };
}
const VALUES: [string, () => unknown][] = [
  ["a cycle", () => circular],
  ["a BigInt", () => ({ n: 1n })],
  [
    "a property that throws",
    () => ({
      get bad() {
        throw new Error("no");
      },
    }),
  ],
  [
    "a toJSON that throws",
    () => ({
      toJSON() {
        throw new Error("no");
      },
    }),
  ],
  ["a symbol", () => Symbol("s")],
  ["a function", () => () => 1],
  ["a date that is none", () => new Date(Number.NaN)],
  ["not a number", () => Number.NaN],
  ["a deep list", () => deep],
  ["a value that changes", turning],
  ["text that is not well-formed", () => "\ud800\0"],
];

const call: ScriptedReply = { toolCalls: [{ toolName: "t", input: {} }] };
const tool = (execute: (...args: any[]) => unknown) => ({
  t: createTool({ id: "t", description: "", execute } as never),
});

/** Sends one message, waits for the thread to be idle, and answers how the run went. */
async function runOf(config: Partial<AgentConfig>, script: ScriptedReply[] = [call], options: object = {}) {
  const errors: unknown[] = [];
  const { agent, model, idle, storage, follow } = onThread(
    ({ index }) => script[index] ?? (index < 10 ? "done" : { error: new Error("asked too often") }),
    { logger: { ...silentLogger, error: (...said) => void errors.push(said) }, ...config },
  );
  const reader = await follow();
  await agent.sendMessage("go", { ...HERE, ifIdle: { streamOptions: options } }).admitted;
  await idle();
  const [run] = await storage.select({ table: RUNS });
  reader.stop();
  // Whoever reads the stream over the wire gets JSON.
  expect(() => JSON.stringify(reader.chunks)).not.toThrow();
  expect(errors).toEqual([]);
  return { state: run!["state"], calls: model.calls.length, types: new Set(reader.types) };
}

/** A reply in which the provider says something about a part of it. */
const provider = (parts: object[]): ScriptedReply => ({
  parts: [
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "hello" },
    { type: "text-end", id: "1" },
    ...parts,
    {
      type: "finish",
      finishReason: { unified: "stop", raw: "stop" },
      usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
    },
  ] as LanguageModelV4StreamPart[],
});

describe.each(VALUES)("%s", (_, make) => {
  it("that a tool throws ends as a tool error", async () => {
    const tools = tool(() => {
      throw make();
    });
    const { types, ...rest } = await runOf({ tools });
    expect([rest, types.has("tool-error")]).toEqual([{ state: "done", calls: 2 }, true]);
  });

  it("that a tool throws as the message or the details of an error ends as a tool error", async () => {
    const tools = tool(() => {
      const error = new Error("x");
      Object.assign(error, { code: make(), details: make() });
      Object.defineProperty(error, "message", { get: make as () => string });
      throw error;
    });
    expect(await runOf({ tools })).toMatchObject({ state: "done", calls: 2 });
  });

  it("that a tool returns is described", async () => {
    expect(await runOf({ tools: tool(make) })).toMatchObject({ state: "done", calls: 2 });
    const toModelOutput = createTool({
      id: "t",
      description: "",
      execute: async () => 1,
      toModelOutput: make,
    });
    expect(await runOf({ tools: { t: toModelOutput } })).toMatchObject({ state: "done", calls: 2 });
  });

  it("that a tool writes or suspends with does not stop the run", async () => {
    const tools = tool(async (_input: unknown, { writer }: any) => {
      await writer.write(make());
      await writer.custom({ type: "data-x", data: make() });
      await writer.custom({ type: "data-y", data: make(), transient: true });
    });
    expect(await runOf({ tools })).toMatchObject({ state: "done", calls: 2 });
    const { agent } = onThread([call, "done"], {
      tools: tool((_input: unknown, { suspend, resumeData }: any) => resumeData ?? suspend(make())),
    });
    const output = await agent.stream("go", ON);
    expect(await output.finishReason).toBe("suspended");
    expect(await (await agent.approveToolCall({ runId: output.runId })).text).toBe("done");
  });

  it("that a provider sends does not stop the run", async () => {
    const metadata = { some: { value: make() } };
    const script = provider([
      { type: "text-start", id: "2", providerMetadata: metadata },
      { type: "text-delta", id: "2", delta: "!", providerMetadata: metadata },
      { type: "text-end", id: "2", providerMetadata: metadata },
      { type: "reasoning-start", id: "3", providerMetadata: metadata },
      { type: "reasoning-end", id: "3", providerMetadata: metadata },
      { type: "source", sourceType: "url", id: "4", url: "http://a.b", providerMetadata: metadata },
      {
        type: "tool-call",
        toolCallId: "p",
        toolName: "web",
        input: "{}",
        providerExecuted: true,
        providerMetadata: metadata,
      },
      { type: "tool-result", toolCallId: "p", toolName: "web", result: make(), providerMetadata: metadata },
      { type: "raw", rawValue: make() },
      { type: "stream-start", warnings: [{ type: "other", message: "x", details: make() }] },
      { type: "response-metadata", id: "r", timestamp: make() },
    ]);
    expect(await runOf({}, [script], { includeRawChunks: true })).toMatchObject({ state: "done", calls: 1 });
  });

  it("that a processor gives does not stop the run", async () => {
    const step = {
      id: "p",
      processInput: ({ writer }: any) => writer.custom({ type: "data-x", data: make() }),
      processOutputStream: ({ part }: any) =>
        part.type === "text-end" ? [{ ...part, metadata: { value: make() } }] : part,
      processToolResult: () => ({ result: make() }),
      processOutputStep: ({ messages }: any) => {
        messages.at(-1).content.parts.push({ type: "data-own", data: make() });
        return messages;
      },
      processOutputResult: ({ messages }: any) => {
        messages.at(-1).content.metadata = { own: make() };
      },
    };
    const config = { tools: tool(() => 1), inputProcessors: [step], outputProcessors: [step] };
    expect(await runOf(config as never)).toMatchObject({ state: "done", calls: 2 });
  });

  it("that a processor aborts with ends the run once", async () => {
    const trips = { id: "p", processOutputStep: ({ abort }: any) => abort(make(), { metadata: make() }) };
    expect(await runOf({ outputProcessors: [trips] })).toMatchObject({ state: "failed", calls: 1 });
  });

  it("in a request context does not stop the run", async () => {
    const requestContext = new RequestContext({ value: make() });
    expect(await runOf({ tools: tool(() => 1) }, [call], { requestContext })).toMatchObject({
      state: "done",
      calls: 2,
    });
  });
});

describe("a provider's ids", () => {
  it.each(["a\0b", "\ud800", "__proto__"])("may be any text, such as %j", async (id) => {
    const script = provider([{ type: "tool-call", toolCallId: id, toolName: `t${id}`, input: "{}" }]);
    expect(await runOf({ tools: tool(() => 1) }, [script])).toMatchObject({ state: "done", calls: 2 });
  });

  it("may have arguments nested deeper than anything can be checked", async () => {
    const input = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    const script = provider([{ type: "tool-call", toolCallId: "1", toolName: "t", input }]);
    expect(await runOf({ tools: tool(() => 1) }, [script])).toMatchObject({ state: "done", calls: 2 });
  });
});
