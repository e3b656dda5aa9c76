import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { RunningCommand } from "./__fixtures__/running-command.ts";

const MODULES = fileURLToPath(new URL("../../../node_modules", import.meta.url));

const FILES = {
  "package.json": JSON.stringify({
    name: "loom",
    type: "module",
    dependencies: {
      "@selvedge/core": "0.1.0",
      selvedge: "0.1.0",
      "@ai-sdk/openai": "^4.0.0",
      react: "^19.0.0",
    },
    devDependencies: { typescript: "^7.0.0" },
  }),
  // Imports without endings, an enum, a JSON module and a file read at run time: all of these work in dev.
  "src/mastra/index.ts": `import { readFileSync } from "node:fs";
import { Mastra } from "@selvedge/core";
import { assistant } from "./agents/assistant";
import facts from "./facts.json" with { type: "json" };
readFileSync(new URL("./prompt.md", import.meta.url));
export const mastra: Mastra = new Mastra({ agents: { assistant }, server: { port: 0 } });
const close = mastra.close.bind(mastra);
mastra.close = async () => { await close(); console.log("host closed", facts.from); };`,
  "src/mastra/agents/assistant.ts": `import { Agent } from "@selvedge/core/agent";
import { demoModel } from "selvedge/demo";
import { Mood } from "../mood.js";
export const assistant = new Agent({ id: "assistant", name: Mood.Calm, instructions: "", model: demoModel() });`,
  "src/mastra/mood.ts": 'export enum Mood { Calm = "Calm" }',
  "src/mastra/facts.json": '{ "from": "facts" }',
  "src/mastra/prompt.md": "Be brief.",
  "src/unused.ts": "export {};",
  ".env": "SECRET=1",
};

async function project(files: Record<string, string> = FILES): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-build-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await symlink(MODULES, join(folder, "node_modules"));
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
  return folder;
}

async function build(cwd: string, ...args: string[]): Promise<{ code: number | null; output: string }> {
  const command = new RunningCommand(["build", ...args], { cwd });
  return { code: await command.exitCode(), output: command.output };
}

async function ask(url: string): Promise<string> {
  const response = await fetch(`${url}/api/agents/assistant/generate`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ messages: "hello" }),
  });
  return ((await response.json()) as { text: string }).text;
}

/** The built folder with plain Node. The condition stands in for the build of this workspace's packages. */
function plainNode(cwd: string): { url: Promise<string>; child: ChildProcess; output(): string } {
  const child = spawn(process.execPath, ["--conditions=selvedge-source", "start.mjs"], { cwd });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  const url = Promise.withResolvers<string>();
  const read = (data: Buffer): void => {
    output += data.toString();
    const found = /http:\/\/[\d.]+:\d+/.exec(output);
    if (found) url.resolve(found[0]);
  };
  child.stdout.on("data", read);
  child.stderr.on("data", read);
  child.on("exit", () => url.reject(new Error(output)));
  return { url: url.promise, child, output: () => output };
}

describe("selvedge build and start", () => {
  it("writes a folder that plain Node serves, and ends it cleanly on SIGTERM", async () => {
    const folder = await project();
    const { code, output } = await build(folder);
    expect([code, output]).toEqual([0, expect.stringContaining("node start.mjs")]);
    const built = join(folder, ".selvedge/output");
    const manifest = JSON.parse(await readFile(join(built, "package.json"), "utf8")) as Record<
      string,
      unknown
    >;
    expect(manifest).toMatchObject({ type: "module", main: "src/mastra/index.js" });
    expect(manifest["dependencies"]).toEqual({
      "@ai-sdk/openai": "^4.0.0",
      "@selvedge/core": "0.1.0",
      "@selvedge/server": expect.stringMatching(/^\d/),
      selvedge: "0.1.0",
    });
    expect(existsSync(join(built, ".env"))).toBe(false);
    expect(existsSync(join(built, "src/unused.js"))).toBe(false);

    const server = plainNode(built);
    expect(await ask(await server.url)).toContain("scripted demo model");
    server.child.kill("SIGTERM");
    const [exitCode] = (await once(server.child, "close")) as [number];
    expect([exitCode, server.output()]).toEqual([0, expect.stringContaining("host closed facts")]);
  });

  it("starts a built folder from elsewhere, on the port of --port or PORT", async () => {
    const folder = await project();
    await build(folder, "--output", "out");
    const command = new RunningCommand(["start", "out", "--port", "0"], {
      cwd: folder,
      env: { PORT: "nonsense" },
    });
    onTestFinished(() => command.stop());
    expect(await ask(await command.url())).toContain("scripted demo model");
    const wrong = new RunningCommand(["start", "out"], { cwd: folder, env: { PORT: "nonsense" } });
    expect(await wrong.exitCode()).toBe(1);
    expect(wrong.output).toContain('PORT must be a number from 0 to 65535, got "nonsense"');
  });

  it("keeps what it did not write, and refuses a folder that is not a build", async () => {
    const folder = await project();
    await build(folder, "--output", "out");
    await writeFile(join(folder, "out/threads.db"), "data");
    await rm(join(folder, "src/mastra/prompt.md"));
    await build(folder, "--output", "out");
    expect(await readFile(join(folder, "out/threads.db"), "utf8")).toBe("data");
    expect(existsSync(join(folder, "out/src/mastra/prompt.md"))).toBe(false);
    for (const output of ["src", ".", "..", "src/mastra/out"])
      expect(await build(folder, "--output", output)).toMatchObject({ code: 1 });
    expect(await readFile(join(folder, "src/unused.ts"), "utf8")).toBe("export {};");
  });

  it("names a package that is imported and not declared", async () => {
    const entry = '\nimport { z } from "zod";\nexport const mastra = z;';
    const folder = await project({ "package.json": "{}", "src/mastra/index.ts": entry });
    expect((await build(folder)).output).toMatch(/index\.ts:2 imports "zod", which is not in package\.json/);
  });
});
