import { Agent } from "@selvedge/core/agent";
import { AgentError, silentLogger } from "@selvedge/core";
import { createTool } from "@selvedge/core/tools";
import { scriptedModel } from "@selvedge/testing";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { hostHttp, type Host } from "../__fixtures__/host.ts";
import { MCPServer, type MCPServerConfig } from "../index.ts";

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

function serverWith(config: Partial<MCPServerConfig>): MCPServer {
  const server = new MCPServer({
    name: "Test",
    version: "1.0.0",
    tools: {},
    logger: silentLogger,
    ...config,
  });
  open.push(server);
  return server;
}

async function hosted(server: MCPServer, ...rest: [options?: object]): Promise<Host> {
  const started = await hostHttp(server, ...rest);
  open.push(started);
  return started;
}

type Era = "legacy" | "modern";

async function clientOf({ url }: Host, era: Era, answer?: () => object): Promise<Client> {
  const client = new Client(
    { name: "test", version: "1" },
    {
      capabilities: answer ? { elicitation: {} } : {},
      versionNegotiation: { mode: era === "legacy" ? "legacy" : { pin: "2026-07-28" } },
    },
  );
  if (answer) client.setRequestHandler("elicitation/create", answer as () => never);
  await client.connect(new StreamableHTTPClientTransport(url));
  open.push(client);
  return client;
}

const textOf = (result: { content: unknown }): string => (result.content as { text: string }[])[0]!.text;
const weather = createTool({
  id: "weather",
  description: "Tells the weather.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ context }) => `Sunny in ${context.city}`,
});

describe.each(["legacy", "modern"] as const)("MCPServer over HTTP, %s generation", (era) => {
  it("serves a tool under its key", async () => {
    const client = await clientOf(await hosted(serverWith({ tools: { forecast: weather } })), era);
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([{ name: "forecast", description: "Tells the weather." }]);
    expect(textOf(await client.callTool({ name: "forecast", arguments: { city: "Rome" } }))).toBe(
      "Sunny in Rome",
    );
  });

  it("lists every issue of arguments that do not fit, and the arguments", async () => {
    const client = await clientOf(await hosted(serverWith({ tools: { weather } })), era);
    const result = await client.callTool({ name: "weather", arguments: { city: 7 } });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/city:.*expected string[\s\S]*"city":7/i);
  });

  it("asks the caller in the middle of a tool, and does not do the first half twice", async () => {
    let started = 0;
    const tool = createTool({
      id: "ask",
      description: "Asks.",
      execute: async (_, { elicitation }) => {
        started++;
        const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
        try {
          const first = await elicitation.sendRequest({ message: "Who?", requestedSchema: form });
          const second = await elicitation.sendRequest({ message: "And who else?", requestedSchema: form });
          return `${first.content.name} and ${second.content.name}`;
        } catch (error) {
          return `caught ${String(error)}`;
        }
      },
    });
    const names = ["Ada", "Grace"];
    const answer = () => ({ action: "accept", content: { name: names.shift() } });
    const client = await clientOf(await hosted(serverWith({ tools: { tool } })), era, answer);
    expect(textOf(await client.callTool({ name: "tool", arguments: {} }))).toBe("Ada and Grace");
    expect(started).toBe(1);
  });

  it("tells the tool what is wrong with an answer that does not match the schema, so that it can ask again", async () => {
    const messages: string[] = [];
    const tool = createTool({
      id: "ask",
      description: "Asks.",
      execute: async (_, { elicitation }) => {
        const requestedSchema = {
          type: "object",
          properties: { age: { type: "number" } },
          required: ["age"],
        };
        for (let message = "How old?"; ;) {
          try {
            return (await elicitation.sendRequest({ message, requestedSchema })).content.age;
          } catch (error) {
            const { code, message: words } = error as AgentError;
            messages.push(`${code}: ${words}`);
            message = "How old, in years?";
          }
        }
      },
    });
    const contents: (object | undefined)[] = [{ age: "old" }, undefined, { age: 7 }];
    const asked = () => ({ action: "accept", content: contents.shift() });
    const client = await clientOf(await hosted(serverWith({ tools: { tool } })), era, asked);
    expect(textOf(await client.callTool({ name: "tool", arguments: {} }))).toBe("7");
    expect(messages).toEqual([
      expect.stringMatching(/^tool-input-invalid: .*does not match.*schema.*age.*number/),
      expect.stringMatching(/"How old, in years\?" does not match.*schema.*age/),
    ]);
  });

  it("lets a prompt ask, under a name of its own", async () => {
    const requestedSchema = { type: "object", properties: { language: { type: "string" } } };
    const prompts: MCPServerConfig["prompts"] = {
      listPrompts: async () => [{ name: "greet" }],
      getPromptMessages: async ({ extra }) => {
        const params = { message: "Which language?", requestedSchema };
        const answer = await extra!.sendRequest(
          { method: "elicitation/create", params },
          { key: "language" },
        );
        return [{ role: "user", content: { type: "text", text: `Greet me in ${answer.content.language}.` } }];
      },
    };
    const asked = () => ({ action: "accept", content: { language: "Danish" } });
    const client = await clientOf(await hosted(serverWith({ prompts })), era, asked);
    const { messages } = await client.getPrompt({ name: "greet" });
    expect(messages[0]!.content).toMatchObject({ text: "Greet me in Danish." });
  });

  it("tells the tool when the caller cannot be asked", async () => {
    const tool = createTool({
      id: "ask",
      description: "Asks.",
      execute: (_, { elicitation }) =>
        elicitation
          .sendRequest({ message: "Who?", requestedSchema: {} })
          .catch((error: Error) => error.message),
    });
    const client = await clientOf(await hosted(serverWith({ tools: { tool } })), era);
    expect(textOf(await client.callTool({ name: "tool", arguments: {} }))).toMatch(
      /did not declare the elicitation/,
    );
  });

  it("keeps tools that need approval from running", async () => {
    let ran = false;
    const tool = createTool({
      id: "wipe",
      description: "Wipes.",
      requireApproval: true,
      execute: async () => (ran = true),
    });
    const server = serverWith({ tools: { tool } });
    const client = await clientOf(await hosted(server), era);
    const result = await client.callTool({ name: "tool", arguments: {} });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/approval/);
    await expect(server.executeTool("tool", {})).rejects.toThrow(/approval/);
    expect(ran).toBe(false);
  });

  it("tells a caller without a token what an AgentError says, and keeps all other errors to itself", async () => {
    const failing = (error: unknown) =>
      createTool({
        id: "fail",
        description: "Fails.",
        execute: async () => {
          throw error;
        },
      });
    const system = Object.assign(new Error("connect ECONNREFUSED 10.1.2.3:5432"), { syscall: "connect" });
    const tools = {
      told: failing(new AgentError("not-found", "No such city.")),
      secret: failing(new Error("postgres://admin:hunter2@db")),
      bug: failing(new TypeError("x.y")),
      down: failing(system),
    };
    const client = await clientOf(await hosted(serverWith({ tools })), era);
    const call = async (name: string) => textOf(await client.callTool({ name, arguments: {} }));
    expect(await call("told")).toBe("No such city.");
    expect(await call("bug")).toMatch(/^Tool "bug" failed for an internal reason \(reference /);
    expect(await call("secret")).toMatch(/^Tool "secret" failed for an internal reason \(reference /);
    expect(await call("down")).not.toContain("10.1.2.3");
  });

  it("gives structured output beside its text", async () => {
    const tool = createTool({
      id: "sum",
      description: "Adds.",
      outputSchema: z.object({ sum: z.number() }),
      execute: async () => ({ sum: 3 }),
    });
    const client = await clientOf(await hosted(serverWith({ tools: { tool } })), era);
    await client.listTools();
    const result = await client.callTool({ name: "tool", arguments: {} });
    expect(result.structuredContent).toEqual({ sum: 3 });
    expect(textOf(result)).toBe('{"sum":3}');
  });

  it("answers an agent's tool with what the agent generated", async () => {
    const agent = new Agent({
      name: "Helper",
      description: "Helps.",
      instructions: "Help.",
      model: scriptedModel([{ text: "42" }]),
    });
    const client = await clientOf(await hosted(serverWith({ agents: { helper: agent } })), era);
    const { tools } = await client.listTools();
    expect(tools[0]).toMatchObject({
      name: "ask_helper",
      description: "Ask agent 'Helper' a question. Agent description: Helps.",
    });
    const result = await client.callTool({ name: "ask_helper", arguments: { message: "The answer?" } });
    expect(JSON.parse(textOf(result))).toMatchObject({ text: "42" });
  });

  it("refuses an agent's tool that needs a person, and leaves nothing waiting", async () => {
    let ran = 0;
    const pay = createTool({ id: "pay", description: "", requireApproval: true, execute: async () => ++ran });
    const agent = new Agent({
      name: "Helper",
      description: "Helps.",
      instructions: "Help.",
      model: scriptedModel([{ toolCalls: [{ toolName: "pay", input: {} }] }]),
      tools: { pay },
    });
    const runs: string[] = [];
    const stream = agent.streamAsTool.bind(agent);
    agent.streamAsTool = async (...args) => {
      const output = await stream(...args);
      runs.push(output.runId);
      return output;
    };
    const client = await clientOf(await hosted(serverWith({ agents: { helper: agent } })), era);
    const result = await client.callTool({ name: "ask_helper", arguments: { message: "Pay." } });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('Tool "pay" of agent "Helper" needs approval');
    expect([ran, runs.length]).toEqual([0, 1]);
    await expect(agent.approveToolCall({ runId: runs[0]! })).rejects.toMatchObject({ code: "not-found" });
  });

  it("reads listed resources and those that fit a template, and no others", async () => {
    const resources = {
      listResources: async () => [{ uri: "note://1", name: "One", mimeType: "text/plain" }],
      resourceTemplates: async () => [{ uriTemplate: "day://{day}", name: "Day" }],
      getResourceContent: async ({ uri }: { uri: string }) => ({ text: `content of ${uri}` }),
    };
    const client = await clientOf(await hosted(serverWith({ resources })), era);
    const { contents } = await client.readResource({ uri: "note://1" });
    expect(contents).toEqual([{ uri: "note://1", mimeType: "text/plain", text: "content of note://1" }]);
    expect((await client.readResource({ uri: "day://monday" })).contents[0]).toMatchObject({
      uri: "day://monday",
    });
    await expect(client.readResource({ uri: "note://2" })).rejects.toMatchObject({ code: -32602 });
  });

  it("takes both documented forms of prompt messages, and refuses missing arguments", async () => {
    const message = { role: "user" as const, content: { type: "text" as const, text: "Hi" } };
    const prompts = {
      listPrompts: async () => [{ name: "a" }, { name: "b", arguments: [{ name: "code", required: true }] }],
      getPromptMessages: async ({ name }: { name: string }) =>
        name === "a" ? [message] : { messages: [message] },
    };
    const client = await clientOf(await hosted(serverWith({ prompts })), era);
    expect((await client.getPrompt({ name: "a" })).messages).toEqual([message]);
    expect((await client.getPrompt({ name: "b", arguments: { code: "x" } })).messages).toEqual([message]);
    await expect(client.getPrompt({ name: "b" })).rejects.toThrow(/needs: code/);
  });
});

describe("MCPServer", () => {
  it("refuses agents and workflows without a description", () => {
    const agent = new Agent({ name: "A", instructions: "", model: scriptedModel([]) });
    expect(() => serverWith({ agents: { a: agent } })).toThrow(/Agent "a" needs a description/);
    expect(() => serverWith({ workflows: { w: {} } })).toThrow(/Workflow "w" needs a description/);
  });

  it("lets an explicit tool win over an agent of the same name, and warns", () => {
    const warnings: string[] = [];
    const agent = new Agent({ name: "A", description: "d", instructions: "", model: scriptedModel([]) });
    const logger = { ...silentLogger, warn: (message: string) => warnings.push(message) };
    const server = serverWith({ tools: { ask_a: weather }, agents: { a: agent }, logger });
    expect(server.getToolListInfo().tools.map(({ name, toolType }) => [name, toolType])).toEqual([
      ["ask_a", undefined],
    ]);
    expect(warnings[0]).toMatch(/"ask_a" exists already/);
  });

  it("runs a workflow with the tool's input", async () => {
    const workflow = {
      description: "Doubles.",
      inputSchema: z.object({ value: z.number() }),
      createRun: () => ({
        start: async ({ inputData }: { inputData: { value: number } }) => ({
          status: "success",
          result: inputData.value * 2,
        }),
      }),
    };
    const server = serverWith({ workflows: { double: workflow } });
    expect(await server.executeTool("run_double", { value: 4 })).toEqual({ status: "success", result: 8 });
  });

  it("describes itself", () => {
    const server = serverWith({
      id: "fixed",
      description: "About",
      releaseDate: "2026-01-01",
      packageCanonical: "npm",
    });
    const info = {
      id: "fixed",
      name: "Test",
      description: "About",
      version_detail: { version: "1.0.0", release_date: "2026-01-01", is_latest: true },
    };
    expect(server.getServerInfo()).toEqual(info);
    expect(server.getServerDetail()).toEqual({ ...info, package_canonical: "npm" });
    expect(() => server.getToolInfo("missing")).toThrow(/There is no tool "missing"/);
  });

  it("throws for unknown tools and for input that does not fit", async () => {
    const server = serverWith({ tools: { weather } });
    await expect(server.executeTool("nothing", {})).rejects.toThrow(/There is no tool "nothing"/);
    await expect(server.executeTool("weather", {})).rejects.toThrow(/city/);
    expect(await server.executeTool("weather", { city: "Bern" })).toBe("Sunny in Bern");
  });

  it("hands the caller's identity to the tool, and never one caller's session to another", async () => {
    const whoami = createTool({
      id: "whoami",
      description: "",
      execute: async (_, { extra }) => extra?.authInfo?.clientId,
    });
    const server = serverWith({ tools: { whoami } });
    const { host } = await import("../__fixtures__/host.ts");
    const started = await host((req, res) => {
      const clientId = req.headers.authorization ?? "nobody";
      Object.assign(req, { auth: { token: "t", clientId, scopes: [] } });
      return server.startHTTP({ url: new URL(req.url ?? "", "http://x"), httpPath: "/mcp", req, res });
    });
    open.push(started);
    const client = new Client({ name: "test", version: "1" });
    const transport = new StreamableHTTPClientTransport(started.url, {
      requestInit: { headers: { authorization: "ada" } },
    });
    await client.connect(transport);
    open.push(client);
    expect(textOf(await client.callTool({ name: "whoami", arguments: {} }))).toBe("ada");
    const headers = {
      authorization: "eve",
      "mcp-session-id": transport.sessionId!,
      accept: "text/event-stream",
    };
    expect((await fetch(started.url, { headers })).status).toBe(404);
  });

  it("answers 404 for sessions it does not know, and for other paths", async () => {
    const { url } = await hosted(serverWith({}));
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const unknown = await fetch(url, {
      method: "POST",
      headers: { ...headers, "mcp-session-id": "gone" },
      body,
    });
    expect(unknown.status).toBe(404);
    expect((await fetch(url, { method: "POST", headers, body })).status).toBe(400);
    expect((await fetch(new URL("/other", url))).status).toBe(404);
  });

  it("ends sessions that nobody uses, and the oldest when there are too many", async () => {
    const server = serverWith({ tools: { weather }, sessions: { idleMs: 150, max: 2 } });
    const started = await hosted(server);
    const ids: string[] = [];
    const connect = async () => {
      const params = {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "t", version: "1" },
      };
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
      const response = await fetch(started.url, { method: "POST", headers, body });
      await response.text();
      ids.push(response.headers.get("mcp-session-id")!);
    };
    for (let count = 0; count < 3; count++) await connect();
    const status = async (id: string) => {
      const response = await fetch(started.url, { method: "DELETE", headers: { "mcp-session-id": id } });
      return response.status;
    };
    expect(await status(ids[0]!)).toBe(404);
    expect(await status(ids[2]!)).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await status(ids[1]!)).toBe(404);
  });

  it("does not answer pages of other sites that reach it through loopback", async () => {
    const { url } = await hosted(serverWith({}));
    expect((await fetch(url, { method: "POST", headers: { origin: "https://evil.example" } })).status).toBe(
      403,
    );
    const { request } = await import("node:http");
    const status = await new Promise((resolve) => {
      request(url, { method: "POST", headers: { host: "evil.example" } }, (res) =>
        resolve(res.statusCode),
      ).end();
    });
    expect(status).toBe(403);
  });

  it("serves without sessions when asked to", async () => {
    const started = await hosted(serverWith({ tools: { weather } }), { sessionIdGenerator: undefined });
    const client = await clientOf(started, "legacy");
    expect((client.transport as StreamableHTTPClientTransport).sessionId).toBeUndefined();
    expect(textOf(await client.callTool({ name: "weather", arguments: { city: "Oslo" } }))).toBe(
      "Sunny in Oslo",
    );
  });
});
