import { createTool as createCoreTool } from "@selvedge/core/tools";
import type { ScriptedCall, ScriptedReply } from "@selvedge/testing";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { HERE, served, type Served } from "./__fixtures__/served-agent.ts";
import { AgentError, createTool, type LocalTools, MastraClient } from "./index.ts";

const MEMORY = { thread: HERE.threadId, resource: HERE.resourceId };

const open = new Set<{ close(): Promise<void> }>();
afterEach(async () => {
  for (const each of open) await each.close();
  open.clear();
});

async function world(...args: Parameters<typeof served>): Promise<Served> {
  const made = await served(...args);
  open.add(made);
  return made;
}

function colourTool(ran: unknown[] = []): LocalTools {
  const changeColour = createTool({
    id: "changeColour",
    description: "Changes the colour of the page.",
    inputSchema: z.object({ colour: z.string() }),
    execute: async ({ context, threadId }, { toolCallId }) => {
      ran.push({ colour: context.colour, threadId, toolCallId });
      return { painted: context.colour };
    },
  });
  return { changeColour };
}

/** Asks for the tool until the prompt has its result, then says what the result was. */
function painter({ prompt, index }: ScriptedCall): ScriptedReply | string {
  const results = prompt.flatMap((message) => (message.role === "tool" ? message.content : []));
  const last = results.at(-1) as { output?: { value?: unknown } } | undefined;
  if (last) return `Done: ${JSON.stringify(last.output?.value)}`;
  return {
    toolCalls: [{ toolName: "changeColour", toolCallId: `c${index}`, input: { colour: "blue" } }],
  };
}

const PAINTED = 'Done: {"painted":"blue"}';

describe("tools of the client", () => {
  it.each([
    ["without a thread", {}, undefined],
    ["on a thread", { memory: MEMORY }, "t1"],
  ])("run here and their results go back, with generate() %s", async (_, options, threadId) => {
    const ran: unknown[] = [];
    const { client, model } = await world(painter);
    const result = await client
      .getAgent("weaver")
      .generate("Blue!", { ...options, clientTools: colourTool(ran) });
    expect(result.text).toBe(PAINTED);
    expect(ran).toEqual([{ colour: "blue", threadId, toolCallId: "c0" }]);
    expect(model.calls).toHaveLength(2);
    expect(model.calls[0]!.tools).toMatchObject([
      { name: "changeColour", inputSchema: { required: ["colour"] } },
    ]);
  });

  it.each([
    ["without a thread", {}],
    ["on a thread", { memory: MEMORY }],
  ])("run here and the answer goes on on the same stream, with stream() %s", async (_, options) => {
    const ran: unknown[] = [];
    const { client, model } = await world(painter);
    const stream = await client
      .getAgent("weaver")
      .stream("Blue!", { ...options, clientTools: colourTool(ran) });
    const types: string[] = [];
    let text = "";
    await stream.processDataStream({
      onChunk: (chunk) => {
        types.push(chunk.type);
        if (chunk.type === "text-delta") text += chunk.payload.text;
      },
    });
    expect(text).toBe(PAINTED);
    expect(ran).toHaveLength(1);
    expect(types.filter((type) => type === "finish")).toHaveLength(2);
    expect(model.calls).toHaveLength(2);
  });

  it("run for a subscriber, and the run goes on on the thread", async () => {
    const ran: unknown[] = [];
    const { client, model } = await world(painter);
    const agent = client.getAgent("weaver");
    const clientTools = colourTool(ran);
    const subscription = await agent.subscribeToThread({ ...HERE, clientTools });
    await agent.sendMessage({ message: "Blue!", ...HERE, ifIdle: { streamOptions: { clientTools } } });
    let text = "";
    for await (const chunk of subscription) {
      if (chunk.type === "text-delta") text += chunk.payload.text;
      if (chunk.type === "finish" && text !== "") break;
    }
    expect(text).toBe(PAINTED);
    expect(ran).toEqual([{ colour: "blue", threadId: "t1", toolCallId: "c0" }]);
    expect(model.calls).toHaveLength(2);
    const { messages } = await client.getMemoryThread(HERE).listMessages();
    const calls = messages.flatMap(({ content }) =>
      content.parts.flatMap((part) => (part.type === "tool-invocation" ? part.toolInvocation : [])),
    );
    expect(calls).toMatchObject([{ state: "result", result: { painted: "blue" } }]);
  });

  it("are answered once when two subscribers have them", async () => {
    const { client, model } = await world(painter);
    const agent = client.getAgent("weaver");
    const clientTools = colourTool();
    const readers = await Promise.all([1, 2].map(() => agent.subscribeToThread({ ...HERE, clientTools })));
    const texts = readers.map(async (reader) => {
      let text = "";
      for await (const chunk of reader) {
        if (chunk.type === "text-delta") text += chunk.payload.text;
        if (chunk.type === "finish" && text !== "") break;
      }
      return text;
    });
    await agent.sendMessage({ message: "Blue!", ...HERE, ifIdle: { streamOptions: { clientTools } } });
    expect(await Promise.all(texts)).toEqual([PAINTED, PAINTED]);
    expect(model.calls).toHaveLength(2);
  });

  it("tell the model what they threw, and what did not fit", async () => {
    const execute = () => {
      throw new Error("No paint.");
    };
    const broken = { changeColour: createTool({ id: "x", description: "", execute }) };
    const { client } = await world(painter);
    expect((await client.getAgent("weaver").generate("Blue!", { clientTools: broken })).text).toBe(
      'Done: "No paint."',
    );
  });

  it("are left to the caller when they have no execute", async () => {
    const { client } = await world(painter);
    const { finishReason, toolCalls } = await client
      .getAgent("weaver")
      .generate("Blue!", { clientTools: { changeColour: { description: "Changes the colour." } } });
    expect(finishReason).toBe("tool-calls");
    expect(toolCalls).toMatchObject([{ toolName: "changeColour", args: { colour: "blue" } }]);
  });

  it("receive the input itself, with the thread and the call beside it", async () => {
    const seen: unknown[] = [];
    const changeColour = createTool({
      id: "changeColour",
      description: "Changes the colour.",
      inputSchema: z.object({ colour: z.string() }),
      execute: ({ colour, context, runId }, call) => {
        seen.push(colour, context, runId === call.runId, call.toolCallId);
        return { painted: colour };
      },
    });
    const { client } = await world(painter);
    const { text } = await client.getAgent("weaver").generate("Blue!", { clientTools: { changeColour } });
    expect(text).toBe(PAINTED);
    expect(seen).toEqual(["blue", { colour: "blue" }, true, "c0"]);
  });

  it("may be tools of core", async () => {
    const changeColour = createCoreTool({
      id: "changeColour",
      description: "Changes the colour.",
      inputSchema: z.object({ colour: z.string() }),
      execute: async ({ context }) => ({ painted: context.colour }),
    });
    const { client } = await world(painter);
    const clientTools = { changeColour } as unknown as LocalTools;
    expect((await client.getAgent("weaver").generate("Blue!", { clientTools })).text).toBe(PAINTED);
  });
});

describe("errors", () => {
  it("are the server's own, with code, message and whether to try again", async () => {
    const { client } = await world(["Hello."]);
    const error = await client
      .getAgent("nobody")
      .generate("Hi")
      .catch((thrown: unknown) => thrown);
    expect(AgentError.is(error, "not-found")).toBe(true);
    expect(error).toMatchObject({ status: 404, retryable: false, message: 'There is no agent "nobody".' });
  });

  it("say that nobody answered", async () => {
    const { client, server } = await world(["Hello."]);
    await server.close();
    await expect(client.listAgents()).rejects.toMatchObject({ code: "connection-failed", retryable: true });
  });

  it("tell of a body that does not fit before anything happens", async () => {
    const { client, model } = await world(["Hello."]);
    const wrong = { maxSteps: "many" as unknown as number };
    await expect(client.getAgent("weaver").generate("Hi", wrong)).rejects.toMatchObject({
      code: "invalid-argument",
    });
    expect(model.calls).toHaveLength(0);
  });

  it("of an abort are the abort's reason", async () => {
    const { client } = await world([{ hang: true }]);
    const controller = new AbortController();
    const answer = client.getAgent("weaver").generate("Hi", { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(answer).rejects.toThrow("enough");
  });
});

describe("requests", () => {
  it("carry the headers that the options give at that moment", async () => {
    let token = 0;
    const seen: string[] = [];
    const { server } = await world(["Hello."]);
    const client = new MastraClient({
      baseUrl: `${server.url}/`,
      headers: () => ({ authorization: `Bearer ${++token}` }),
      fetch: (url, init) => {
        seen.push(new Headers(init.headers).get("authorization") ?? "");
        return fetch(url, init);
      },
    });
    await client.listAgents();
    await client.getMemoryStatus();
    expect(seen).toEqual(["Bearer 1", "Bearer 2"]);
  });

  it("that only read are repeated, and those that do something are not", async () => {
    const { server, model } = await world(() => "Hello.");
    let failing = 2;
    let requests = 0;
    const client = new MastraClient({
      baseUrl: server.url,
      backoffMs: 1,
      fetch: async (url, init) => {
        requests++;
        const response = await fetch(url, init);
        if (failing-- <= 0) return response;
        await response.body?.cancel();
        throw new TypeError("The line is dead.");
      },
    });
    expect(Object.keys(await client.listAgents())).toEqual(["weaver"]);
    expect(requests).toBe(3);
    failing = 1;
    await expect(client.getAgent("weaver").generate("Hi")).rejects.toMatchObject({
      code: "connection-failed",
    });
    expect(requests).toBe(4);
    failing = 1;
    const sent = await client.getAgent("weaver").sendMessage({ message: "Hi", ...HERE });
    expect(sent).toMatchObject({ accepted: true, duplicate: true });
    await expect.poll(() => model.calls.length).toBe(2);
  });
});

describe("memory", () => {
  it("is read and changed through the client", async () => {
    const { client } = await world(["Hello."]);
    await client.createMemoryThread({ ...HERE, title: "A loom" });
    const thread = client.getMemoryThread({ ...HERE, agentId: "weaver" });
    await client.getAgent("weaver").generate("Hi", { memory: MEMORY });
    expect((await thread.listMessages()).messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(await thread.update({ title: "Another" })).toMatchObject({ title: "Another" });
    expect((await client.listMemoryThreads({ resourceId: "r1" })).threads).toMatchObject([{ id: "t1" }]);
    const { thread: copy, clonedMessages } = await thread.clone({ newThreadId: "t2", resourceId: "r1" });
    expect([copy.id, clonedMessages.length]).toEqual(["t2", 2]);
    expect(await thread.state()).toMatchObject({ runState: "idle", queue: [], approvals: [] });
    expect((await thread.listRuns()).runs).toMatchObject([{ state: "done", steps: 1 }]);
    expect((await client.searchMemory({ searchQuery: "Hello", resourceId: "r1" })).count).toBeGreaterThan(0);
    await thread.delete();
    await expect(thread.get()).rejects.toMatchObject({ code: "not-found" });
  });

  it("has a queue that can be seen and changed", async () => {
    const gate = Promise.withResolvers<void>();
    const { client } = await world(async ({ index }) => {
      if (index === 0) await gate.promise;
      return "Hello.";
    });
    const agent = client.getAgent("weaver");
    const thread = client.getMemoryThread(HERE);
    await agent.sendMessage({ message: "one", ...HERE });
    const { signal } = await agent.queueMessage({ message: "two", ...HERE });
    const { signal: unwanted } = await agent.queueMessage({ message: "three", ...HERE });
    await thread.editQueued(signal.id, { contents: "two, better", resourceId: HERE.resourceId });
    await thread.removeQueued(unwanted.id);
    const { messages } = await thread.listQueue();
    expect(messages.map((message) => message.signal.contents)).toEqual(["two, better"]);
    gate.resolve();
  });
});

describe("any route", () => {
  it("is called by its name, without a method of its own", async () => {
    const { client } = await world(["Hello."]);
    expect(await client.call("health")).toEqual({ status: "ok" });
    expect(await client.call("getAgent", { params: { agentId: "weaver" } })).toMatchObject({ id: "weaver" });
    const page = await client.call("explorer");
    expect(page.headers.get("content-type")).toContain("text/html");
  });
});
