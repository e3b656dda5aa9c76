import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { ROUTE_LIST, type RouteName, ROUTES } from "@selvedge/protocol/routes";
import { describe, expect, onTestFinished, test } from "vitest";
import { byHeader, gate, served, type Served, toRequest } from "./__fixtures__/served.ts";
import { serve } from "./node.ts";

/*
 * Readers that leave, on every route that streams: at any moment before the answer begins, and in the middle of it. A
 * route that is added without an example here fails.
 */

interface Example {
  name: RouteName;
  /** Of a route that has many. */
  method?: "GET";
  /** Makes what the route is about, anew for each reader. */
  open(call: Served["call"]): Promise<object>;
  /** The run has no thread, so it ends when its reader leaves. */
  endsRun?: true;
}

const ANN = "ann+run-options,mcp,control";
const LIMITS = { streamsPerResource: 2 };
const agentId = "helper";
const params = { agentId };
const SSE = { accept: "application/json, text/event-stream" };
const INITIALIZE = {
  params: { serverId: "tools" },
  headers: SSE,
  body: {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
  },
};

let count = 0;
const newId = () => `t${++count}`;
const chat = () => ({
  id: newId(),
  messages: [{ id: newId(), role: "user", parts: [{ type: "text", text: "Hi" }] }],
});

/** A run on a thread whose model has fallen silent. */
async function running(call: Served["call"]): Promise<{ threadId: string; runId: string }> {
  const threadId = newId();
  const response = await call("sendMessage", { params, body: { message: "Hi", threadId } }, ANN);
  const { runId } = (await response.json()) as { runId: string };
  return { threadId, runId };
}

/** A run without a thread that waits for an approval. */
const waiting = async (call: Served["call"]) => {
  const response = await call("generate", { params, body: { messages: "pay" } }, ANN);
  const { runId } = (await response.json()) as { runId: string };
  return { params, body: { runId } };
};

const workflow = { params: { workflowId: "refund" } };
const inputData = { order: "o-1" };

/** A workflow run that waits for an approval. */
async function suspended(call: Served["call"]): Promise<{ query: { runId: string } }> {
  const query = { runId: newId() };
  const response = await call("startWorkflowRunAsync", { ...workflow, query, body: { inputData } }, ANN);
  expect(await response.json()).toMatchObject({ status: "suspended" });
  return { query };
}

const EXAMPLES: readonly Example[] = [
  {
    name: "streamWorkflowRun",
    open: async () => ({ ...workflow, body: { inputData, closeOnSuspend: false } }),
  },
  {
    name: "resumeWorkflowRunStream",
    open: async (call) => ({
      ...workflow,
      ...(await suspended(call)),
      body: { resumeData: { approved: true } },
    }),
  },
  {
    name: "observeWorkflowRun",
    open: async (call) => ({ ...workflow, ...(await suspended(call)), body: { follow: true } }),
  },
  {
    name: "timeTravelWorkflowRunStream",
    open: async (call) => ({
      ...workflow,
      ...(await suspended(call)),
      body: { step: "find", closeOnSuspend: false },
    }),
  },
  { name: "stream", open: async () => ({ params, body: { messages: "Hi" } }), endsRun: true },
  { name: "observe", open: async (call) => ({ params, body: await running(call) }) },
  { name: "subscribe", open: async () => ({ params, body: { threadId: newId() } }) },
  { name: "watchThread", open: async () => ({ params: { agentId, threadId: newId() } }) },
  {
    name: "streamSession",
    open: async (call) => {
      const at = { controllerId: "coder" };
      const response = await call("createSession", { params: at, body: {} }, ANN);
      const { id: sessionId } = (await response.json()) as { id: string };
      return { params: { ...at, sessionId } };
    },
  },
  { name: "approveToolCall", open: waiting, endsRun: true },
  { name: "declineToolCall", open: waiting, endsRun: true },
  { name: "resumeStream", open: waiting, endsRun: true },
  { name: "chat", open: async () => ({ params, body: chat() }) },
  {
    name: "chat",
    open: async () => ({ params: { agentId: "bare" }, body: chat() }),
    endsRun: true,
  },
  {
    name: "resumeChat",
    open: async (call) => ({ params: { agentId, threadId: (await running(call)).threadId } }),
  },
  {
    name: "chatCompletions",
    open: async () => ({
      body: { model: agentId, stream: true, messages: [{ role: "user", content: "Hi" }] },
    }),
    endsRun: true,
  },
  { name: "responses", open: async () => ({ body: { model: agentId, stream: true, input: "Hi" } }) },
  {
    name: "responses",
    open: async () => ({ body: { model: agentId, stream: true, store: false, input: "Hi" } }),
    endsRun: true,
  },
  { name: "mcpHttp", open: async () => INITIALIZE },
  {
    name: "mcpHttp",
    method: "GET",
    open: async (call) => {
      const begun = await call("mcpHttp", INITIALIZE, ANN);
      await begun.text();
      const headers = { ...SSE, "mcp-session-id": begun.headers.get("mcp-session-id")! };
      return { params: INITIALIZE.params, headers };
    },
  },
  { name: "mcpSse", method: "GET", open: async () => ({ params: INITIALIZE.params }) },
];

function world(): Served {
  return served(({ prompt }) => (asksToPay(prompt) ? PAY : { text: ["a", "b"], hang: { after: 3 } }), {
    authorize: byHeader,
    limits: LIMITS,
  });
}

const PAY = { toolCalls: [{ toolName: "pay", input: { amount: 1 } }] };

function asksToPay(prompt: Served["model"]["calls"][number]["prompt"]): boolean {
  const last = prompt.at(-1);
  return last?.role === "user" && JSON.stringify(last.content).includes("pay");
}

function toAsk(
  { name, method }: Example,
  input: object,
  base?: string,
  init: { method?: string; signal?: AbortSignal } = {},
): Request {
  const asked = toRequest(name, { ...input, ...init } as never, ANN, base);
  const as = init.method ?? method;
  return as === undefined ? asked : new Request(asked.url, { ...init, method: as, headers: asked.headers });
}

/** Nothing is left of readers that have gone: no stream that counts, and no model that nobody listens to. */
async function expectNothingLeft(
  { server, call, model }: Pick<Served, "server" | "call" | "model">,
  { endsRun }: Example,
): Promise<void> {
  await expect.poll(() => server.streamCount).toBe(0);
  if (endsRun) await expect.poll(() => model.calls.filter(goesOn)).toEqual([]);
  const room = await call("watchThread", { params: { agentId, threadId: newId() } }, ANN);
  expect(room.status).toBe(200);
  await room.body!.cancel();
}

function goesOn({ prompt, abortSignal }: Served["model"]["calls"][number]): boolean {
  return !asksToPay(prompt) && abortSignal?.aborted !== true;
}

test("every route that streams has an example", () => {
  const streaming = ROUTE_LIST.filter(
    ({ kind, events, tag }) => events !== undefined || (kind === "raw" && tag === "mcp"),
  ).map(({ name }) => name);
  const examples = new Set<string>(EXAMPLES.map(({ name }) => name));
  // What is said to mcpMessages is answered on the stream of mcpSse.
  expect(streaming.filter((name) => !examples.has(name))).toEqual(["mcpMessages"]);
  expect(examples.size).toBe(streaming.length - 1);
});

describe.each(EXAMPLES)("a reader of $name", (example) => {
  test("that leaves before the answer begins is forgotten, whenever it leaves", async () => {
    const here = world();
    for (let round = 0; round < 24; round++) {
      const controller = new AbortController();
      const input = await example.open(here.call);
      const answer = here.server.fetch(toAsk(example, input, undefined, { signal: controller.signal }));
      // First in steps of promises, then in turns of the event loop.
      for (let step = 0; step < round * 4; step++) await (round < 16 ? undefined : turn());
      controller.abort();
      expect((await answer).status).not.toBe(429);
    }
    await expectNothingLeft(here, example);
  });

  test("that leaves in the middle is forgotten, and finds the end of what it has", async () => {
    const here = world();
    for (let round = 0; round < 3; round++) {
      const controller = new AbortController();
      const input = await example.open(here.call);
      const response = await here.server.fetch(
        toAsk(example, input, undefined, { signal: controller.signal }),
      );
      expect(response.status).toBe(200);
      const reader = response.body!.getReader();
      await reader.read();
      controller.abort();
      while (!(await reader.read()).done);
    }
    await expectNothingLeft(here, example);
  });

  test("that stops reading is forgotten", async () => {
    const here = world();
    for (let round = 0; round < 3; round++) {
      const response = await here.server.fetch(toAsk(example, await example.open(here.call)));
      expect(response.status).toBe(200);
      await response.body!.cancel();
    }
    await expectNothingLeft(here, example);
  });

  test("whose connection is cut before the answer begins is forgotten", async () => {
    const here = world();
    const { url, call, server, arrival } = await listening(here);
    for (let round = 0; round < 3; round++) {
      const { arrived, gone } = arrival();
      const cut = await send(toAsk(example, await example.open(call), url), { "x-leaves": "yes" });
      await arrived.opened;
      cut.destroy();
      await gone.opened;
    }
    await expectNothingLeft({ ...here, server, call }, example);
  });

  test("whose connection is cut in the middle is forgotten", async () => {
    const here = world();
    const { url, call, server } = await listening(here);
    for (let round = 0; round < 3; round++) {
      const outgoing = await send(toAsk(example, await example.open(call), url));
      const response = await new Promise<IncomingMessage>((resolve) => outgoing.once("response", resolve));
      response.on("error", () => {});
      expect(response.statusCode).toBe(200);
      outgoing.destroy();
    }
    await expectNothingLeft({ ...here, server, call }, example);
  });

  test.runIf((example.method ?? ROUTES[example.name].method) === "GET")(
    "that only asks for the headers is no reader",
    async () => {
      const here = world();
      for (let round = 0; round < 3; round++) {
        const asked = toAsk(example, await example.open(here.call), undefined, { method: "HEAD" });
        const response = await here.server.fetch(asked);
        expect(response.body).toBe(null);
        expect(response.status).not.toBe(429);
      }
      await expectNothingLeft(here, example);
    },
  );
});

describe("a run without a thread that is asked for as a whole", () => {
  const WHOLE: readonly Example[] = [
    { name: "generate", open: async () => ({ params, body: { messages: "Hi" } }), endsRun: true },
    { name: "approveToolCallGenerate", open: waiting, endsRun: true },
    { name: "declineToolCallGenerate", open: waiting, endsRun: true },
    {
      name: "chatCompletions",
      open: async () => ({ body: { model: agentId, messages: [{ role: "user", content: "Hi" }] } }),
      endsRun: true,
    },
    {
      name: "responses",
      open: async () => ({ body: { model: agentId, store: false, input: "Hi" } }),
      endsRun: true,
    },
  ];

  test.each(WHOLE)("by $name ends when its caller leaves", async (example) => {
    const here = world();
    for (let round = 0; round < 12; round++) {
      const controller = new AbortController();
      const input = await example.open(here.call);
      const answer = here.server.fetch(toAsk(example, input, undefined, { signal: controller.signal }));
      for (let step = 0; step < round * 4; step++) await turn();
      controller.abort();
      await answer;
    }
    await expectNothingLeft(here, example);
  });
});

test("a run on a thread that is asked for as a whole leaves no reader of the thread behind", async () => {
  const { agent, json } = served(({ prompt }) => (asksToPay(prompt) ? PAY : "ok"));
  const readers = new Set<object>();
  const subscribe = agent.subscribeToThread.bind(agent);
  agent.subscribeToThread = async (options) => {
    const reader = await subscribe(options);
    const unsubscribe = reader.unsubscribe.bind(reader);
    readers.add(reader);
    return Object.assign(reader, {
      unsubscribe: () => {
        readers.delete(reader);
        unsubscribe();
      },
    });
  };
  const memory = { thread: "t", resource: "ann" };
  const { runId } = await json("generate", { params, body: { messages: "pay", memory } });
  await json("approveToolCallGenerate", { params, body: { runId } });
  await json("responses", { body: { model: agentId, input: "Hi", conversation: "t" } });
  await json("responses", { body: { model: agentId, input: "Hi" } });
  expect(readers.size).toBe(0);
});

/** The same host over HTTP. A request with `x-leaves` is taken up when its reader has gone. */
async function listening({ mastra }: Served) {
  let arrived = gate();
  let gone = gate();
  const running = await serve({
    mastra,
    port: 0,
    limits: LIMITS,
    authorize: async (request) => {
      if (request.headers.has("x-leaves")) {
        const { signal } = request;
        arrived.open();
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        gone.open();
      }
      return byHeader(request);
    },
  });
  onTestFinished(() => running.close());
  const call: Served["call"] = (name, input, as) => fetch(toRequest(name, input, as, running.url));
  const arrival = () => {
    arrived = gate();
    gone = gate();
    return { arrived, gone };
  };
  return { url: running.url, server: running.server, call, arrival };
}

async function send(asked: Request, more: Record<string, string> = {}): Promise<ClientRequest> {
  const body = await asked.text();
  const outgoing = httpRequest(asked.url, {
    method: asked.method,
    headers: {
      ...Object.fromEntries(asked.headers),
      ...more,
      ...(body !== "" && { "content-length": String(Buffer.byteLength(body)) }),
    },
  });
  outgoing.on("error", () => {});
  outgoing.end(body);
  return outgoing;
}
