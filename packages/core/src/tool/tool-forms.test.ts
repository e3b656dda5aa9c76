import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agentWith, bareMemory, chunksOf } from "../agent/__fixtures__/agent-with.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { createTool, type ToolLike } from "./tool.ts";

/** Runs a tool through an agent and returns what its `execute` was given. */
async function given(inputSchema: unknown, input: unknown, form: "createTool" | "object" = "createTool") {
  let args: any[] = [];
  const definition = {
    id: "t",
    description: "",
    ...(inputSchema !== undefined && { inputSchema }),
    execute: async (...all: any[]) => void (args = all),
  };
  const t = form === "createTool" ? createTool(definition as never) : (definition as ToolLike);
  const { agent } = agentWith([{ toolCalls: [{ toolName: "t", input }] }, "done"], {
    id: "helper",
    tools: { t: t as ToolLike },
    memory: bareMemory(),
  });
  const requestContext = new RequestContext({ tenant: "acme" });
  const output = await agent.generate("go", {
    requestContext,
    runId: "run-1",
    memory: { thread: "thread-1", resource: "user-1" },
  });
  expect(output.text).toBe("done");
  expect(args).toHaveLength(2);
  return { first: args[0], second: args[1], requestContext };
}

const CITY = z.object({ city: z.string() });

describe("execute", () => {
  it.each(["createTool", "object"] as const)(
    "receives the input itself, with `context` and the run beside it (%s)",
    async (form) => {
      const { first, requestContext } = await given(CITY, { city: "Oslo" }, form);
      const { city, context, runId, threadId, resourceId } = first;
      expect([city, context, runId]).toEqual(["Oslo", { city: "Oslo" }, "run-1"]);
      expect([threadId, resourceId]).toEqual(["thread-1", "user-1"]);
      expect(first.requestContext).toBe(requestContext);
      expect(first.runtimeContext).toBe(requestContext);
      expect(Object.keys(first)).toEqual(["city"]);
      expect(JSON.stringify({ ...first })).toBe('{"city":"Oslo"}');
    },
  );

  it("receives the context of today's form as its second argument, with the documented options in it", async () => {
    const { second, requestContext } = await given(CITY, { city: "Oslo" });
    expect(second.requestContext).toBe(requestContext);
    expect(second).toMatchObject({ runId: "run-1", threadId: "thread-1", resourceId: "user-1" });
    expect(second).toMatchObject({ toolCallId: "call-1-1", idempotencyKey: "run-1:call-1-1" });
    expect(second.abortSignal).toBeInstanceOf(AbortSignal);
    expect(second.agent).toMatchObject({
      agentId: "helper",
      toolCallId: "call-1-1",
      threadId: "thread-1",
      resourceId: "user-1",
      suspend: second.suspend,
      writableStream: second.writer,
    });
    expect(second.agent.messages).toHaveLength(1);
    expect(second.mcp).toBeUndefined();
  });

  it("resumes a tool that suspends in today's form", async () => {
    const seen: unknown[] = [];
    const t = createTool({
      id: "t",
      description: "",
      inputSchema: CITY,
      execute: async ({ city }, { agent: run }) => {
        if (run?.resumeData === undefined) return run?.suspend({ ask: city });
        seen.push(run.resumeData);
        return "ok";
      },
    });
    const { agent } = agentWith([{ toolCalls: [{ toolName: "t", input: { city: "Oslo" } }] }, "done"], {
      tools: { t },
      memory: bareMemory(),
    });
    const memory = { thread: "t1", resource: "u1" };
    const first = await agent.generate("go", { memory });
    expect(first.suspendPayload).toEqual({ ask: "Oslo" });
    await agent.approveToolCall({ runId: first.runId, resumeData: { yes: true } }).then(chunksOf);
    expect(seen).toEqual([{ yes: true }]);
  });

  it("never lets an input say whose run it is", async () => {
    const input = { context: "c", runId: "r", threadId: "t", resourceId: "x", mastra: 1, requestContext: 2 };
    for (const schema of [
      z.looseObject({ context: z.string() }),
      z.object({ runId: z.string() }),
      undefined,
    ]) {
      const { first, requestContext } = await given(schema, input);
      expect([first.runId, first.threadId, first.resourceId]).toEqual(["run-1", "thread-1", "user-1"]);
      expect(first.requestContext).toBe(requestContext);
      expect(first.context).toEqual(schema ? schema.parse(input) : input);
    }
    let seen: any;
    const t = createTool({ id: "t", description: "", execute: async (call) => void (seen = call) });
    await t.execute({ context: { resourceId: "somebody" } });
    expect([seen.resourceId, seen.context.resourceId]).toEqual([undefined, "somebody"]);
  });

  class Money {
    readonly #cents: number;
    constructor(cents: number) {
      this.#cents = cents;
    }
    get euros(): number {
      return this.#cents / 100;
    }
    plus(more: number): Money {
      return new Money(this.#cents + more);
    }
  }

  it("receives what a schema made of the input, and leaves it as it was", async () => {
    const frozen = Object.freeze({ city: "Oslo" });
    const plain = await given(
      CITY.transform(() => frozen),
      { city: "x" },
    );
    expect([plain.first.city, plain.first.context]).toEqual(["Oslo", frozen]);

    const shared = new Money(250);
    const money = await given(
      z.object({}).transform(() => shared),
      {},
    );
    expect(money.first).toBeInstanceOf(Money);
    expect([money.first.euros, money.first.plus(50).euros, money.first.runId]).toEqual([2.5, 3, "run-1"]);
    expect(money.first.context).toBe(shared);
    expect("runId" in shared).toBe(false);

    const fixed = Object.freeze(Object.assign(new Money(1), { runId: "own" }));
    const { first } = await given(
      z.object({}).transform(() => fixed),
      {},
    );
    expect([first.context, first.runId]).toEqual([fixed, "run-1"]);

    const map = await given(
      z.object({}).transform(() => new Map([["a", 1]])),
      {},
    );
    expect([map.first.get("a"), map.first.size, [...map.first]]).toEqual([1, 1, [["a", 1]]]);

    const list = await given(
      z.object({}).transform(() => Object.freeze(["a", "b"])),
      {},
    );
    expect([Array.isArray(list.first), list.first.length, list.first.context]).toEqual([true, 2, ["a", "b"]]);
    expect(JSON.stringify(list.first)).toBe('["a","b"]');

    const text = await given(
      z.object({ city: z.string() }).transform(({ city }) => city),
      { city: "Oslo" },
    );
    expect([text.first.context, text.first.runId]).toEqual(["Oslo", "run-1"]);
  });

  it("keeps a field called __proto__ a field", async () => {
    const { first } = await given(undefined, JSON.parse('{"__proto__":{"admin":true},"a":1}'));
    expect([first.a, first.admin, Object.keys(first)]).toEqual([1, undefined, ["__proto__", "a"]]);
  });
});

describe("createTool().execute", () => {
  const weather = createTool({
    id: "t",
    description: "",
    inputSchema: CITY,
    execute: async ({ city, context }, { requestContext, threadId }) => ({
      city,
      same: city === context.city,
      tenant: requestContext.get("tenant") as string,
      threadId,
    }),
  });
  const requestContext = new RequestContext({ tenant: "acme" });
  const expected = { city: "Oslo", same: true, tenant: "acme", threadId: "t1" };

  it("accepts the input itself or `{ context: input }`", async () => {
    expect(await weather.execute({ context: { city: "Oslo" }, requestContext, threadId: "t1" })).toEqual(
      expected,
    );
    expect(await weather.execute({ city: "Oslo" }, { requestContext, threadId: "t1" })).toEqual(expected);
    expect(await weather.execute({ city: 5 as never })).toMatchObject({
      validationErrors: [{ path: ["city"] }],
    });
  });

  it("accepts what another tool was given", async () => {
    const wrapper = createTool({
      id: "w",
      description: "",
      inputSchema: CITY,
      execute: async (input, context) => [
        await weather.execute(input, context),
        await weather.execute({ ...input, city: "Rome" }, context),
        await weather.execute({ ...input, context: { city: "Rome" } }, context),
      ],
    });
    const rome = { ...expected, city: "Rome" };
    expect(await wrapper.execute({ city: "Oslo" }, { requestContext, threadId: "t1" })).toEqual([
      expected,
      rome,
      rome,
    ]);
  });

  it("reads fields with documented names as input when the schema declares them", async () => {
    const echo = (inputSchema: any) =>
      createTool({ id: "t", description: "", inputSchema, execute: async ({ context }) => context });
    const question = z.object({ context: z.string(), query: z.string().optional() });
    expect(await echo(question).execute({ context: "text", query: "q" })).toEqual({
      context: "text",
      query: "q",
    });
    expect(await echo(question).execute({ context: "text" })).toEqual({ context: "text" });
    expect(await echo(question).execute({ context: { context: "text" } })).toEqual({ context: "text" });
    const thread = z.object({ threadId: z.string().optional() });
    expect(await echo(thread).execute({ threadId: "t" })).toEqual({ threadId: "t" });
    expect(await echo(z.strictObject({})).execute({ requestContext })).toEqual({});
    const optional = z.object({ topK: z.number().optional() });
    expect(await echo(optional).execute({ context: { topK: "x" } })).toMatchObject({ error: true });
    expect(await echo(z.string()).execute("text")).toBe("text");
  });
});
