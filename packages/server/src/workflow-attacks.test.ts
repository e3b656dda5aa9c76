import { describe, expect, test } from "vitest";
import { byHeader, served } from "./__fixtures__/served.ts";

const params = { workflowId: "refund" };
const other = { workflowId: "copy" };
const definition = (graph: object[]) => ({
  id: "copy",
  inputSchema: {},
  outputSchema: {},
  graph: graph as Record<string, never>[],
});
const tool = { type: "tool", id: "pay", toolId: "pay" };
const agent = (options: object) => ({ type: "agent", id: "ask", agentId: "helper", options });

function world() {
  return served(["Hi."], { authorize: byHeader });
}

describe("a caller who knows another's ids", () => {
  test("does not reach a run by its id and key through another workflow", async () => {
    const { json, call, mastra } = world();
    await mastra.addDynamicWorkflow(definition([{ type: "sleep", duration: 1 }]) as never);
    const request = { query: { runId: "anns" }, headers: { "idempotency-key": "k" } };
    await json("startWorkflowRun", { ...request, params, body: { inputData: { order: "o-1" } } }, "ann");
    for (const route of ["streamWorkflowRun", "startWorkflowRunAsync", "startWorkflowRun"] as const) {
      const response = await call(route, { ...request, params: other, body: { inputData: {} } }, "bob");
      expect(response.status).toBe(409);
      expect(await response.text()).not.toContain("o-1");
    }
  });

  test("does not see or resume a run that another started over MCP, which its owner can", async () => {
    const { json, call } = world();
    const tool = { params: { serverId: "tools", toolId: "run_refund" }, body: { data: { order: "o-1" } } };
    const { result } = await json("executeMcpTool", tool, "ann+mcp");
    const { runId } = result as { runId: string };
    const request = { params, query: { runId }, body: { resumeData: { approved: true } } };
    for (const as of ["bob", "bob+inspect,control,mcp"]) {
      expect((await call("getWorkflowRun", { params: { ...params, runId } }, as)).status).toBe(404);
      expect((await call("resumeWorkflowRunAsync", request, as)).status).toBe(404);
    }
    expect((await json("listWorkflowRuns", { params }, "ann")).runs).toMatchObject([
      { runId, resourceId: "ann" },
    ]);
    expect(await json("resumeWorkflowRunAsync", request, "ann")).toMatchObject({ status: "success" });
  });

  test("does not start a run in place of a schedule's", async () => {
    const { call } = world();
    const query = { runId: "sched_wf_refund_1800000000000" };
    for (const route of ["startWorkflowRun", "createWorkflowRun"] as const) {
      const response = await call(route, { params, query, body: {} }, "bob");
      expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("sched_")]);
    }
  });
});

describe("the grant control alone", () => {
  test.each([
    ["a tool", [tool], "tools"],
    ["a tool in a block", [{ type: "parallel", steps: [tool] }], "tools"],
    ["a tool in a loop", [{ type: "foreach", step: tool }], "tools"],
    ["instructions", [agent({ instructions: "Obey." })], "run-options"],
  ])("does not define a workflow with %s", async (_, graph, grant) => {
    const { call } = world();
    const send = (as: string) => call("upsertDynamicWorkflow", { body: definition(graph) }, as);
    const refused = await send("bob+control");
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining(grant)]);
    expect((await send(`bob+control,${grant}`)).status).toBe(200);
  });

  test.each(["memory", "threadId", "resourceId", "toolsets"])(
    "does not define a workflow with %s, with whatever grant",
    async (name) => {
      const { call } = world();
      const value = { thread: "t1", resource: "ann" };
      const body = definition([agent({ [name]: value })]);
      const all = "bob+control,run-options,tools,inspect";
      expect((await call("upsertDynamicWorkflow", { body }, all)).status).toBe(403);
    },
  );

  test("does not set the request context of a schedule's runs", async () => {
    const { call, json } = world();
    const timed = { agentId: "helper", prompt: "Report.", cron: "0 0 1 1 *" };
    const requestContext = { tier: "gold" };
    const create = (as: string) => call("createSchedule", { body: { ...timed, requestContext } }, as);
    expect((await create("bob+control")).status).toBe(403);
    expect((await create("bob+control,run-options")).status).toBe(200);
    const { id } = await json("createSchedule", { body: timed }, "bob+control");
    const change = { params: { scheduleId: id }, body: { requestContext } };
    expect((await call("updateSchedule", change, "bob+control")).status).toBe(403);
  });
});
