import { describe, expect, test } from "vitest";
import { ROUTE_LIST, routePath } from "./routes.ts";

/** Routes of the documents of the API that are served here. */
const DOCUMENTED = `
GET /api/agents
GET /api/agents/:agentId
POST /api/agents/:agentId/generate
POST /api/agents/:agentId/stream
POST /api/agents/:agentId/send-message
POST /api/agents/:agentId/queue-message
POST /api/agents/:agentId/signals
POST /api/agents/:agentId/threads/subscribe
POST /api/agents/:agentId/threads/abort
POST /api/agents/:agentId/send-tool-approval
POST /api/agents/:agentId/approve-tool-call
POST /api/agents/:agentId/decline-tool-call
POST /api/agents/:agentId/approve-tool-call-generate
POST /api/agents/:agentId/decline-tool-call-generate
POST /api/agents/:agentId/resume-stream
GET /api/agents/:agentId/suspended-runs
POST /api/agents/:agentId/observe
GET /api/agents/:agentId/tools/:toolId
POST /api/agents/:agentId/tools/:toolId/execute
GET /api/memory/status
GET /api/memory/threads
POST /api/memory/threads
GET /api/memory/threads/:threadId
PATCH /api/memory/threads/:threadId
DELETE /api/memory/threads/:threadId
GET /api/memory/threads/:threadId/messages
POST /api/memory/threads/:threadId/clone
GET /api/memory/threads/:threadId/working-memory
POST /api/memory/threads/:threadId/working-memory
POST /api/memory/save-messages
POST /api/memory/messages/delete
GET /api/memory/search
GET /api/tools
GET /api/tools/:toolId
POST /api/tools/:toolId/execute
GET /api/mcp/v0/servers
GET /api/mcp/:serverId/tools
GET /api/mcp/:serverId/tools/:toolId
POST /api/mcp/:serverId/tools/:toolId/execute
ALL /api/mcp/:serverId/mcp
GET /api/vectors
GET /api/workflows
GET /api/workflows/run-counts
GET /api/workflows/:workflowId
GET /api/workflows/:workflowId/runs
GET /api/workflows/:workflowId/runs/:runId
DELETE /api/workflows/:workflowId/runs/:runId
POST /api/workflows/:workflowId/runs/:runId/cancel
POST /api/workflows/:workflowId/create-run
POST /api/workflows/:workflowId/start
POST /api/workflows/:workflowId/start-async
POST /api/workflows/:workflowId/stream
POST /api/workflows/:workflowId/resume
POST /api/workflows/:workflowId/resume-async
POST /api/workflows/:workflowId/resume-no-wait
POST /api/workflows/:workflowId/resume-stream
POST /api/workflows/:workflowId/observe
POST /api/workflows/:workflowId/restart
POST /api/workflows/:workflowId/restart-async
POST /api/workflows/:workflowId/restart-all-active-workflow-runs
POST /api/workflows/:workflowId/time-travel
POST /api/workflows/:workflowId/time-travel-async
POST /api/workflows/:workflowId/time-travel-stream
`
  .trim()
  .split("\n");

describe("the route table", () => {
  test("has the documented paths", () => {
    const here = new Set(ROUTE_LIST.map(({ method, path }) => `${method} ${path}`));
    expect(DOCUMENTED.filter((route) => !here.has(route))).toEqual([]);
  });

  test("has every path and method once, and a shape for every parameter", () => {
    const all = ROUTE_LIST.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(all).size).toBe(all.length);
    for (const { path, params } of ROUTE_LIST) {
      const named = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name);
      expect(Object.keys((params?.["properties"] ?? {}) as object)).toEqual(named);
    }
  });

  test("refuses keys it does not know, in every body of its own", () => {
    for (const { path, body } of ROUTE_LIST)
      if (body && !path.startsWith("/v1/") && !path.endsWith("/chat"))
        expect(body["additionalProperties"], path).toBe(false);
  });

  test("a path is filled in, whatever the values are", () => {
    expect(routePath("/a/:one/b/:two", { one: "x/y", two: "ü" }, { n: 2, no: undefined, q: "a b" })).toBe(
      "/a/x%2Fy/b/%C3%BC?n=2&q=a+b",
    );
  });
});
