import { AgentError } from "@selvedge/core";
import { createTool } from "@selvedge/core/tools";
import type { AuthInfo } from "@modelcontextprotocol/server";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { scene, textOf } from "../__fixtures__/scene.ts";

const { server, hosted, open } = scene();

const authInfo = (sub: string): AuthInfo => ({ token: "", clientId: "c", scopes: [], extra: { sub } });

async function clientOf(url: URL, era: "legacy" | "modern", answer?: () => Promise<object>): Promise<Client> {
  const client = new Client(
    { name: "test", version: "1" },
    {
      capabilities: answer ? { elicitation: {} } : {},
      versionNegotiation: { mode: era === "legacy" ? "legacy" : { pin: "2026-07-28" } },
    },
  );
  if (answer) client.setRequestHandler("elicitation/create", answer as () => never);
  await client.connect(new StreamableHTTPClientTransport(url));
  open(() => client.close());
  return client;
}

/** Never answers, and tells when it is to stop. */
function sleeper(more: object = {}) {
  const { promise: stopped, resolve } = Promise.withResolvers<string>();
  const tool = createTool({
    id: "sleep",
    description: "",
    ...more,
    execute: (_, { abortSignal }) =>
      new Promise<never>(() => {
        abortSignal?.addEventListener("abort", () => resolve((abortSignal.reason as Error).message));
      }),
  });
  return { tool, stopped };
}

describe.each(["legacy", "modern"] as const)("a call over HTTP, %s generation", (era) => {
  it("ends when its time is over, as a result that a model can read", async () => {
    const { tool, stopped } = sleeper();
    const { url } = await hosted({ tools: { sleep: tool }, limits: { toolTimeoutMs: 50 } });
    const result = await (await clientOf(url, era)).callTool({ name: "sleep", arguments: {} });
    expect(result).toMatchObject({ isError: true });
    expect(textOf(result)).toMatch(/"sleep" did not finish in time/);
    expect(await stopped).toMatch(/in time/);
  });

  it("is not hurried while a person is asked", async () => {
    const ask = createTool({
      id: "ask",
      description: "",
      execute: async (_, { elicitation }) => {
        const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
        const { content } = await elicitation.sendRequest({ message: "Who?", requestedSchema });
        return `For ${content.name}`;
      },
    });
    const { url } = await hosted({ tools: { ask }, limits: { toolTimeoutMs: 100 } });
    const client = await clientOf(url, era, async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return { action: "accept", content: { name: "Ada" } };
    });
    expect(textOf(await client.callTool({ name: "ask", arguments: {} }))).toBe("For Ada");
  });

  it("has a result of limited size, or an error where a shape was promised", async () => {
    const long = createTool({ id: "long", description: "", execute: async () => "x".repeat(5000) });
    const shaped = createTool({
      id: "shaped",
      description: "",
      outputSchema: z.object({ text: z.string() }),
      execute: async () => ({ text: "x".repeat(5000) }),
    });
    const { url } = await hosted({ tools: { long, shaped }, limits: { toolResultBytes: 1000 } });
    const client = await clientOf(url, era);
    const cut = textOf(await client.callTool({ name: "long", arguments: {} }));
    expect(cut.length).toBeLessThan(1000);
    expect(cut).toMatch(/over the limit of 1000/);
    const refused = await client.callTool({ name: "shaped", arguments: {} });
    expect(refused).toMatchObject({ isError: true });
    expect(textOf(refused)).toMatch(/over the limit of 1000/);
  });
});

describe.each(["legacy", "modern"] as const)("what is no tool, %s generation,", (era) => {
  const never = () => new Promise<never>(() => {});
  const resource = { uri: "note://1", name: "One" };
  const resources = { listResources: async () => [resource], getResourceContent: never };
  const prompts = { listPrompts: async () => [{ name: "greet" }], getPromptMessages: never };

  it("has as much time as tools have", async () => {
    const { url } = await hosted({ resources, prompts, complete: never, limits: { toolTimeoutMs: 50 } });
    const client = await clientOf(url, era);
    await expect(client.readResource({ uri: "note://1" })).rejects.toThrow(/did not finish in time/);
    await expect(client.getPrompt({ name: "greet" })).rejects.toThrow(
      /Prompt "greet" did not finish in time/,
    );
    const ref = { type: "ref/prompt" as const, name: "greet" };
    const argument = { name: "who", value: "A" };
    await expect(client.complete({ ref, argument })).rejects.toThrow(/did not finish in time/);
  });

  it("has no time to list without end either", async () => {
    const limits = { toolTimeoutMs: 50 };
    const { url } = await hosted({
      resources: { ...resources, listResources: never, resourceTemplates: never },
      prompts: { listPrompts: never },
      limits,
    });
    const client = await clientOf(url, era);
    await expect(client.listResources()).rejects.toThrow(/did not finish in time/);
    await expect(client.listResourceTemplates()).rejects.toThrow(/did not finish in time/);
    await expect(client.listPrompts()).rejects.toThrow(/did not finish in time/);
  });

  it("answers no more than tools do", async () => {
    const text = "x".repeat(5000);
    const { url } = await hosted({
      resources: { ...resources, getResourceContent: async () => ({ text }) },
      prompts: {
        ...prompts,
        getPromptMessages: async () => [{ role: "user" as const, content: { type: "text" as const, text } }],
      },
      limits: { toolResultBytes: 1000 },
    });
    const client = await clientOf(url, era);
    await expect(client.readResource({ uri: "note://1" })).rejects.toThrow(/over the limit of 1000/);
    await expect(client.getPrompt({ name: "greet" })).rejects.toThrow(/over the limit of 1000/);
    expect((await client.listResources()).resources).toEqual([resource]);
  });

  it("keeps its insides to itself", async () => {
    const broken = () => {
      throw new TypeError("x.y of postgres://app:hunter2@10.0.0.5");
    };
    const { url } = await hosted({
      resources: { ...resources, listResources: broken },
      prompts: { ...prompts, listPrompts: broken },
      complete: broken,
    });
    const client = await clientOf(url, era);
    const ref = { type: "ref/prompt" as const, name: "greet" };
    for (const ask of [
      () => client.listResources(),
      () => client.listPrompts(),
      () => client.complete({ ref, argument: { name: "who", value: "A" } }),
    ]) {
      const error: Error = await ask().then(
        () => expect.fail("it answered"),
        (thrown: Error) => thrown,
      );
      expect(error.message).toMatch(/failed for an internal reason \(reference /);
      expect(error.message).not.toContain("hunter2");
    }
  });
});

it("the host reads resources within the limits, and each caller within its own number", async () => {
  const made = server({
    resources: {
      listResources: async () => [{ uri: "note://1", name: "One" }],
      getResourceContent: () => new Promise<never>(() => {}),
    },
    limits: { toolTimeoutMs: 50, callsPerCaller: 1 },
  });
  const read = (user: string) => made.readResource("note://1", { extra: { authInfo: authInfo(user) } });
  const first = read("bob");
  await expect(made.listResources({ extra: { authInfo: authInfo("bob") } })).rejects.toMatchObject({
    code: "too-many-requests",
  });
  expect(await made.listResources({ extra: { authInfo: authInfo("ann") } })).toMatchObject({
    resources: [{}],
  });
  await expect(first).rejects.toMatchObject({ code: "tool-timeout" });
  expect(await made.listResources({ extra: { authInfo: authInfo("bob") } })).toMatchObject({
    resources: [{}],
  });
});

it("tells a caller over HTTP what an AgentError says and no more, unless it may look inside", async () => {
  const fail = (error: Error) =>
    createTool({
      id: "fail",
      description: "",
      execute: async () => {
        throw error;
      },
    });
  const made = server({
    tools: {
      secret: fail(new Error("postgres://app:hunter2@10.0.0.5")),
      told: fail(new AgentError("not-found", "There is no such city.")),
    },
  });
  const call = async (name: string, caller: { authInfo?: AuthInfo }) => {
    const params = {
      name,
      arguments: {},
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    };
    const request = new Request("http://x/mcp", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    });
    return (await made.fetch(request, caller)).text();
  };
  for (const caller of [{}, { authInfo: authInfo("ann") }]) {
    expect(await call("secret", caller)).toMatch(/internal reason \(reference /);
    expect(await call("told", caller)).toContain("There is no such city.");
  }
  const inside = { ...authInfo("ann"), extra: { sub: "ann", inspect: true } };
  expect(await call("secret", { authInfo: inside })).toContain("hunter2");
});

it("a tool's own time wins", async () => {
  const { tool } = sleeper({ timeoutMs: 30 });
  await expect(server({ tools: { sleep: tool } }).executeTool("sleep", {})).rejects.toMatchObject({
    code: "tool-timeout",
  });
});

it("a caller has only so many calls under way, and others have theirs", async () => {
  const { tool } = sleeper();
  const quick = createTool({ id: "quick", description: "", execute: async () => "ok" });
  const made = server({
    tools: { sleep: tool, quick },
    limits: { callsPerCaller: 2, calls: 3, toolTimeoutMs: 3000 },
  });
  const call = (user: string, name: string) =>
    made.executeTool(name, {}, { extra: { authInfo: authInfo(user) } as never });
  void call("bob", "sleep").catch(() => {});
  void call("bob", "sleep").catch(() => {});
  await expect(call("bob", "quick")).rejects.toMatchObject({ code: "too-many-requests" });
  expect(await call("ann", "quick")).toBe("ok");
  void call("ann", "sleep").catch(() => {});
  await expect(call("cid", "quick")).rejects.toMatchObject({ code: "too-many-requests" });
});

it("sessions of a caller drive out its own, and never those of others", async () => {
  const made = server({ sessions: { maxPerCaller: 2, max: 4 } });
  const send = (user: string, request: RequestInit) =>
    made.fetch(
      new Request("http://x/mcp", {
        ...request,
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          ...(request.headers as object),
        },
      }),
      { authInfo: authInfo(user) },
    );
  const connect = async (user: string) => {
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "t", version: "1" },
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    const response = await send(user, { method: "POST", body });
    await response.text();
    return response.headers.get("mcp-session-id")!;
  };
  const isOpen = async (user: string, id: string) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" });
    const response = await send(user, { method: "POST", body, headers: { "mcp-session-id": id } });
    await response.body?.cancel();
    return response.status === 200;
  };
  const anns = await connect("ann");
  const bobs = [];
  for (let count = 0; count < 10; count++) bobs.push(await connect("bob"));
  expect(await isOpen("ann", anns)).toBe(true);
  expect(await Promise.all(bobs.map((id) => isOpen("bob", id)))).toEqual([
    ...Array.from({ length: 8 }, () => false),
    true,
    true,
  ]);
  // Full: whoever has the most gives one up.
  await connect("cid");
  await connect("dan");
  expect(await isOpen("ann", anns)).toBe(true);
  expect(await isOpen("bob", bobs[8]!)).toBe(false);
  expect(await isOpen("bob", bobs[9]!)).toBe(true);
});
