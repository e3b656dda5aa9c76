import { createTool } from "@selvedge/core/tools";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { host } from "../__fixtures__/host.ts";
import { scene, textOf } from "../__fixtures__/scene.ts";

const { client, hosted, server, open } = scene();

/** Two servers, as two processes behind one address would be: requests go to them in turn. */
async function twoBehindOne(keys: [string | undefined, string | undefined], idempotent: boolean) {
  let runs = 0;
  const make = (requestStateKey: string | undefined) => {
    const book = createTool({
      id: "book",
      description: "",
      idempotent,
      execute: async (_, { elicitation }) => {
        runs++;
        const requestedSchema = {
          type: "object",
          properties: { name: { type: "string" } },
          required: ["name"],
        };
        const { content } = await elicitation.sendRequest({ message: "Who?", requestedSchema });
        return `Booked for ${content.name}`;
      },
    });
    return server({ tools: { book }, ...(requestStateKey !== undefined && { requestStateKey }) });
  };
  const both = keys.map(make);
  let calls = 0;
  const started = await host((req, res) => {
    const chosen = both[req.headers["mcp-method"] === "tools/call" ? calls++ % 2 : 0]!;
    return chosen.startHTTP({ url: new URL(req.url!, "http://x"), httpPath: "/mcp", req, res });
  });
  open(started.close);
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: "Ada" } }));
  await client.connect(new StreamableHTTPClientTransport(started.url));
  open(() => client.close());
  const call = () => client.callTool({ name: "book", arguments: {} });
  return { call, runs: () => runs, calls: () => calls };
}

it("a question that was answered wrongly can be asked again under its own key", async () => {
  const requestedSchema = { type: "object", properties: { age: { type: "number" } }, required: ["age"] };
  const ages: unknown[] = ["old", "older", 7];
  let failures = 0;
  const tool = createTool({
    id: "ask",
    description: "",
    execute: async (_, { extra }) => {
      const request = { method: "elicitation/create", params: { message: "Age?", requestedSchema } };
      for (;;) {
        const answer = await extra!["sendRequest"](request, { key: "age" }).catch(() => failures++);
        if (typeof answer === "object") return answer.content.age;
      }
    },
  });
  const { url } = await hosted({ tools: { tool } });
  const mcp = client({ a: { url, protocolVersion: "2026-07-28" } });
  await mcp.elicitation.onRequest("a", async () => ({ action: "accept", content: { age: ages.shift() } }));
  const tools = await mcp.getTools();
  expect(textOf(await tools["a_tool"]!.execute({}))).toBe("7");
  expect([failures, ages]).toEqual([2, []]);
});

describe("a question answered at another process", () => {
  const key = "k".repeat(32);

  it("goes on there when the tool may be repeated and the processes share a key", async () => {
    const { call, runs, calls } = await twoBehindOne([key, key], true);
    expect(textOf(await call())).toBe("Booked for Ada");
    expect([runs(), calls()]).toEqual([2, 2]);
  });

  it("is refused for a tool that may not be repeated, and runs nothing twice", async () => {
    const { call, runs } = await twoBehindOne([key, key], false);
    await expect(call()).rejects.toThrow(/no longer exists/);
    expect(runs()).toBe(1);
  });

  it("is refused when the processes have different keys: anybody could have written it", async () => {
    const { call, runs } = await twoBehindOne([undefined, undefined], true);
    await expect(call()).rejects.toThrow();
    expect(runs()).toBe(1);
  });

  it("needs a key that cannot be guessed", () => {
    expect(() => server({ requestStateKey: "short" })).toThrow(/32/);
  });
});
