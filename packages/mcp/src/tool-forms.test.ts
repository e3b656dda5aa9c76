import { silentLogger } from "@selvedge/core";
import { createTool, type ToolsInput } from "@selvedge/core/tools";
import { tool as aiTool } from "ai";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { hostHttp } from "./__fixtures__/host.ts";
import { MCPClient, MCPServer } from "./index.ts";

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

async function served(tools: ToolsInput) {
  const server = new MCPServer({ name: "Test", version: "1.0.0", tools, logger: silentLogger });
  const started = await hostHttp(server);
  const client = new MCPClient({ servers: { a: { url: started.url } } });
  open.push(
    () => server.close(),
    () => started.close(),
    () => client.disconnect(),
  );
  return client.getTools();
}

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]!.text;
const inputSchema = z.object({ city: z.string() });
const base = { id: "t", description: "Tells the weather.", inputSchema };

describe("a tool behind MCP", () => {
  it.each<[string, ToolsInput[string]]>([
    ["createTool with `context`", createTool({ ...base, execute: async ({ context }) => context.city })],
    [
      "createTool with the input itself",
      createTool({
        ...base,
        execute: async ({ city }, { mcp }) =>
          typeof mcp?.extra?.requestId === "undefined" ? "no call" : city,
      }),
    ],
    ["an object with `context`", { ...base, execute: async ({ context }: any) => context.city }],
    ["an object with the input itself", { ...base, execute: async ({ city }: any) => city }],
    ["the AI SDK", aiTool({ inputSchema, execute: async ({ city }) => city }) as ToolsInput[string]],
  ])("is served in the form of %s, and called in both", async (_, tool) => {
    const { a_tool: remote } = await served({ tool });
    expect(textOf(await remote!.execute({ city: "Oslo" }))).toBe("Oslo");
    expect(textOf(await remote!.execute({ context: { city: "Oslo" } }))).toBe("Oslo");
  });
});
