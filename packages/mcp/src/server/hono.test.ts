import { serve } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { createTool } from "@selvedge/core/tools";
import { Hono } from "hono";
import { expect, it } from "vitest";
import { scene, textOf } from "../__fixtures__/scene.ts";

const { client, server, open } = scene();

it("serves SSE clients from a Hono context, several at a time", async () => {
  const whoami = createTool({
    id: "whoami",
    description: "",
    execute: async (_, { extra }) => extra?.sessionId,
  });
  const mcp = server({ tools: { whoami } });
  const app = new Hono();
  app.get("/health", (c) => c.text("ok"));
  app.all("*", async (c) => {
    await mcp.startHonoSSE({
      url: new URL(c.req.url),
      ssePath: "/hono-sse",
      messagePath: "/message",
      req: c,
      res: undefined,
    });
    return RESPONSE_ALREADY_SENT;
  });
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
