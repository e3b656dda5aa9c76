import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { RunningCommand } from "./__fixtures__/running-command.ts";

const MODULES = fileURLToPath(new URL("../../../node_modules", import.meta.url));

async function projectWith(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-dev-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await symlink(MODULES, join(folder, "node_modules"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
  return folder;
}

function dev(cwd: string, ...args: string[]): RunningCommand {
  const command = new RunningCommand(["dev", "--port", "0", ...args], { cwd });
  onTestFinished(() => command.stop());
  return command;
}

const agentNames = async (url: string): Promise<string[]> => {
  const agents = (await (await fetch(`${url}/api/agents`)).json()) as Record<string, { name: string }>;
  return Object.values(agents).map(({ name }) => name);
};

const host = (imports: string, name: string): string => `
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
${imports}
export const mastra = new Mastra({ agents: { a: new Agent({ name: ${name}, instructions: "", model: "openai/x" }) } });
`;

describe("selvedge dev", () => {
  it("serves a demo agent where there is no project, and says where in one line", async () => {
    const command = dev(await projectWith({}), "--model", "demo", "--storage", ":memory:");
    const url = await command.url();
    expect(command.output).toMatch(
      /^Selvedge is at http:\/\/127\.0\.0\.1:\d+ \(no project found: .* ready in .* s\)\n$/,
    );
    expect(await agentNames(url)).toEqual(["Assistant"]);
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: "ok" });
  });

  it("loads TypeScript as people write it: imports without endings, or with those of the output, and enums", async () => {
    const folder = await projectWith({
      "src/mastra/index.ts": host(
        'import { NAME } from "./names";\nimport { Mark } from "./marks/mark.js";',
        "NAME + Mark.Loud",
      ),
      "src/mastra/names.ts": 'export const NAME: string = "Weaver";',
      "src/mastra/marks/mark.ts": 'export enum Mark { Loud = "!" }',
    });
    expect(await agentNames(await dev(folder).url())).toEqual(["Weaver!"]);
  });

  it("starts anew on the same address when a file it loaded changes, and stays through one that is broken", async () => {
    const folder = await projectWith({
      "src/mastra/index.ts": host('import { NAME } from "./name.ts";', "NAME"),
      "src/mastra/name.ts": 'export const NAME = "First";',
    });
    const command = dev(folder);
    const url = await command.url();
    expect(await agentNames(url)).toEqual(["First"]);

    await writeFile(join(folder, "src/mastra/name.ts"), 'export const NAME = "Second";');
    await command.says(/restarted in .*: src\/mastra\/name\.ts changed/);
    expect(await agentNames(url)).toEqual(["Second"]);

    await writeFile(join(folder, "src/mastra/name.ts"), "export const NAME = ;");
    await command.says(/Waiting for a file to change/);
    const from = command.output.length;
    await writeFile(join(folder, "src/mastra/name.ts"), 'export const NAME = "Third";');
    await command.says(/restarted in/, from);
    expect(await agentNames(url)).toEqual(["Third"]);
  });

  it("says what a module should export that exports something else", async () => {
    const command = dev(await projectWith({ "src/mastra/index.ts": "export const agents = 1;" }));
    await command.says(/exports agents\. Export the host: export const mastra = new Mastra/);
  });

  it("serves a project that imports types without saying so", async () => {
    const folder = await projectWith({
      "src/mastra/index.ts": [
        'import { Mastra, MastraConfig } from "@selvedge/core";',
        'import { Shape } from "./shape";',
        "const config: MastraConfig & Shape = { logger: false };",
        "export const mastra = new Mastra(config);",
      ].join("\n"),
      "src/mastra/shape.ts": "export interface Shape { color?: string }",
    });
    await dev(folder).says(/Selvedge is at http/);
  });

  it.each([
    [
      'import { OpenAIVoice } from "@mastra/voice-openai";',
      "@mastra/voice-openai has no counterpart. Voice is not available. Call the provider's own package.",
    ],
    [
      'import { Memory } from "@mastra/memory";',
      '@mastra/memory is not installed. Write "@mastra/memory": "npm:@selvedge/memory@^VERSION" into package.json, and run npm install.',
    ],
    ['import { Nothing } from "@selvedge/core/agent";', "@selvedge/core/agent exports no value Nothing."],
  ])("says in one sentence where a project imports what does not exist: %s", async (code, about) => {
    const folder = await projectWith({
      "src/mastra/index.ts": 'export * from "./more.ts";',
      "src/mastra/more.ts": `// one\n${code}\nconsole.log(${/\w+(?= })/.exec(code)![0]});`,
    });
    const command = dev(folder);
    await command.says(/Waiting for a file to change/);
    expect(command.output.replace(/@\^[^"]+/, "@^VERSION")).toBe(
      `${join(folder, "src/mastra/more.ts")}:2: ${about} \`selvedge doctor\` lists everything that is missing.\n` +
        "Waiting for a file to change …\n",
    );
  });

  it("shows the stack of other failures", async () => {
    const command = dev(await projectWith({ "src/mastra/index.ts": 'import "no-such-package";' }));
    await command.says(/Cannot find package 'no-such-package'[^]*\n    at /);
  });

  it("reads .env before the project", async () => {
    const folder = await projectWith({
      "src/mastra/index.ts": host("", 'process.env["WHO"] ?? "nobody"'),
      ".env": "WHO=Somebody\n",
    });
    expect(await agentNames(await dev(folder).url())).toEqual(["Somebody"]);
  });

  it("refuses an address that others can reach", async () => {
    const command = dev(await projectWith({}), "--host", "0.0.0.0", "--model", "demo");
    await command.says(/^selvedge: 0\.0\.0\.0 can be reached from other machines/);
    expect(await command.exitCode()).toBe(1);
  });

  it("ends where the demo cannot be served, and says why without a stack", async () => {
    const command = dev(await projectWith({ "chat.db": "not a database" }), "--storage", "chat.db");
    expect(await command.exitCode()).toBe(1);
    expect(command.output).toMatch(/^selvedge: .*chat\.db.*\n$/);
  });

  it("ends where the port it was told to take is taken, and says what to do", async () => {
    const folder = await projectWith({ "src/mastra/index.ts": host("", '"Weaver"') });
    const port = new URL(await dev(folder).url()).port;
    const second = dev(folder, "--port", port);
    expect(await second.exitCode()).toBe(1);
    expect(second.output).toBe(
      `selvedge: Port ${port} on 127.0.0.1 is in use. Choose another with --port, or leave it out to use a free one.\n`,
    );
  });
});
