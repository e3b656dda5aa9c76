import { serve } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { createTool } from "@selvedge/core/tools";
import { type Context, Hono } from "hono";
import { expect, it } from "vitest";
import { scene, textOf } from "../__fixtures__/scene.ts";
import type { MCPServer } from "../index.ts";

const { client, server, open } = scene();

const paths = { ssePath: "/hono-sse", messagePath: "/message" };

it.each<[string, (mcp: MCPServer, c: Context) => Promise<Response>]>([
  [
    "context, and returns what the handler returns",
    (mcp, c) => mcp.startHonoSSE({ url: new URL(c.req.url), ...paths, context: c }),
  ],
  [
    "context as req",
    async (mcp, c) => {
      await mcp.startHonoSSE({ url: new URL(c.req.url), ...paths, req: c, res: undefined });
      return RESPONSE_ALREADY_SENT;
    },
  ],
])("serves SSE clients, several at a time, from a Hono %s", async (_form, answer) => {
  const whoami = createTool({
    id: "whoami",
    description: "",
    execute: async (_, { extra }) => extra?.sessionId,
  });
  const mcp = server({ tools: { whoami } });
  const app = new Hono();
  app.get("/health", (c) => c.text("ok"));
  app.all("*", (c) => answer(mcp, c));
  const { port, http } = await new Promise<{ port: number; http: ReturnType<typeof serve> }>((resolve) => {
    const started = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, (info) =>
      resolve({ port: info.port, http: started }),
    );
  });
  open(
    () =>
      new Promise((resolve) => {
        http.close(() => resolve(undefined));
        (http as unknown as { closeAllConnections(): void }).closeAllConnections();
      }),
  );
  const url = new URL(`http://127.0.0.1:${port}/hono-sse`);
  expect(await (await fetch(new URL("/health", url))).text()).toBe("ok");
  // A path that ends otherwise than in /sse is tried over streamable HTTP first.
  const [one, two] = await Promise.all([
    client({ a: { url } }).getTools(),
    client({ a: { url } }).getTools(),
  ]);
  const sessions = await Promise.all(
    [one, two].map(async (tools) => textOf(await tools["a_whoami"]!.execute({}))),
  );
  expect(new Set(sessions).size).toBe(2);
  expect(mcp.getSseHonoTransport()?.sessionId).toBe(
    sessions.find((id) => id === mcp.getSseHonoTransport()?.sessionId),
  );
  expect((await fetch(new URL("/message?sessionId=nobody", url), { method: "POST" })).status).toBe(404);
});

it("says what to use where Hono does not run on Node", async () => {
  const app = new Hono();
  const mcp = server({});
  app.all("*", (c) => mcp.startHonoSSE({ url: new URL(c.req.url), ...paths, context: c }));
  app.onError((error, c) => c.text(error.message, 501));
  const response = await app.request("/hono-sse");
  expect([response.status, await response.text()]).toEqual([501, expect.stringContaining("fetchSSE(")]);
});
