import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { main } from "../main.ts";
import { readCatalog } from "./catalog.ts";
import { NAMES_WITHOUT_EFFECT, remedyFor, remedyForModule } from "./differences.ts";
import { examineProject } from "./examine-project.ts";
import type { Finding } from "./report.ts";

const ALIASED = { "@mastra/core": "npm:@selvedge/core@^0.1.0" };

async function projectWith(
  files: Record<string, string>,
  manifest: object = { dependencies: ALIASED },
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-doctor-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const all = { "package.json": JSON.stringify(manifest, null, 2), ...files };
  for (const [file, text] of Object.entries(all)) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
  return folder;
}

const examine = async (
  files: Record<string, string>,
  manifest?: object,
): Promise<{ works: string[]; differs: string[]; missing: string[] }> => {
  const { works, differs, missing } = (
    await examineProject(await projectWith(files, manifest))
  ).report.toJSON();
  const line = ({ file, line: at, what, remedy }: Finding): string => `${file}:${at} ${what}. ${remedy}`;
  return {
    works: works.map(({ module, names }) => `${module}: ${names.join(", ")}`),
    differs: differs.map(line),
    missing: missing.map(line),
  };
};

describe("selvedge doctor", () => {
  it("finds nothing to say about a project that works", async () => {
    const source = `import { Agent } from "@mastra/core/agent";
import { createTool, type Tool } from "@mastra/core/tools";
import type { Whatever } from "@mastra/core";
import express from "express";
export const agent = new Agent({ name: "a", model: "openai/x" });`;
    expect(await examine({ "src/a.ts": source })).toEqual({
      works: ["@mastra/core: ", "@mastra/core/agent: Agent", "@mastra/core/tools: createTool"],
      differs: [],
      missing: [],
    });
  });

  it("names packages, modules and values that are missing, with line and remedy", async () => {
    const source = `import { OpenAIVoice } from "@mastra/voice-openai";
import { CompositeVoice } from "@mastra/core/voice";
import { Agent } from "@mastra/core/elsewhere";
import {
  createTool,
  NoSuchTool,
} from "@mastra/core/tools";
const deployer = await import("@mastra/deployer-vercel");
new NoSuchTool();`;
    expect((await examine({ "src/a.tsx": source })).missing).toEqual([
      "src/a.tsx:1 @mastra/voice-openai has no counterpart. Voice is not available. Call the provider's own package.",
      "src/a.tsx:2 @mastra/core/voice does not exist. Voice is not available.",
      expect.stringMatching(
        /^src\/a\.tsx:3 @mastra\/core\/elsewhere does not exist\. Agent is in .*@mastra\/core\/agent/,
      ),
      "src/a.tsx:6 @mastra/core/tools exports no value NoSuchTool. Remove it, or write your own.",
      expect.stringMatching(/^src\/a\.tsx:8 @mastra\/deployer-vercel has no counterpart\. .*selvedge build/),
    ]);
  });

  it("names what is accepted with no effect, or with another one", async () => {
    const source = `import { CloudExporter, ConsoleExporter } from "@selvedge/observability";
export const mastra = new Mastra({
  deployer: one,
  workflows: { one },
  server: { cors: { origin: ["*"] } },
  storage: new MastraCompositeStore({ domains: { memory } }),
});
new Agent({ voice });
createTool({ inputSchema: z.object({ city: z.string(), context: z.string() }) });`;
    const { differs, missing } = await examine(
      { "a.ts": source },
      { dependencies: { "@selvedge/observability": "^0.1.0" } },
    );
    expect(differs.map((line) => line.split(". ")[0])).toEqual([
      "a.ts:1 CloudExporter",
      "a.ts:3 Mastra: deployer",
      "a.ts:5 Mastra: server.cors.origin",
      "a.ts:6 MastraCompositeStore: domains",
      "a.ts:8 Agent: voice",
      "a.ts:9 createTool: inputSchema.context",
    ]);
    expect(missing).toEqual([]);
  });

  it("checks aliases, peers, scripts and engines in package.json", async () => {
    const manifest = {
      engines: { node: ">=20.9" },
      scripts: { dev: "mastra dev", test: "vitest" },
      dependencies: {
        "@mastra/core": "^1.3.0",
        "@mastra/deployer": "^1.0.0",
        "@ai-sdk/openai": "^1.3.0",
        zod: "^3.25.0",
      },
      devDependencies: { mastra: "^1.0.0" },
    };
    const { differs, missing } = await examine(
      { "a.ts": 'import { Memory } from "@mastra/memory";' },
      manifest,
    );
    expect(differs).toEqual(['package.json:2 engines.node is ">=20.9". Selvedge needs Node 22.13 or later.']);
    const { version } = (await readCatalog(() => false))["@selvedge/core"]!;
    expect(missing).toEqual([
      `package.json:1 @mastra/memory is not in package.json. Write "@mastra/memory": "npm:@selvedge/memory@^${version}".`,
      'package.json:6 the script "dev" runs `mastra dev`. Write `selvedge dev`.',
      `package.json:10 @mastra/core is not an alias for @selvedge/core. Write "@mastra/core": "npm:@selvedge/core@^${version}".`,
      expect.stringMatching(/^package\.json:11 @mastra\/deployer has no counterpart\./),
      expect.stringMatching(
        /^package\.json:12 @ai-sdk\/openai \^1\.3\.0 does not work with @selvedge\/core\. Use @ai-sdk\/openai \^2/,
      ),
      "package.json:16 mastra is the command line of Mastra. Replace it with selvedge.",
    ]);
  });

  it("passes over dependencies, build output and files that Git ignores", async () => {
    const bad = 'import "@mastra/voice-openai";';
    const files = { "node_modules/x/a.js": bad, "dist/a.js": bad, "old/a.ts": bad, ".gitignore": "old" };
    expect((await examine(files)).missing).toEqual([]);
  });

  it("knows every name that it calls idle", async () => {
    const catalog = await readCatalog((module) => module in NAMES_WITHOUT_EFFECT);
    for (const [module, [names]] of Object.entries(NAMES_WITHOUT_EFFECT))
      expect(catalog[module]?.modules["."]).toEqual(expect.arrayContaining([...names]));
  });

  it("has no advice against a package or module that exists", async () => {
    for (const [name, { modules }] of Object.entries(await readCatalog(() => false))) {
      expect(`${name}: ${remedyFor(name)}`).toBe(`${name}: ${remedyFor("@mastra/unheard-of")}`);
      for (const subpath of Object.keys(modules))
        expect(remedyForModule(name + subpath.slice(1))).toBe(remedyForModule("@mastra/core/unheard-of"));
    }
  });

  it("ends with 2 where there is no project", async () => {
    let output = "";
    const stream = { write: (text: string) => (output += text) };
    const run = (...args: string[]): Promise<number> =>
      main(["node", "selvedge", "doctor", ...args], { stdout: stream, stderr: stream });
    expect(await run("/nowhere/at/all")).toBe(2);
    expect(output).toBe(
      "selvedge: There is no package.json in /nowhere/at/all. Name the folder of a project.\n",
    );
    expect(await run("--jsn")).toBe(2);
  });
});
