import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { RunningCommand } from "./__fixtures__/running-command.ts";
import { createProject } from "./create/create-project.ts";

const MODULES = fileURLToPath(new URL("../../../node_modules", import.meta.url));
const TSC = join(MODULES, "typescript", "bin", "tsc");
const run = promisify(execFile);

async function folderForProjects(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-create-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe("selvedge create", () => {
  it("writes a project that type-checks and is served", async () => {
    const parent = await folderForProjects();
    const command = new RunningCommand(["create", "loom"], { cwd: parent });
    await command.says(/npm run dev/);
    const folder = join(parent, "loom");
    expect(JSON.parse(await readFile(join(folder, "package.json"), "utf8"))).toMatchObject({
      name: "loom",
      scripts: { chat: "selvedge chat --dev" },
    });
    expect(await readFile(join(folder, ".gitignore"), "utf8")).toContain(".env");
    await symlink(MODULES, join(folder, "node_modules"));

    // The packages of this workspace have no build here: their sources stand in, with the flags they are written for.
    await run(
      process.execPath,
      [TSC, "--customConditions", "selvedge-source", "--exactOptionalPropertyTypes"],
      { cwd: folder },
    );

    const dev = new RunningCommand(["dev", "--port", "0"], { cwd: folder });
    onTestFinished(() => dev.stop());
    const url = await dev.url();
    const answer = await fetch(`${url}/api/agents/assistant/generate`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ messages: "hello" }),
    });
    expect(((await answer.json()) as { text: string }).text).toContain("scripted demo model");
  });

  it("leaves a folder alone that has something in it", async () => {
    const parent = await folderForProjects();
    await createProject(parent, "a");
    await expect(createProject(parent, "a")).rejects.toMatchObject({ code: "conflict" });
  });

  it.each(["", ".", "..", "Upper", "../up", "a/b", "a b", "-x", "x".repeat(300)])(
    "refuses the name %j",
    async (name) => {
      const parent = await folderForProjects();
      await expect(createProject(parent, name)).rejects.toMatchObject({ code: "invalid-argument" });
      expect(await readdir(parent)).toEqual([]);
    },
  );
});
