import { expect, test } from "vitest";
import { handlerOf, hostWith } from "./__fixtures__/served-agent.ts";
import { MastraClient } from "./mastra-client.ts";

test("stores, shows and deletes a workflow that is defined as data", async () => {
  const host = hostWith(["Hello."]);
  const { fetch } = handlerOf(host);
  const client = new MastraClient({
    baseUrl: "http://localhost",
    fetch: (url, init) => fetch(new Request(url as string, init)),
  });
  const graph = [{ type: "agent", id: "ask", agentId: host.agent.id }];
  const definition = { id: "greeting", inputSchema: {}, outputSchema: {}, graph };
  expect(await client.upsertDynamicWorkflow(definition)).toMatchObject({
    ...definition,
    createdAt: expect.any(String),
  });
  expect((await client.listDynamicWorkflows()).workflows).toMatchObject([definition]);
  const bad = {
    ...definition,
    graph: [{ type: "parallel", steps: [{ type: "tool", id: "t", toolId: "none" }] }],
  };
  await expect(client.upsertDynamicWorkflow(bad)).rejects.toMatchObject({
    code: "invalid-argument",
    message: expect.stringContaining("graph.0.steps.0.toolId"),
  });
  expect(await client.getDynamicWorkflow("greeting").details()).toMatchObject(definition);
  expect(await client.getDynamicWorkflow("greeting").delete()).toEqual({ success: true });
  await expect(client.getDynamicWorkflow("greeting").details()).rejects.toMatchObject({ code: "not-found" });
});
