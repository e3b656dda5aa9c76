import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Mastra } from "../mastra/mastra.ts";
import { RequestContext } from "../request-context/request-context.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import type { Storage } from "../storage/storage.ts";
import { TABLES } from "../storage/tables.ts";
import { createTool } from "../tool/tool.ts";
import { HERE, ON, onThread } from "./__fixtures__/on-thread.ts";
import { chunksOf } from "./__fixtures__/agent-with.ts";

/** Everything that is at rest. */
async function atRest(storage: Storage): Promise<string> {
  const rows = await Promise.all(TABLES.map((table) => storage.select({ table })));
  return JSON.stringify(rows);
}

const secretive = (): AgentExecutionOptions => ({
  requestContext: new RequestContext({ token: "hunter2", tenant: "acme" }),
  modelSettings: { temperature: 0.5, headers: { authorization: "hunter2" } },
  model: [
    {
      model: {
        id: "acme/large",
        url: "https://a.example",
        apiKey: "hunter2",
        headers: { "x-key": "hunter2" },
      },
      modelSettings: { headers: { "x-key": "hunter2" } },
      headers: { "x-key": "hunter2" },
    },
  ],
  providerOptions: {
    gateway: { byok: { acme: [{ apiKey: "hunter2" }] }, order: ["acme"] },
    acme: {
      refreshToken: "hunter2",
      "x-api-key": "hunter2",
      client_secret: "hunter2",
      secretAccessKey: "hunter2",
      private_key: "hunter2",
      sessionCookie: "hunter2",
      auth: { user: "hunter2" },
      maxOutputTokens: 9,
      promptCacheKey: "shared",
    },
  },
  structuredOutput: {
    schema: { type: "object", properties: { apiKey: { type: "string" } } },
    model: { id: "acme/small", apiKey: "hunter2" },
  },
});

const seen: unknown[] = [];
const ask = createTool({
  id: "ask",
  description: "",
  inputSchema: z.object({}),
  requireApproval: true,
  execute: async (_, { requestContext }) => void seen.push(requestContext.toJSON()),
});
const script = [{ toolCalls: [{ toolName: "ask", input: {} }] }, "done"];

describe("what is at rest", () => {
  it("has no header, no key and no value of the request context that was not named", async () => {
    const { agent, storage, model } = onThread(script, { tools: { ask }, durableContextKeys: ["tenant"] });
    const { model: _, structuredOutput: __, ...options } = secretive();
    // A run that waits, a message that waits behind it, and a notification that waits for its time.
    await chunksOf(await agent.stream("go", { ...ON, ...options, model }));
    await agent.queueMessage("later", { ...HERE, ifIdle: { streamOptions: secretive() } }).admitted;
    await agent.sendNotificationSignal(
      { source: "s", kind: "k", summary: "s", priority: "low" },
      { ...HERE, ifIdle: { streamOptions: secretive() } },
    );
    const rest = await atRest(storage);
    expect(rest).not.toContain("hunter2");
    expect(rest.match(/"tenant":"acme"/g)?.length).toBeGreaterThanOrEqual(3);
    expect(rest).toContain('"temperature":0.5');
    expect(rest).toContain('"order":["acme"]');
    expect(rest).toContain('"id":"acme/large"');
    expect(rest).toContain('"apiKey":{"type":"string"}');
    expect(rest).toContain('"acme":{"maxOutputTokens":9,"promptCacheKey":"shared"}');
  });

  it.each(["agent", "host"] as const)("reaches the process that continues (%s)", async (where) => {
    const storage = new InMemoryStorage();
    const keys = { durableContextKeys: ["tenant"] };
    const start = () => {
      const made = onThread(script, {
        storage,
        tools: { ask },
        ...(where === "agent" && keys),
      });
      if (where === "host") new Mastra({ agents: { tester: made.agent }, storage, ...keys });
      return made;
    };
    const first = start();
    const requestContext = new RequestContext({ token: "hunter2", tenant: "acme" });
    await chunksOf(await first.agent.stream("go", { ...ON, requestContext }));
    const second = start();
    const [waiting] = (await second.agent.listSuspendedRuns()).runs;
    seen.length = 0;
    await chunksOf(await second.agent.approveToolCall({ runId: waiting!.runId }));
    expect(seen).toEqual([{ tenant: "acme" }]);
  });

  it("keeps everything for a run that continues where it began", async () => {
    const { agent } = onThread(script, { tools: { ask } });
    const requestContext = new RequestContext({ token: "hunter2" });
    const output = await agent.stream("go", { ...ON, requestContext });
    await chunksOf(output);
    seen.length = 0;
    await chunksOf(await agent.approveToolCall({ runId: output.runId }));
    expect(seen).toEqual([{ token: "hunter2" }]);
  });

  it("tells what to name when a schema misses a value in the process that continues", async () => {
    const storage = new InMemoryStorage();
    const config = { storage, tools: { ask }, requestContextSchema: z.object({ tenant: z.string() }) };
    const first = onThread(script, config);
    const requestContext = new RequestContext({ tenant: "acme" });
    await chunksOf(await first.agent.stream("go", { ...ON, requestContext }));
    const second = onThread(script, config);
    const [waiting] = (await second.agent.listSuspendedRuns()).runs;
    await expect(second.agent.approveToolCall({ runId: waiting!.runId })).rejects.toThrow(
      /durableContextKeys/,
    );
  });

  it("refuses keys that are no list of names", () => {
    expect(() => onThread([], { durableContextKeys: "tenant" as never })).toThrow(/durableContextKeys/);
    expect(() => new Mastra({ durableContextKeys: [1] as never })).toThrow(/durableContextKeys/);
  });
});
