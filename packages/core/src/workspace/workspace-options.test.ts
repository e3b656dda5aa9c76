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

describe("the rows of the specification", () => {
  it("name a missing file, a missing directory and a missing parent by what the caller asked for", async () => {
    const { files } = scratch();
    await expect(files.readFile("no/such.txt")).rejects.toThrow("File not found");
    await expect(files.deleteFile("no/such.txt")).rejects.toThrow("File not found");
    await expect(files.rmdir("no")).rejects.toThrow("Directory not found");
    await expect(files.rmdir("no/such")).rejects.toThrow("Directory not found");
    await expect(files.writeFile("no/a.txt", "", { recursive: false })).rejects.toThrow("Create it first");
    await files.rmdir("no", { force: true });
  });

  it("create a root that is not there, but not to read from it", async () => {
    const { root } = scratch();
    const files = new LocalFilesystem({ basePath: join(root, "new/root") });
    await files.writeFile("a.txt", "a");
    expect(await files.stat("a.txt")).toMatchObject({ mimeType: "text/plain", size: 1 });
    expect(() => new LocalFilesystem({ basePath: join(root, "other"), readOnly: true })).toThrow("not exist");
  });

  it("refuse options that cannot be meant", () => {
    const { root } = scratch();
    const local = (options: object) => () => new LocalFilesystem({ basePath: root, ...options });
    expect(local({ hardLinks: "never" })).toThrow("hardLinks");
    expect(local({ protect: "*.lock" })).toThrow("protect must be a list");
    expect(local({ allowedPaths: [5] })).toThrow("allowedPaths must be a list");
    expect(() => new LocalSandbox({ timeout: -1 })).toThrow("timeout must be");
    expect(() => new Workspace({ bm25: { k1: -1 } })).toThrow("bm25.k1");
    expect(() => new Workspace({ bm25: { b: 2 } })).toThrow("bm25.b");
    expect(() => new Workspace({ bm25: { tokenize: { minLength: 0 } } })).toThrow("minLength");
  });

  it("suggest a name in another Unicode form by its bytes", async () => {
    const { files } = scratch();
    await files.writeFile("caf\u00e9.txt", "");
    await expect(files.readFile("cafe\u0301.txt")).rejects.toThrow('(NFC): "caf\u00e9.txt"');
  });

  it("hide the tools that edit only if the filesystem is known to be read-only", async () => {
    const { root } = scratch();
    const files = new LocalFilesystem({ basePath: root, readOnly: true });
    expect(await tool(new Workspace({ filesystem: files }), "write_file")).toBeUndefined();
    const write = await tool(new Workspace({ filesystem: () => files }), "write_file");
    await expect(write.execute({ context: { path: "a", content: "" } })).rejects.toThrow("read-only");
  });

  it("refuse to edit what is read-only only for a request, also if its filesystem would not", async () => {
    const { root } = scratch();
    const files = new LocalFilesystem({ basePath: root });
    const shown = new Proxy(files, {
      get(target, name) {
        if (name === "readOnly") return true;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const workspace = new Workspace({ filesystem: () => shown, bm25: true });
    for (const name of ["write_file", "index"]) {
      const edit = await tool(workspace, name);
      await expect(edit.execute({ context: { path: "a", content: "text" } })).rejects.toThrow("read-only");
    }
    expect(await files.exists("a")).toBe(false);
    expect(await workspace.search("text")).toEqual([]);
  });

  it("split words for bm25 as the options say", async () => {
    const index = async (tokenize: object) => {
      const workspace = new Workspace({ bm25: { tokenize } });
      await workspace.index("a", "The State-Machine of v8");
      return async (query: string) => (await workspace.search(query)).length;
    };
    const usual = await index({});
    expect([await usual("state"), await usual("machines"), await usual("V8")]).toEqual([1, 0, 1]);
    const exact = await index({ lowercase: false, removePunctuation: false, stopwords: ["The"] });
    expect([await exact("State"), await exact("State-Machine"), await exact("The")]).toEqual([0, 1, 0]);
  });

  it("leave out an excluded directory with all that is in it", async () => {
    const { root, files } = scratch();
    mkdirSync(join(root, "out/deep"), { recursive: true });
    writeFileSync(join(root, "out/a.txt"), "");
    const list = await tool(new Workspace({ filesystem: files }), "list_files");
    expect(await list.execute({ context: { exclude: "out" } })).toBe(".: 0 directories, 0 files\n");
  });

  it("accept instructions as a function of the usual text", () => {
    const { root } = scratch();
    const instructions = ({ defaultInstructions }: { defaultInstructions: string }) =>
      `${defaultInstructions} Be brief.`;
    const files = new LocalFilesystem({ basePath: root, instructions });
    expect(files.getInstructions()).toMatch(/^Files: .* Be brief\.$/);
    const sandbox = new LocalSandbox({ workingDirectory: root, instructions });
    expect(sandbox.getInstructions()).toMatch(/^Commands: .* Be brief\.$/);
  });

  it("stay without containment when paths are allowed later", async () => {
    const { root, outside } = scratch();
    writeFileSync(join(outside, "a.txt"), "out");
    const files = new LocalFilesystem({ basePath: root, contained: false });
    expect([files.allowedPaths, files.getInfo().containment]).toEqual([[], undefined]);
    files.setAllowedPaths([root]);
    expect(await files.readFile(join(outside, "a.txt"), { encoding: "utf-8" })).toBe("out");
  });
});
