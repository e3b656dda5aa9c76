import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { RESOURCE_ID_KEY } from "@selvedge/core/request-context";
import { registerApiRoute, type ServerConfig, SimpleAuth } from "@selvedge/core/server";
import { Memory } from "@selvedge/memory";
import { InMemoryStore } from "@selvedge/core/storage";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { createServer } from "./server.ts";

function serverOf(server: ServerConfig) {
  const model = scriptedModel(() => "ok");
  const helper = new Agent({
    id: "helper",
    name: "Helper",
    instructions: ({ requestContext }) => `Speak ${String(requestContext.get("language"))}.`,
    model,
    memory: new Memory(),
  });
  const mastra = new Mastra({ agents: { helper }, storage: new InMemoryStore(), logger: false, server });
  const { fetch } = createServer({ mastra });
  const call = (path: string, init: RequestInit = {}) => fetch(new Request(`http://localhost${path}`, init));
  const ask = (body: object, headers: Record<string, string> = {}) =>
    call("/api/agents/helper/generate", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ messages: "Hi", ...body }),
    });
  return { mastra, model, call, ask };
}

const hello = registerApiRoute("/hello/:name", {
  method: "GET",
  handler: (c) => c.json({ hello: c.req.param("name"), agents: Object.keys(c.get("mastra").listAgents()) }),
});

describe("a host's own routes", () => {
  it("are served beside the framework's", async () => {
    const { call } = serverOf({ apiRoutes: [hello] });
    expect(await (await call("/hello/ann")).json()).toEqual({ hello: "ann", agents: ["helper"] });
    expect((await call("/api/agents")).status).toBe(200);
    expect((await call("/hello/ann", { method: "POST" })).status).toBe(404);
  });

  it("may be made when they are first called, with middleware of their own", async () => {
    const late = registerApiRoute("/late", {
      method: "ALL",
      createHandler: async () => (c) => c.text(`late ${c.get("requestContext").get("seen")}`),
      middleware: async (c, next) => {
        c.get("requestContext").set("seen", true);
        await next();
      },
    });
    const { call } = serverOf({ apiRoutes: [late] });
    expect(await (await call("/late", { method: "PUT" })).text()).toBe("late true");
  });

  it("need a caller unless they say otherwise", async () => {
    const open = registerApiRoute("/open", {
      method: "GET",
      requiresAuth: false,
      handler: (c) => c.text("open"),
    });
    const { call } = serverOf({
      apiRoutes: [hello, open],
      auth: new SimpleAuth({ tokens: { t1: { id: "ann" } } }),
    });
    expect((await call("/hello/ann")).status).toBe(401);
    expect((await call("/hello/ann", { headers: { authorization: "Bearer t1" } })).status).toBe(200);
    expect((await call("/open")).status).toBe(200);
  });

  it("answer with an error when they throw, without its text", async () => {
    const broken = registerApiRoute("/broken", {
      method: "GET",
      handler: () => {
        throw new Error("password is hunter2");
      },
    });
    const { call } = serverOf({ apiRoutes: [broken] });
    const response = await call("/broken");
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("hunter2");
  });

  it("are checked when they are described", () => {
    const handler = () => new Response();
    expect(() => registerApiRoute("hello", { method: "GET", handler })).toThrow(/must start with "\/"/);
    expect(() => registerApiRoute("/api/agents", { method: "GET", handler })).toThrow(/framework's own/);
    expect(() => registerApiRoute("/a", { method: "SEND" as never, handler })).toThrow(/got "SEND"/);
    expect(() => registerApiRoute("/a", { method: "GET" })).toThrow(/needs a handler/);
  });
});

describe("a host's middleware", () => {
  it("sets the request context of runs", async () => {
    const { ask, model } = serverOf({
      middleware: async (c, next) => {
        c.get("requestContext").set("language", c.req.header("accept-language"));
        await next();
      },
    });
    expect((await ask({}, { "accept-language": "Latin" })).status).toBe(200);
    expect(model.calls[0]!.prompt[0]).toMatchObject({ content: "Speak Latin." });
  });

  it("applies to its path, and may answer itself", async () => {
    const { call } = serverOf({
      middleware: [{ path: "/api/agents/*", handler: async (c) => c.text("no", 418) }],
    });
    expect((await call("/api/agents/helper")).status).toBe(418);
    expect((await call("/health")).status).toBe(200);
  });

  it("says whose request it is, whatever the body says", async () => {
    const { ask, mastra } = serverOf({
      middleware: async (c, next) => {
        c.get("requestContext").set(RESOURCE_ID_KEY, "ann");
        await next();
      },
    });
    await ask({ memory: { thread: "t", resource: "ben" } });
    const memory = (await mastra.getAgent("helper").getMemory()) as Memory;
    expect((await memory.getThreadById({ threadId: "t" }))?.resourceId).toBe("ann");
  });
});

describe("a host's authentication", () => {
  const auth = new SimpleAuth({ tokens: { t1: { id: "ann" }, t2: { sub: "ben" }, t3: { name: "nobody" } } });

  it("makes a token's user the owner of its threads", async () => {
    const { ask, mastra } = serverOf({ auth });
    expect((await ask({})).status).toBe(401);
    expect((await ask({}, { authorization: "Bearer wrong" })).status).toBe(401);
    await ask({ memory: { thread: "t", resource: "ann" } }, { authorization: "Bearer t2" });
    const memory = (await mastra.getAgent("helper").getMemory()) as Memory;
    expect((await memory.getThreadById({ threadId: "t" }))?.resourceId).toBe("ben");
    const foreign = await ask({ memory: { thread: "t", resource: "ben" } }, { authorization: "Bearer t1" });
    expect(foreign.status).toBe(404);
  });

  it("refuses users without an id, and users it does not authorise", async () => {
    expect((await serverOf({ auth }).ask({}, { authorization: "Bearer t3" })).status).toBe(400);
    const picky = { authenticateToken: () => ({ id: "ann" }), authorizeUser: () => false };
    expect((await serverOf({ auth: picky }).ask({}, { authorization: "Bearer x" })).status).toBe(403);
  });
});

it("lets pages of the listed origins call, and no others for *", async () => {
  const { call } = serverOf({ cors: { origin: ["https://app.example.com"] } });
  const headers = { origin: "https://app.example.com", host: "localhost" };
  expect((await call("/api/agents", { headers })).headers.get("access-control-allow-origin")).toBe(
    headers.origin,
  );
  expect((await serverOf({ cors: { origin: "*" } }).call("/api/agents", { headers })).status).toBe(403);
});
