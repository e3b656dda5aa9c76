import { Agent, Mastra, silentLogger } from "@selvedge/core";
import { InMemoryStorage } from "@selvedge/core/storage";
import { InMemoryVector } from "@selvedge/core/vector";
import { MastraClient } from "@selvedge/client-js";
import { MCPServer } from "@selvedge/mcp";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { expect, test } from "vitest";
import { byHeader } from "./__fixtures__/served.ts";
import { createServer } from "./server.ts";

const embedder = {
  id: "local/letters",
  dimension: 1,
  embed: async (texts: string[]) => texts.map(({ length }) => [length]),
};

function host(): { client(user?: string): MastraClient } {
  const notes = new MCPServer({
    id: "notes",
    name: "notes",
    version: "1.0.0",
    tools: {},
    resources: {
      // Each caller has notes of its own, in the way that tools know who calls.
      listResources: async (context) => {
        const user = (context?.extra.authInfo?.extra?.["sub"] as string | undefined) ?? "local";
        return [{ uri: `notes://${user}`, name: `Notes of ${user}`, mimeType: "text/plain" }];
      },
      resourceTemplates: async () => [{ uriTemplate: "days://{day}", name: "day" }],
      getResourceContent: async ({ uri, extra }) => {
        if (uri === "days://never") throw new Error("The calendar at /var/secret is gone.");
        if (uri === "days://ask") await extra!.sendRequest({ method: "roots/list" });
        return { text: `content of ${uri}` };
      },
    },
  });
  const memory = () => new Memory({ storage: new InMemoryStorage(), vector: new InMemoryVector(), embedder });
  const agent = (id: string) =>
    new Agent({ id, name: id, instructions: "", model: scriptedModel(["x"]), memory: memory() });
  const mastra = new Mastra({
    agents: { one: agent("one"), two: agent("two") },
    mcpServers: { notes },
    logger: silentLogger,
  });
  const open = createServer({ mastra });
  const guarded = createServer({ mastra, authorize: byHeader });
  return {
    client: (user) => {
      const [name, grants = ""] = user?.split("+") ?? [];
      return new MastraClient({
        baseUrl: "http://localhost",
        retries: 0,
        ...(name !== undefined && { headers: { "x-user": name, "x-grants": grants } }),
        fetch: (input, init) =>
          (name === undefined ? open : guarded).fetch(new Request(input as string, init)),
      });
    },
  };
}

test("resources of an MCP server are listed and read as their caller sees them", async () => {
  const { client } = host();
  expect(await client().getMcpServerResources("notes")).toEqual({
    resources: [{ uri: "notes://local", name: "Notes of local", mimeType: "text/plain" }],
  });
  const ann = client("ann+mcp");
  expect(await ann.getMcpServerResources("notes")).toMatchObject({ resources: [{ uri: "notes://ann" }] });
  expect(await ann.readMcpServerResource("notes", "notes://ann")).toEqual({
    contents: [{ uri: "notes://ann", mimeType: "text/plain", text: "content of notes://ann" }],
  });
  expect(await ann.readMcpServerResource("notes", "days://monday")).toEqual({
    contents: [{ uri: "days://monday", text: "content of days://monday" }],
  });
  const answers = await Promise.all(
    ["notes://bob", "notes://nobody"].map((uri) =>
      ann
        .readMcpServerResource("notes", uri)
        .catch(({ status, message }: { status: number; message: string }) => [
          status,
          message.replace(uri, "*"),
        ]),
    ),
  );
  expect(answers[0]).toEqual(answers[1]);
  expect(answers[0]).toEqual([404, expect.stringContaining('There is no resource "*"')]);
  await expect(ann.readMcpServerResource("none", "notes://ann")).rejects.toMatchObject({ status: 404 });
});

test("reading a resource tells nothing of what went wrong inside, and asks nobody who is not there", async () => {
  const ann = host().client("ann+mcp");
  const failed = (await ann.readMcpServerResource("notes", "days://never").catch(String)) as string;
  expect(failed).not.toContain("secret");
  await expect(ann.readMcpServerResource("notes", "days://never")).rejects.toMatchObject({ status: 500 });
  await expect(ann.readMcpServerResource("notes", "days://ask")).rejects.toMatchObject({ status: 501 });
  await expect(ann.readMcpServerResource("notes", "")).rejects.toMatchObject({ status: 400 });
});

test("embedders of the app's memories are listed once, to those who may see vectors", async () => {
  const { client } = host();
  expect(await client("ann+vectors").listEmbedders()).toEqual({
    embedders: [{ id: "local/letters", provider: "local", name: "letters", description: "", dimensions: 1 }],
  });
  await expect(client("ann").listEmbedders()).rejects.toMatchObject({ status: 403 });
});
