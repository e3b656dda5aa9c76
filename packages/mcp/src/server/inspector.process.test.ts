import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createTool } from "@selvedge/core/tools";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { scene } from "../__fixtures__/scene.ts";

// The inspector is large, so it is not among the dependencies: `npm run interop:inspector` fetches it and runs this file.

const { hosted, open } = scene();
const program = findInspector();
const CHILD = fileURLToPath(new URL("../__fixtures__/stdio-server.ts", import.meta.url));

const reason = "@modelcontextprotocol/inspector is not installed; npm run interop:inspector fetches it";
if (!program) console.warn(`[selvedge] 4 tests with the inspector are left out: ${reason}.`);

describe.skipIf(!program)(
  `MCPServer and the inspector's command mode${program ? "" : ` (${reason})`}`,
  () => {
    it("lists and calls tools over stdio", async () => {
      const folder = await mkdtemp(join(tmpdir(), "mcp-inspector-"));
      open(() => rm(folder, { recursive: true }));
      const target = [process.execPath, "--conditions=selvedge-source", CHILD, join(folder, "notes")];
      const { tools } = await inspect(target, "--method", "tools/list");
      expect(tools.map(({ name }: { name: string }) => name)).toContain("hello");
      const answer = await inspect(target, "--method", "tools/call", "--tool-name", "hello");
      expect(answer.content).toEqual([{ type: "text", text: "hello" }]);
    });

    it("lists and calls tools over HTTP, with arguments", async () => {
      const { url } = await hosted(config);
      const { tools } = await inspect([url.href], "--method", "tools/list", "--transport", "http");
      expect(tools).toMatchObject([{ name: "weather", description: "Tells the weather." }]);
      const call = ["--method", "tools/call", "--tool-name", "weather", "--tool-arg", "city=Oslo"];
      const answer = await inspect([url.href], ...call, "--transport", "http");
      expect(answer.content).toEqual([{ type: "text", text: "Sunny in Oslo" }]);
    });

    it("reads resources over HTTP", async () => {
      const { url } = await hosted(config);
      const over = ["--transport", "http"];
      const { resources } = await inspect([url.href], "--method", "resources/list", ...over);
      expect(resources).toMatchObject([{ uri: "note://1" }]);
      const { contents } = await inspect(
        [url.href],
        "--method",
        "resources/read",
        "--uri",
        "note://1",
        ...over,
      );
      expect(contents).toMatchObject([{ uri: "note://1", text: "hi" }]);
    });

    it("gets prompts over HTTP", async () => {
      const { url } = await hosted(config);
      const over = ["--transport", "http"];
      const { prompts } = await inspect([url.href], "--method", "prompts/list", ...over);
      expect(prompts).toMatchObject([{ name: "greet" }]);
      const { messages } = await inspect(
        [url.href],
        "--method",
        "prompts/get",
        "--prompt-name",
        "greet",
        ...over,
      );
      expect(messages).toEqual([{ role: "user", content: { type: "text", text: "Hello" } }]);
    });
  },
);

const config = {
  tools: {
    weather: createTool({
      id: "weather",
      description: "Tells the weather.",
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ context }) => `Sunny in ${context.city}`,
    }),
  },
  resources: {
    listResources: async () => [{ uri: "note://1", name: "One" }],
    getResourceContent: async () => ({ text: "hi" }),
  },
  prompts: {
    listPrompts: async () => [{ name: "greet" }],
    getPromptMessages: async () => [
      { role: "user" as const, content: { type: "text" as const, text: "Hello" } },
    ],
  },
};

async function inspect(target: string[], ...options: string[]): Promise<any> {
  const { stdout } = await promisify(execFile)(process.execPath, [program!, "--cli", ...target, ...options]);
  return JSON.parse(stdout);
}

function findInspector(): string | undefined {
  const require = createRequire(process.env["MCP_INSPECTOR"] ?? import.meta.url);
  try {
    const manifest = require.resolve("@modelcontextprotocol/inspector/package.json");
    const { bin } = JSON.parse(readFileSync(manifest, "utf8")) as { bin: Record<string, string> };
    return join(dirname(manifest), bin["mcp-inspector"]!);
  } catch {
    return undefined;
  }
}
