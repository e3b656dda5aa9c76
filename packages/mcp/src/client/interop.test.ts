import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { silentLogger } from "@selvedge/core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { MCPClient } from "../index.ts";

// With servers that other people wrote and published.

const require = createRequire(import.meta.url);
const program = (name: string): string => {
  const manifest = require.resolve(`@modelcontextprotocol/${name}/package.json`);
  const { bin } = require(manifest) as { bin: Record<string, string> };
  return join(dirname(manifest), Object.values(bin)[0]!);
};
const textOf = (result: any): string => result.content[0].text;

let folder: string;
let client: MCPClient;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "mcp-interop-")));
  await writeFile(join(folder, "note.txt"), "written before");
  client = new MCPClient({
    id: "interop",
    logger: silentLogger,
    servers: {
      everything: { command: process.execPath, args: [program("server-everything")], stderr: "ignore" },
      files: { command: process.execPath, args: [program("server-filesystem"), folder], stderr: "ignore" },
    },
  });
});
afterAll(async () => {
  await client.disconnect();
  await rm(folder, { recursive: true });
});

it("uses the tools of server-filesystem", async () => {
  const tools = await client.getTools();
  expect(client.errors).toEqual({});
  const read = await tools["files_read_text_file"]!.execute({ context: { path: join(folder, "note.txt") } });
  expect(textOf(read)).toBe("written before");
  const outside = await tools["files_read_text_file"]!.execute({ context: { path: "/etc/passwd" } });
  expect(outside).toMatchObject({ isError: true });
});

it("uses tools, resources and prompts of server-everything", async () => {
  const tools = await client.getTools();
  expect(textOf(await tools["everything_echo"]!.execute({ context: { message: "hi" } }))).toMatch(/hi/);
  const { everything: resources } = await client.resources.list();
  const { contents } = await client.resources.read("everything", resources![0]!.uri);
  expect(contents[0]?.uri).toBe(resources![0]!.uri);
  const { everything: prompts } = await client.prompts.list();
  const simple = prompts!.find((prompt) => !prompt.arguments?.length)!;
  const { messages } = await client.prompts.get({ serverName: "everything", name: simple.name });
  expect(messages.length).toBeGreaterThan(0);
});
