import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import type { Tool } from "../tool/tool.ts";
import { scratch } from "./__fixtures__/scratch.ts";
import { LocalFilesystem } from "./local-filesystem.ts";
import { LocalSandbox } from "./sandbox/local-sandbox.ts";
import { createWorkspaceTools, Workspace } from "./workspace.ts";

async function tool(workspace: Workspace, name: string): Promise<Tool> {
  const tools = (await createWorkspaceTools(workspace)) as Record<string, Tool>;
  return tools[`mastra_workspace_${name}`]!;
}

async function asks(workspace: Workspace, name: string, args: object): Promise<boolean> {
  const { requireApproval } = (await tool(workspace, name)).definition;
  const said = await (requireApproval as (args: object) => unknown)(args);
  return typeof said === "object" ? (said as { decision: string }).decision === "ask" : Boolean(said);
}

describe("the files that a filesystem names as", () => {
  it("sensitive ask before they are read, and are neither searched nor indexed", async () => {
    const { root, files } = scratch({ sensitive: ["private/**", "*.secret"] });
    mkdirSync(join(root, "private"));
    for (const path of ["private/a.txt", "b.secret", ".env", "open.txt"])
      writeFileSync(join(root, path), "heddle\n");
    const workspace = new Workspace({ filesystem: files, bm25: true, autoIndexPaths: ["."] });
    const read = (path: string) => asks(workspace, "read_file", { path });
    expect(await Promise.all(["private/a.txt", "b.secret", ".env", "open.txt"].map(read))).toEqual([
      true,
      true,
      false,
      false,
    ]);
    const found = await (await tool(workspace, "grep")).execute({ context: { pattern: "heddle" } });
    expect(found).toContain("open.txt:1:1");
    expect(found).not.toMatch(/a\.txt|b\.secret/);
    expect((await workspace.search("heddle")).map(({ id }) => id)).toEqual(["open.txt"]);
    await expect((await workspace.guardedFiles()).read("private/a.txt")).rejects.toThrow("secrets");
  });

  it("protected cannot be changed by file tools, and can be read", async () => {
    const { root, files } = scratch({ protect: ["vendor/**"] });
    mkdirSync(join(root, "vendor"));
    writeFileSync(join(root, "vendor/a.txt"), "a\n");
    const workspace = new Workspace({ filesystem: files });
    const write = (await tool(workspace, "write_file")).execute({
      context: { path: "vendor/a.txt", content: "b" },
    });
    await expect(write).rejects.toThrow("protected files");
    expect(
      await (await tool(workspace, "read_file")).execute({ context: { path: "vendor/a.txt" } }),
    ).toContain("a");
  });

  it("either also count where they are mounted", async () => {
    const { root, outside } = scratch();
    const left = new LocalFilesystem({ basePath: root, sensitive: ["keys/**"], protect: ["*.lock"] });
    const right = new LocalFilesystem({ basePath: outside });
    const workspace = new Workspace({ mounts: { "/left": left, "/right": right } });
    const read = (path: string) => asks(workspace, "read_file", { path });
    expect(await Promise.all(["left/keys/a", "right/keys/a", "left/.env", "right/.env"].map(read))).toEqual([
      true,
      false,
      false,
      true,
    ]);
    const write = (await tool(workspace, "write_file")).execute({
      context: { path: "left/a.lock", content: "" },
    });
    await expect(write).rejects.toThrow("protected files");
  });
});

describe("the options of a workspace", () => {
  it("end an operation of a filesystem after operationTimeout", async () => {
    const system = virtualSystem();
    const { files } = scratch();
    files.readFile = () => new Promise(() => {});
    const workspace = new Workspace({ filesystem: files, operationTimeout: 5000, system });
    const reading = (await workspace.guardedFiles()).read("a.txt");
    const caught = reading.catch((error: Error) => error.message);
    await system.advance(5001);
    expect(await caught).toBe(
      "LocalFilesystem.readFile took longer than 5000 ms (operationTimeout). It may still take effect.",
    );
    expect(() => new Workspace({ filesystem: files, operationTimeout: 0 })).toThrow(
      "operationTimeout must be",
    );
  });

  it("end the start of a sandbox after operationTimeout, and it can be tried again", async () => {
    const system = virtualSystem();
    const { root } = scratch();
    const sandbox = new LocalSandbox({ workingDirectory: root, isolation: "none", logger: false });
    let starts = 0;
    sandbox.start = () => (starts++ === 0 ? new Promise(() => {}) : Promise.resolve());
    const workspace = new Workspace({ sandbox, operationTimeout: 5000, system });
    const caught = workspace.init().catch((error: Error) => error.message);
    await system.advance(5001);
    expect(await caught).toContain("LocalSandbox.start took longer than 5000 ms");
    expect(workspace.status).toBe("error");
    await workspace.init();
    expect(workspace.status).toBe("ready");
  });

  it("show paths of this machine only if exposePaths is set", async () => {
    const { root, files } = scratch();
    const sandbox = new LocalSandbox({ workingDirectory: root, isolation: "none", logger: false });
    const hidden = await new Workspace({ filesystem: files, sandbox }).getInstructionsAsync();
    expect(hidden).not.toContain(root);
    const instructions = { exposePaths: true };
    const shown = await new Workspace({ filesystem: files, sandbox, instructions }).getInstructionsAsync();
    expect(shown).toContain(`The root is ${root}.`);
    expect(shown).toContain(`The working directory is ${root}.`);
  });

  it("count files only if includeFileCount is set", async () => {
    const { root, files } = scratch();
    mkdirSync(join(root, "deep"));
    writeFileSync(join(root, "deep/a.txt"), "");
    writeFileSync(join(root, "b.txt"), "");
    const workspace = new Workspace({ filesystem: files });
    expect((await workspace.getInfo({ includeFileCount: true })).filesystem).toMatchObject({ totalFiles: 2 });
    expect((await workspace.getInfo()).filesystem).not.toHaveProperty("totalFiles");
  });

  it("pause it with stop(), until it is used again", async () => {
    const { files } = scratch();
    const workspace = new Workspace({ filesystem: files });
    await workspace.init();
    await workspace.stop();
    expect(workspace.status).toBe("paused");
    await workspace.tools();
    expect(workspace.status).toBe("ready");
  });
});
