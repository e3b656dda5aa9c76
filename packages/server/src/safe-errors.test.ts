import { AgentError, createTool, type Logger, silentLogger } from "@selvedge/core";
import type { AgentConfig } from "@selvedge/core/agent";
import { beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { byHeader, frames, readUntil, served } from "./__fixtures__/served.ts";

const SECRET = "connect to postgres://app:hunter2@10.0.0.5 failed";
const params = { agentId: "helper" };

let log: string[] = [];
beforeEach(() => void (log = []));
const logger: Logger = {
  ...silentLogger,
  warn: (...words) => log.push(words.map(String).join(" ")),
  error: (...words) => log.push(words.map(String).join(" ")),
};

const make = (id: string, fail: () => never, more: object = {}) =>
  createTool({ id, description: id, ...more, execute: async () => fail() });
const breaks = make("breaks", () => {
  throw new Error(SECRET);
});
const refuses = make("refuses", () => {
  throw new AgentError("not-found", "There is no flight on that day.");
});
const checks = createTool({
  id: "checks",
  description: "",
  inputSchema: z.any().refine(() => {
    throw new Error(SECRET);
  }),
  execute: async () => 1,
});
const asks = make("asks", () => expect.fail("nobody approved it"), { requireApproval: true });

/** An app whose model calls one tool, then answers. */
function world(toolName = "breaks", agent: Partial<AgentConfig> = {}) {
  return served(
    ({ prompt }) =>
      prompt.at(-1)!.role === "tool" ? "Sorry." : { toolCalls: [{ toolName, toolCallId: "c1", input: {} }] },
    { authorize: byHeader, tools: { breaks, refuses, asks, checks }, logger, agent: { logger, ...agent } },
  );
}

const logged = (part: string) => log.some((line) => line.includes(part) && line.includes("hunter2"));

describe("a tool that breaks", () => {
  test("run directly, tells a reference, under which the log has the words", async () => {
    const { call } = world();
    const run = async (as: string, toolId = "breaks") =>
      (await call("executeAgentTool", { params: { ...params, toolId }, body: {} }, as)).json() as Promise<{
        code: string;
        message: string;
      }>;
    const { code, message } = await run("ann+tools");
    expect(code).toBe("tool-failed");
    const [, reference] = /^The tool failed \(reference (.+)\)\.$/.exec(message)!;
    expect(logged(reference!)).toBe(true);
    expect(log.join()).toMatch(/^POST \/api\/agents\/:agentId\/tools\/:toolId\/execute failed \(reference /);
    expect((await run("ann+tools,inspect")).message).toContain(SECRET);
    expect((await run("ann+tools", "checks")).message).toMatch(/^The tool failed \(reference /);
    expect((await run("ann+tools", "refuses")).message).toBe("There is no flight on that day.");
  });

  test.each(["breaks", "checks"])(
    "in a run, tells its words to the model and the log, and to nobody who looks on: %s",
    async (name) => {
      const { call, model } = world(name);
      const watch = (as: string) => call("watchThread", { params: { ...params, threadId: "t" } }, as);
      // Both follow the same chunks, which are written down for many at once.
      const full = frames(await watch("ann+inspect"));
      const safe = frames(await watch("ann"));
      await call("sendMessage", { params, body: { threadId: "t", message: "Go." } }, "ann");
      const seen = {
        full: JSON.stringify(await readUntil(full, "finish")),
        safe: JSON.stringify(await readUntil(safe, "finish")),
      };
      await full.return(undefined);
      await safe.return(undefined);
      expect(seen.full).toContain("hunter2");
      expect(seen.safe).not.toContain("hunter2");
      expect(seen.safe).toContain(`Tool \\"${name}\\" failed (call c1)`);
      expect(JSON.stringify(model.calls[1]!.prompt)).toContain("hunter2");
      expect(logged("call c1")).toBe(true);
    },
  );

  const later: [
    string,
    (world: ReturnType<typeof served>, as: string, runId: string) => Promise<Response>,
  ][] = [
    ["listMessages", ({ call }, as) => call("listMessages", { params: { threadId: "t" } }, as)],
    ["searchMemory", ({ call }, as) => call("searchMemory", { query: { searchQuery: "Sorry" } }, as)],
    ["cloneThread", ({ call }, as) => call("cloneThread", { params: { threadId: "t" }, body: {} }, as)],
    ["observe", ({ call }, as, runId) => call("observe", { params, body: { threadId: "t", runId } }, as)],
  ];

  test.each(later)("is not told by %s", async (_, ask) => {
    const app = world();
    const body = { messages: "Go.", memory: { thread: "t" } };
    const { runId } = await app.json("generate", { params, body }, "ann");
    const safe = await ask(app, "ann", runId);
    expect(safe.status).toBe(200);
    expect(await safe.text()).not.toContain("hunter2");
    expect(await (await ask(app, "ann+inspect", runId)).text()).toContain("hunter2");
  });

  const runs: [string, (world: ReturnType<typeof served>, as: string) => Promise<Response>][] = [
    ["generate", ({ call }, as) => call("generate", { params, body: { messages: "Go." } }, as)],
    ["stream", ({ call }, as) => call("stream", { params, body: { messages: "Go." } }, as)],
    [
      "chat",
      ({ call }, as) =>
        call(
          "chat",
          { params, body: { id: as, messages: [{ role: "user", parts: [{ type: "text", text: "Go." }] }] } },
          as,
        ),
    ],
  ];

  test.each(runs)("is not told by %s", async (_, ask) => {
    const app = world();
    const safe = await ask(app, "ann");
    expect(safe.status).toBe(200);
    const text = await safe.text();
    expect(text).toContain("failed (call c1)");
    expect(text).not.toContain("hunter2");
    expect(await (await ask(app, "ann+inspect")).text()).toContain("hunter2");
  });

  test("is not told by a subagent either", async () => {
    const { agent } = world();
    Object.assign(agent, { description: "helps" });
    const boss = served(
      ({ prompt }) =>
        prompt.at(-1)!.role === "tool"
          ? "Sorry."
          : { toolCalls: [{ toolName: "agent-helper", toolCallId: "b1", input: { prompt: "Go." } }] },
      { authorize: byHeader, agent: { agents: { helper: agent } as never }, tools: {} },
    );
    const text = await (await boss.call("stream", { params, body: { messages: "Go." } }, "ann")).text();
    expect(text).toContain('"tool-output"');
    expect(text).toContain("failed (call c1)");
    expect(text).not.toContain("hunter2");
  });
});

test.each([
  { type: "finish", payload: {} },
  { type: "finish", payload: { messages: { all: [null, {}], nonUser: [] } } },
  { type: "error", payload: null },
  { type: "tool-output", payload: { output: 5 } },
])("what a tool writes, such as %j, is told as it is", async (written) => {
  const writes = createTool({
    id: "writes",
    description: "",
    execute: async (_, { writer }) => {
      await writer.write(written);
      return "ok";
    },
  });
  const { call } = served([{ toolCalls: [{ toolName: "writes", input: {} }] }, "Done."], {
    authorize: byHeader,
    tools: { writes },
  });
  const text = await (await call("stream", { params, body: { messages: "Go." } }, "ann")).text();
  expect(text).toContain(JSON.stringify(written));
  expect(text).toContain("Done.");
});

test("what a tool says on purpose is told", async () => {
  const { call, json } = world("refuses");
  const text = await (await call("stream", { params, body: { messages: "Go." } }, "ann")).text();
  expect(text).toContain("There is no flight on that day.");
  await json("generate", { params, body: { messages: "Go.", memory: { thread: "t" } } }, "ann");
  const messages = await json("listMessages", { params: { threadId: "t" } }, "ann");
  expect(JSON.stringify(messages)).toContain("There is no flight on that day.");
});

test("a failure that waited with its step for an approval is not told when the run goes on", async () => {
  const { call, json } = served(
    ({ prompt }) =>
      prompt.at(-1)!.role === "tool"
        ? "Sorry."
        : {
            toolCalls: [
              { toolName: "breaks", toolCallId: "c1", input: {} },
              { toolName: "asks", toolCallId: "c2", input: {} },
              { toolName: "breaks", toolCallId: "c3", input: {} },
            ],
          },
    { authorize: byHeader, tools: { breaks, asks }, agent: { logger } },
  );
  const body = { messages: "Go.", memory: { thread: "t" } };
  const { runId } = await json("generate", { params, body }, "ann");
  const declined = await call("declineToolCall", { params, body: { runId, toolCallId: "c2" } }, "ann");
  const text = await declined.text();
  expect(text).toContain("Sorry");
  expect(text).not.toContain("hunter2");
  const messages = await json("listMessages", { params: { threadId: "t" } }, "ann");
  expect(JSON.stringify(messages)).not.toContain("hunter2");
});

describe("an app that breaks", () => {
  const broken = {
    inputProcessors: [
      {
        id: "broken",
        processInput: () => {
          throw new Error(SECRET);
        },
      },
    ],
  } as Partial<AgentConfig>;

  test("tells a reference in every form", async () => {
    const { call } = world("breaks", broken);
    const messages = [{ role: "user", content: "Go." }];
    const ways = (as: string) => [
      call("generate", { params, body: { messages: "Go." } }, as),
      call("stream", { params, body: { messages: "Go." } }, as),
      call("chatCompletions", { body: { model: "helper", messages } }, as),
      call("chatCompletions", { body: { model: "helper", messages, stream: true } as never }, as),
      call("responses", { body: { model: "helper", input: "Go." } }, as),
    ];
    for (const response of await Promise.all(ways("ann"))) {
      const text = await response.text();
      expect(text).toContain("The server failed (r");
      expect(text).not.toContain("hunter2");
    }
    for (const response of await Promise.all(ways("ann+inspect")))
      expect(await response.text()).toContain("hunter2");
  });

  test("tells no more where its runs are listed", async () => {
    const { call, json } = world("breaks", broken);
    const stream = frames(await call("watchThread", { params: { ...params, threadId: "t" } }, "ann"));
    const { runId } = await json("sendMessage", { params, body: { threadId: "t", message: "Go." } }, "ann");
    expect(JSON.stringify(await readUntil(stream, "error"))).not.toContain("hunter2");
    await stream.return(undefined);
    expect(logged(runId)).toBe(true);
    for (const ask of [
      (as: string) => call("listRuns", { params: { threadId: "t" } }, as),
      (as: string) => call("getRun", { params: { threadId: "t", runId } }, as),
    ]) {
      const text = await (await ask("ann")).text();
      expect(text).toContain(`The server failed (run ${runId})`);
      expect(text).not.toContain("hunter2");
      expect(await (await ask("ann+inspect")).text()).toContain("hunter2");
    }
  });

  test("tells no more where its stored responses are read", async () => {
    const { call } = world("breaks", broken);
    const body = { model: "helper", input: "Go.", stream: true };
    const text = await (await call("responses", { body } as never, "ann")).text();
    const responseId = /"id":"(resp_[^"]+)"/.exec(text)![1]!;
    const ask = async (as: string) => (await call("getResponse", { params: { responseId } }, as)).text();
    expect(await ask("ann")).toContain(`The server failed (run ${responseId.slice("resp_".length)})`);
    expect(await ask("ann")).not.toContain("hunter2");
    expect(await ask("ann+inspect")).toContain("hunter2");
  });

  test("tells nothing of where its model is, and what its provider says", async () => {
    const app = served(
      () => {
        throw new Error(SECRET);
      },
      { authorize: byHeader, logger, agent: { logger, maxRetries: 0 } },
    );
    const body = { messages: "Go.", memory: { thread: "t" } };
    const ask = (as: string) => app.call("stream", { params, body }, as);
    const text = await (await ask("ann")).text();
    const [, runId] = /The model failed \(run ([^)]+)\)/.exec(text)!;
    expect(text).toContain('"code":"model-failed"');
    expect(text).not.toContain("hunter2");
    expect(logged(runId!)).toBe(true);
    expect(await (await ask("ann+inspect")).text()).toContain("hunter2");
  });

  test("without an authoriser tells everything: it is the developer who asks", async () => {
    const { call } = served(() => ({ toolCalls: [{ toolName: "breaks", input: {} }] }), {
      tools: { breaks },
      agent: { logger },
    });
    expect(await (await call("stream", { params, body: { messages: "Go.", maxSteps: 1 } })).text()).toContain(
      "hunter2",
    );
  });
});
