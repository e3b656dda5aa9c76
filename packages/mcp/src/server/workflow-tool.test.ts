import { silentLogger } from "@selvedge/core";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { hostHttp } from "../__fixtures__/host.ts";
import { MCPServer } from "../index.ts";

type Era = "legacy" | "modern";

function orders(resumeSchema: z.ZodType = z.object({ approved: z.boolean() })) {
  const price = createStep({
    id: "price",
    inputSchema: z.object({ count: z.number() }),
    outputSchema: z.object({ total: z.number() }),
    execute: async ({ inputData }) => {
      if (inputData.count < 0) throw new Error("password: hunter2");
      return { total: inputData.count * 10 };
    },
  });
  const approve = createStep({
    id: "approve",
    inputSchema: z.object({ total: z.number() }),
    outputSchema: z.object({ total: z.number() }),
    resumeSchema,
    execute: async ({ inputData, resumeData, suspend }) => {
      if (inputData.total <= 100) return inputData;
      if (!resumeData) return suspend({ question: `Pay ${inputData.total}?` });
      return (resumeData as { approved: boolean }).approved ? inputData : { total: 0 };
    },
  });
  return createWorkflow({
    id: "order",
    description: "Orders something.",
    inputSchema: z.object({ count: z.number() }),
    outputSchema: z.object({ total: z.number() }),
  })
    .then(price)
    .then(approve)
    .commit();
}

async function clientOf(era: Era, workflow = orders(), answer?: () => object): Promise<Client> {
  const workflows = { order: workflow };
  const server = new MCPServer({
    name: "Test",
    version: "1.0.0",
    tools: {},
    workflows,
    logger: silentLogger,
  });
  const host = await hostHttp(server);
  const client = new Client(
    { name: "test", version: "1" },
    {
      capabilities: answer ? { elicitation: {} } : {},
      versionNegotiation: { mode: era === "legacy" ? "legacy" : { pin: "2026-07-28" } },
    },
  );
  if (answer) client.setRequestHandler("elicitation/create", answer as () => never);
  await client.connect(new StreamableHTTPClientTransport(host.url));
  onTestFinished(async () => {
    await client.close();
    await host.close();
    await server.close();
  });
  return client;
}

async function run(
  client: Client,
  count: number,
  onprogress?: (told: { message?: string | undefined }) => void,
) {
  const call = { name: "run_order", arguments: { count } };
  const { content } = await client.callTool(call, onprogress ? { onprogress } : {});
  return JSON.parse((content as { text: string }[])[0]!.text) as Record<string, unknown>;
}

describe.each(["legacy", "modern"] as const)("a workflow over MCP, %s generation", (era) => {
  it("runs with progress", async () => {
    const told: (string | undefined)[] = [];
    const client = await clientOf(era);
    const result = await run(client, 2, ({ message }) => told.push(message));
    expect(result).toMatchObject({ status: "success", result: { total: 20 }, runId: expect.any(String) });
    expect(told).toEqual(["price: running", "price: success", "approve: running", "approve: success"]);
  });

  it("asks the person behind the client", async () => {
    const asked: unknown[] = [];
    const client = await clientOf(era, orders(), ((request: { params: unknown }) => {
      asked.push(request.params);
      return { action: "accept", content: { approved: true } };
    }) as () => object);
    expect(await run(client, 20)).toMatchObject({ status: "success", result: { total: 200 } });
    expect(asked).toMatchObject([
      {
        message: "order, approve: Pay 200?",
        requestedSchema: { properties: { approved: { type: "boolean" } } },
      },
    ]);
  });

  it.each([
    ["cannot ask", undefined, undefined],
    ["declines", () => ({ action: "decline" }), undefined],
    [
      "cannot show the form",
      () => ({ action: "accept", content: {} }),
      z.object({ deep: z.object({ a: z.string() }) }),
    ],
  ])("names the run and the step to a client that %s", async (_, answer, schema) => {
    const workflow = orders(schema);
    const result = await run(await clientOf(era, workflow, answer), 20);
    expect(result).toMatchObject({
      status: "suspended",
      suspended: [["approve"]],
      suspendPayload: { question: "Pay 200?" },
    });
    const again = await workflow.createRun({ runId: result["runId"] as string });
    expect(
      await again.resume({ resumeData: schema ? { deep: { a: "x" } } : { approved: true } }),
    ).toMatchObject({
      status: "success",
    });
  });

  it("does not tell why a step failed", async () => {
    const result = await run(await clientOf(era), -1);
    expect(result).toMatchObject({ status: "failed", error: expect.stringContaining(`"failed"`) });
    expect(JSON.stringify(result)).not.toContain("hunter2");
  });
});
