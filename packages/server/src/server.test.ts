import { Memory } from "@selvedge/memory";
import { describe, expect, test } from "vitest";
import { byHeader, frames, gate, readUntil, served } from "./__fixtures__/served.ts";

const HERE = { threadId: "t1", resourceId: "ann" };
const agentId = "helper";

describe("agents", () => {
  test("are listed by name, with their tools as JSON Schema", async () => {
    const { json } = served([]);
    const agents = await json("listAgents");
    expect(Object.keys(agents)).toEqual(["helper", "bare"]);
    expect(agents["helper"]).toMatchObject({
      id: "helper",
      hasMemory: true,
      instructions: "A secret instruction.",
      tools: { add: { id: "add", inputSchema: { type: "object" } }, pay: { requireApproval: true } },
    });
    expect(await json("getAgent", { params: { agentId } })).toMatchObject({ name: "Helper" });
  });

  test("generate answers everything at once, without what was sent to the model", async () => {
    const { call } = served(["Hello."]);
    const response = await call("generate", { params: { agentId: "bare" }, body: { messages: "Hi" } });
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ text: "Hello.", finishReason: "stop", usage: {} });
    expect(text).not.toContain("secret");
  });

  test("stream without a thread gives the chunks of the run and ends", async () => {
    const { call } = served(["Hello."]);
    const response = await call("stream", { params: { agentId: "bare" }, body: { messages: "Hi" } });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const types = [];
    for await (const { data, id } of frames(response)) {
      types.push((data as { type: string }).type);
      expect(id).toBeUndefined();
    }
    expect(types[0]).toBe("start");
    expect(types.at(-1)).toBe("finish");
  });

  test("stream on a thread numbers its chunks and goes on when the reader leaves", async () => {
    const release = gate();
    const { call, json } = served(async () => {
      await release.opened;
      return "The whole answer.";
    });
    const controller = new AbortController();
    const response = await call("stream", {
      params: { agentId },
      body: { messages: "Hi", memory: { thread: "t1", resource: "ann" } },
      signal: controller.signal,
    });
    const stream = frames(response);
    const first = await stream.next();
    expect(first.value).toMatchObject({ id: "1", data: { type: "start", seq: 1 } });
    const { runId } = first.value!.data as { runId: string };
    expect(response.headers.get("x-run-id")).toBe(runId);
    await stream.return(undefined);
    release.open();
    const rest = frames(
      await call("observe", {
        params: { agentId },
        body: { ...HERE, runId },
        headers: { "last-event-id": "1" },
      }),
    );
    const seen = await readUntil(rest, "finish");
    expect(seen.map(({ id }) => Number(id))).toEqual(seen.map((_, index) => index + 2));
    expect(await rest.next()).toMatchObject({ done: true });
    const { messages } = await json("listMessages", { params: { threadId: "t1" } });
    expect(JSON.stringify(messages)).toContain("The whole answer.");
  });

  test("a run that could not begin ends its stream with the error", async () => {
    const { call, json } = served([{ toolCalls: [{ toolName: "pay", input: { amount: 1 } }] }, "never"]);
    const send = {
      params: { agentId },
      body: { messages: "Pay", memory: { thread: "t1", resource: "ann" } },
    };
    await readUntil(frames(await call("stream", send)), "finish");
    const blocked = await readUntil(frames(await call("stream", send)), "error");
    expect(blocked.at(-1)!.data).toMatchObject({ payload: { error: { code: "thread-suspended" } } });
    expect(await json("getThreadState", { params: { threadId: "t1" } })).toMatchObject({
      runState: "suspended",
    });
  });
});

describe("threads", () => {
  test("gives a reader that does not ask for events frames of data alone, with the numbers inside", async () => {
    const { call } = served(["Hello"]);
    const body = { messages: "Hi", memory: { thread: "t1", resource: "ann" } };
    const response = await call("stream", { params: { agentId }, body, headers: { accept: "*/*" } });
    const blocks = (await response.text()).split("\n\n").filter((block) => block.includes("data: "));
    expect(blocks.filter((block) => !block.startsWith("data: "))).toEqual([]);
    const seqs = blocks.map((block) => (JSON.parse(block.slice("data: ".length)) as { seq: number }).seq);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  });

  test("a message is durable when it is answered, and its run is on the stream", async () => {
    const { call, json } = served(["One.", "Two."]);
    const stream = frames(await call("subscribe", { params: { agentId }, body: HERE }));
    const sent = await json("sendMessage", { params: { agentId }, body: { message: "First", ...HERE } });
    expect(sent).toMatchObject({ accepted: true, action: "wake", signal: { contents: "First" } });
    const read = await readUntil(stream, "finish");
    expect(read.map(({ id }) => Number(id))).toEqual(read.map((_, index) => index + 1));
    expect((read[0]!.data as { runId: string }).runId).toBe(sent.runId);
    await stream.return(undefined);
  });

  test("the same idempotency key is the same message", async () => {
    const { json } = served(["One.", "Two."]);
    const send = {
      params: { agentId },
      body: { message: "Hi", ...HERE },
      headers: { "idempotency-key": "k1" },
    };
    const first = await json("sendMessage", send);
    const again = await json("sendMessage", send);
    expect(again).toMatchObject({ runId: first.runId, duplicate: true, signal: { id: first.signal.id } });
  });

  test("a reader that comes back with Last-Event-ID gets the rest once, also after the run", async () => {
    const { call, json } = served(["some words to read"]);
    await json("sendMessage", { params: { agentId }, body: { message: "Hi", ...HERE } });
    const whole = await readUntil(
      frames(await call("watchThread", { params: { agentId, threadId: "t1" }, query: { after: 0 } })),
      "finish",
    );
    for (const after of [0, 3, whole.length - 1]) {
      const rest = await readUntil(
        frames(
          await call("watchThread", {
            params: { agentId, threadId: "t1" },
            headers: { "last-event-id": String(after) },
          }),
        ),
        "finish",
      );
      expect(rest).toEqual(whole.slice(after));
    }
  });

  test("queued messages can be seen, changed and taken back", async () => {
    const release = gate();
    const entered = gate();
    const { json, call } = served(async ({ index }) => {
      if (index === 0) entered.open();
      if (index === 0) await release.opened;
      return `answer ${index}`;
    });
    await json("sendMessage", { params: { agentId }, body: { message: "First", ...HERE } });
    await entered.opened;
    const second = await json("queueMessage", { params: { agentId }, body: { message: "Second", ...HERE } });
    const third = await json("queueMessage", { params: { agentId }, body: { message: "Third", ...HERE } });
    const params = { threadId: "t1" };
    const state = await json("getThreadState", { params });
    expect(state).toMatchObject({
      runState: "running",
      queue: [{ id: second.signal.id }, { id: third.signal.id }],
    });
    await json("editQueued", {
      params: { ...params, messageId: second.signal.id },
      body: { contents: "Better" },
    });
    await json("removeQueued", { params: { ...params, messageId: third.signal.id } });
    const { messages } = await json("listQueue", { params });
    expect(messages.map(({ signal }) => signal.contents)).toEqual(["Better"]);
    const stream = frames(await call("subscribe", { params: { agentId }, body: HERE }));
    release.open();
    await readUntil(stream, "finish");
    await readUntil(stream, "finish");
    const { runs } = await json("listRuns", { params });
    expect(runs.map(({ runId }) => runId)).toEqual([second.runId, state.activeRunId]);
    const timeline = await json("getRun", { params: { ...params, runId: second.runId } });
    expect(timeline).toMatchObject({ state: "done", timeline: [{ step: 0, text: "answer 1" }] });
    expect((await call("getRun", { params: { ...params, runId: "none" } })).status).toBe(404);
  });

  test("an approval is given once, and the run goes on on the stream", async () => {
    const { json, call } = served([{ toolCalls: [{ toolName: "pay", input: { amount: 5 } }] }, "Paid."]);
    const stream = frames(await call("subscribe", { params: { agentId }, body: HERE }));
    await json("sendMessage", { params: { agentId }, body: { message: "Pay", ...HERE } });
    await readUntil(stream, "finish");
    const { runs } = await json("listSuspendedRuns", { params: { agentId } });
    const [waiting] = runs[0]!.toolCalls;
    expect(waiting).toMatchObject({ toolName: "pay", args: { amount: 5 }, requiresApproval: true });
    const approve = {
      params: { agentId },
      body: { ...HERE, toolCallId: waiting!.toolCallId, approved: true },
    };
    expect(await json("sendToolApproval", approve)).toMatchObject({ accepted: true, runId: runs[0]!.runId });
    const rest = await readUntil(stream, "finish");
    expect(JSON.stringify(rest)).toContain('"paid":5');
    expect((await call("sendToolApproval", approve)).status).toBeGreaterThanOrEqual(400);
  });

  test("approve-tool-call answers the rest of the run, also without a thread", async () => {
    const { json, call } = served([{ toolCalls: [{ toolName: "pay", input: { amount: 7 } }] }, "Paid."]);
    const { runId, finishReason } = await json("generate", {
      params: { agentId: "bare" },
      body: { messages: "Pay" },
    });
    expect(finishReason).toBe("suspended");
    const rest = frames(await call("approveToolCall", { params: { agentId: "bare" }, body: { runId } }));
    expect(JSON.stringify(await readUntil(rest, "finish"))).toContain('"paid":7');
  });

  test("a run can be aborted", async () => {
    const { json, call } = served(async ({ options }) => {
      await new Promise((resolve) => options.abortSignal!.addEventListener("abort", resolve));
      return "never";
    });
    const stream = frames(await call("subscribe", { params: { agentId }, body: HERE }));
    const { runId } = await json("sendMessage", { params: { agentId }, body: { message: "Hi", ...HERE } });
    await stream.next();
    expect(await json("abortThread", { params: { agentId }, body: HERE })).toEqual({ aborted: true, runId });
    await readUntil(stream, "abort");
    expect(await json("abortThread", { params: { agentId }, body: HERE })).toEqual({ aborted: false });
  });

  test("state, notifications and lanes", async () => {
    const { json } = served(() => "ok");
    await json("createThread", { body: { threadId: "t1", resourceId: "ann", title: "Talk" } });
    const state = { id: "browser", cacheKey: "a", contents: "Open on x.", value: { url: "x" } };
    const quiet = { ifIdle: { behavior: "persist" as const } };
    const body = { state, ...HERE, ...quiet };
    expect(await json("sendStateSignal", { params: { agentId }, body })).toMatchObject({ action: "persist" });
    expect(await json("sendStateSignal", { params: { agentId }, body })).toMatchObject({ skipped: true });
    expect(await json("listLanes", { params: { threadId: "t1" } })).toMatchObject({
      lanes: [{ id: "browser", version: 1, contents: "Open on x.", value: { url: "x" } }],
    });
    const notification = { source: "github", kind: "ci", summary: "CI failed.", priority: "low" as const };
    await json("sendNotification", { params: { agentId }, body: { notification, ...HERE } });
    const params = { threadId: "t1" };
    const { notifications } = await json("listNotifications", { params, query: { status: "pending" } });
    expect(notifications).toMatchObject([{ summary: "CI failed.", status: "pending" }]);
    const update = {
      params: { ...params, notificationId: notifications[0]!.id },
      body: { action: "dismiss" as const },
    };
    expect(await json("updateNotification", update)).toMatchObject({ notification: { status: "dismissed" } });
  });
});

describe("memory", () => {
  test("threads are made, found, changed, cloned and deleted", async () => {
    const { json, call } = served(["Blue whales are large."]);
    await json("createThread", { body: { threadId: "a", resourceId: "ann", title: "About Whales" } });
    await json("createThread", { body: { threadId: "b", resourceId: "ann", title: "Other" } });
    await json("generate", {
      params: { agentId },
      body: { messages: "Tell me of whales", memory: { thread: "a", resource: "ann" } },
    });
    expect((await json("listThreads", { query: { search: "wHaLe" } })).threads.map(({ id }) => id)).toEqual([
      "a",
    ]);
    expect(await json("listThreads", { query: { perPage: 1 } })).toMatchObject({ total: 2, hasMore: true });
    const params = { threadId: "a" };
    expect(await json("updateThread", { params, body: { title: "Whales" } })).toMatchObject({
      title: "Whales",
    });
    expect(await json("searchMemory", { query: { searchQuery: "blue WHALES" } })).toMatchObject({
      count: 1,
      results: [{ threadId: "a", threadTitle: "Whales" }],
    });
    await json("updateWorkingMemory", { params, body: { workingMemory: "# Likes whales" } });
    expect(await json("getWorkingMemory", { params })).toEqual({ workingMemory: "# Likes whales" });
    const clone = await json("cloneThread", { params, body: { newThreadId: "c" } });
    expect(clone).toMatchObject({ thread: { id: "c", resourceId: "ann" }, clonedMessages: [{}, {}] });
    const ids = clone.clonedMessages.map(({ id }) => id);
    await json("deleteMessages", { body: { messageIds: ids } });
    expect(await json("listMessages", { params: { threadId: "c" } })).toMatchObject({ total: 0 });
    await json("deleteThread", { params });
    expect((await call("getThread", { params })).status).toBe(404);
  });
});

test("messages of a person are listed by role, also those that were sent into the thread", async () => {
  const { json } = served(() => "ok");
  const params = { agentId: "helper" };
  const memory = { thread: "t", resource: "ann" };
  await json("generate", { params, body: { messages: "one", memory } });
  const sent = { message: "two", threadId: "t", resourceId: "ann", ifIdle: { behavior: "persist" as const } };
  await json("sendMessage", { params, body: sent });
  const { messages, total } = await json("listMessages", {
    params: { threadId: "t" },
    query: { roles: "user" },
  });
  expect(messages.map(({ content }) => content.parts)).toMatchObject([[{ text: "one" }], [{ text: "two" }]]);
  expect(total).toBe(2);
});

test.each([
  ["/api/agents/helper/generate", { messages: [] }],
  ["/api/agents/helper/stream", { messages: [], memory: { thread: "t", resource: "r" } }],
  ["/api/agents/bare/chat", { id: "t", messages: [] }],
  ["/v1/chat/completions", { model: "helper", messages: [] }],
  ["/v1/responses", { model: "helper", input: [] }],
])("%s without a message is refused, and no model is called", async (path, body) => {
  const { server, model } = served(() => "ok");
  const headers = { "content-type": "application/json" };
  const asked = { method: "POST", headers, body: JSON.stringify(body) };
  const response = await server.fetch(new Request(`http://localhost${path}`, asked));
  expect(response.status).toBe(400);
  expect(await response.text()).toContain("invalid-argument");
  expect(model.calls).toEqual([]);
});

test("what a memory is set to is told in plain values, and its template to those who may see instructions", async () => {
  const memory = new Memory({
    options: {
      lastMessages: 7,
      workingMemory: { enabled: true, template: "# Secret" },
      threads: { generateTitle: { instructions: "A secret." } },
    },
  });
  const { json, call } = served([], { agent: { memory }, authorize: byHeader });
  const query = { agentId };
  const config = {
    lastMessages: 7,
    semanticRecall: false,
    workingMemory: { enabled: true, scope: "resource" },
    threads: { generateTitle: true },
    readOnly: false,
  };
  expect(await json("memoryConfig", { query }, "ann")).toEqual({ config });
  const workingMemory = { ...config.workingMemory, template: "# Secret" };
  expect(await json("memoryConfig", { query }, "ann+inspect")).toEqual({
    config: { ...config, workingMemory },
  });
  expect((await call("memoryConfig", { query: { agentId: "bare" } }, "ann")).status).toBe(400);
  expect((await call("memoryConfig", { query: { agentId: "nobody" } }, "ann")).status).toBe(404);
});

describe("tools, MCP and vectors", () => {
  test("a tool runs with checked input, and not without the approval it asks for", async () => {
    const { json, call } = served([]);
    expect(Object.keys(await json("listTools"))).toEqual(["add", "pay"]);
    expect(await json("executeTool", { params: { toolId: "add" }, body: { data: { a: 1, b: 2 } } })).toEqual({
      sum: 3,
    });
    const unfit = await call("executeTool", { params: { toolId: "add" }, body: { data: { a: "x" } } });
    expect(unfit.status).toBe(400);
    const pay = { params: { toolId: "pay" }, body: { data: { amount: 1 } } };
    expect((await call("executeTool", pay)).status).toBe(403);
    expect(await json("executeTool", { ...pay, body: { ...pay.body, approved: true } })).toEqual({ paid: 1 });
    const agentPay = { params: { agentId, toolId: "pay" }, body: { data: { amount: 1 } } };
    expect((await call("executeAgentTool", agentPay)).status).toBe(403);
  });

  test("MCP servers are listed and their tools run, those for people's approval not", async () => {
    const { json, call } = served([]);
    expect(await json("listMcpServers")).toMatchObject({
      servers: [{ id: "tools" }],
      total_count: 1,
      next: null,
    });
    expect((await json("listMcpTools", { params: { serverId: "tools" } })).tools).toHaveLength(3);
    const add = { params: { serverId: "tools", toolId: "add" }, body: { data: { a: 1, b: 2 } } };
    expect(await json("executeMcpTool", add)).toEqual({ result: { sum: 3 } });
    const pay = { params: { serverId: "tools", toolId: "pay" }, body: { data: { amount: 1 } } };
    expect((await call("executeMcpTool", pay)).status).toBe(501);
    const hello = await call("mcpHttp", {
      params: { serverId: "tools" },
      body: {
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
      },
      headers: { accept: "application/json, text/event-stream" },
    } as never);
    expect(await hello.text()).toContain("serverInfo");
  });

  test("vectors are stored and found", async () => {
    const { json } = served([]);
    const params = { vectorName: "docs" };
    await json("createVectorIndex", { params, body: { indexName: "i", dimension: 2 } });
    await json("upsertVectors", {
      params,
      body: {
        indexName: "i",
        vectors: [
          [1, 0],
          [0, 1],
        ],
        ids: ["x", "y"],
      },
    });
    const query = { indexName: "i", queryVector: [1, 0.1], topK: 1 };
    expect((await json("queryVectors", { params, body: query })).results).toMatchObject([{ id: "x" }]);
    expect(await json("getVectorIndex", { params: { ...params, indexName: "i" } })).toMatchObject({
      count: 2,
    });
    await json("deleteVectorIndex", { params: { ...params, indexName: "i" } });
    expect(await json("listVectorIndexes", { params })).toEqual({ indexes: [] });
  });
});
