import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { type Script, scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { Agent } from "../agent/agent.ts";
import type { Tool } from "../tool/tool.ts";
import { scratch } from "./__fixtures__/scratch.ts";
import { LocalFilesystem } from "./local-filesystem.ts";
import { hashOf } from "./workspace-change.ts";
import { Workspace } from "./workspace.ts";

/** The tools of a workspace, with calls that may have been interrupted. */
function scene() {
  const { files, root } = scratch();
  const workspace = new Workspace({ filesystem: files });
  const at = (name: string) => join(root, name);
  return {
    root,
    at,
    read: (name: string) => readFileSync(at(name), "utf8"),
    /** Runs a call up to its journal entry, which it returns. */
    async intentOf(name: string, input: object): Promise<unknown> {
      const tools = (await workspace.tools()) as Record<string, Tool>;
      let saved: unknown;
      const died = new Error("died");
      const threadState = {
        get: async () => undefined,
        update: async () => undefined,
        domain: async () => ({
          knownHash: async () => undefined,
          record: async () => [],
          commit: async () => {},
          withdraw: () => [],
        }),
      };
      const saveProgress = async (value: unknown) => {
        saved ??= value;
        throw died;
      };
      const options = { threadId: "t", threadState: threadState as never, saveProgress };
      const run = tools[`mastra_workspace_${name}`]!.execute({ context: input }, options);
      await expect(run).rejects.toBe(died);
      return saved;
    },
    async again(name: string, input: object, progress: unknown): Promise<unknown> {
      const tools = (await workspace.tools()) as Record<string, Tool>;
      return tools[`mastra_workspace_${name}`]!.execute({ context: input }, { progress });
    },
  };
}

describe("a change that was interrupted", () => {
  const edit = { path: "a.txt", old_string: "a", new_string: "aa" };

  it("is finished by what the file contains: done, made now, or refused", async () => {
    const { at, read, intentOf, again } = scene();
    writeFileSync(at("a.txt"), "a");
    const intent = await intentOf("edit_file", edit);
    expect(read("a.txt")).toBe("a");
    expect(await again("edit_file", edit, intent)).toBe("1 replacement in a.txt (line 1) (+1 -1).");
    expect(read("a.txt")).toBe("aa");
    const { mtimeMs } = statSync(at("a.txt"));
    expect(await again("edit_file", edit, intent)).toBe("1 replacement in a.txt (line 1) (+1 -1).");
    expect(read("a.txt")).toBe("aa");
    expect(statSync(at("a.txt")).mtimeMs).toBe(mtimeMs);
    writeFileSync(at("a.txt"), "a person was here");
    const refused = again("edit_file", edit, intent);
    await expect(refused).rejects.toMatchObject({
      code: "file-changed",
      details: { before: hashOf("a"), after: hashOf("aa"), found: hashOf("a person was here") },
    });
    expect(read("a.txt")).toBe("a person was here");
  });

  it("creates a file once, and not over one that somebody else created", async () => {
    const { at, read, intentOf, again } = scene();
    const write = { path: "new/b.txt", content: "b" };
    const intent = await intentOf("write_file", write);
    expect(await again("write_file", write, intent)).toBe("Wrote 1 byte to new/b.txt (+1 -0).");
    expect(await again("write_file", write, intent)).toBe("Wrote 1 byte to new/b.txt (+1 -0).");
    writeFileSync(at("new/b.txt"), "other");
    await expect(again("write_file", write, intent)).rejects.toMatchObject({ code: "file-changed" });
    expect(read("new/b.txt")).toBe("other");
  });

  it("deletes the file it meant, and no later one with its name", async () => {
    const { at, read, intentOf, again } = scene();
    writeFileSync(at("a.txt"), "a");
    const intent = await intentOf("delete", { path: "a.txt" });
    expect(await again("delete", { path: "a.txt" }, intent)).toBe("Deleted a.txt.");
    expect(await again("delete", { path: "a.txt" }, intent)).toBe("Deleted a.txt.");
    writeFileSync(at("a.txt"), "another");
    await expect(again("delete", { path: "a.txt" }, intent)).rejects.toMatchObject({ code: "file-changed" });
    expect(read("a.txt")).toBe("another");
  });

  it("deletes the directory it meant, also one that is half deleted", async () => {
    const { at, read, intentOf, again } = scene();
    const input = { path: "d", recursive: true };
    mkdirSync(at("d"));
    writeFileSync(at("d/one"), "");
    writeFileSync(at("d/two"), "");
    const intent = await intentOf("delete", input);
    rmSync(at("d/one"));
    expect(await again("delete", input, intent)).toContain("Deleted the directory d");
    expect(() => statSync(at("d"))).toThrow("ENOENT");
    mkdirSync(at("d"));
    writeFileSync(at("d/mine"), "mine");
    await expect(again("delete", input, intent)).rejects.toMatchObject({ code: "file-changed" });
    expect(read("d/mine")).toBe("mine");
  });

  it("creates a directory unless it is there, and no file is in its place", async () => {
    const { at, intentOf, again } = scene();
    const intent = await intentOf("mkdir", { path: "d/e" });
    expect(await again("mkdir", { path: "d/e" }, intent)).toBe("Created the directory d/e.");
    expect(await again("mkdir", { path: "d/e" }, intent)).toBe("Created the directory d/e.");
    rmSync(at("d/e"), { recursive: true });
    writeFileSync(at("d/e"), "");
    await expect(again("mkdir", { path: "d/e" }, intent)).rejects.toMatchObject({ code: "file-changed" });
    await expect(again("mkdir", { path: "d/e" }, undefined)).rejects.toMatchObject({
      name: "NotDirectoryError",
    });
  });
});

describe("rules for paths", () => {
  it("hold for links to protected and secret files", async () => {
    const { files, root } = scratch();
    mkdirSync(join(root, ".git"));
    writeFileSync(join(root, ".git/config"), "");
    writeFileSync(join(root, ".env"), "KEY=1");
    symlinkSync(".git", join(root, "alias"));
    symlinkSync(".env", join(root, "settings"));
    const tools = (await new Workspace({ filesystem: files }).tools()) as Record<string, Tool>;
    const write = tools["mastra_workspace_write_file"]!.execute({
      context: { path: "alias/hooks/pre-commit", content: "x" },
    });
    await expect(write).rejects.toMatchObject({ code: "forbidden" });
    const read = tools["mastra_workspace_read_file"]!.definition;
    const asks = read.requireApproval as (input: object) => Promise<unknown>;
    expect(await asks({ path: "settings" })).toMatchObject({ decision: "ask" });
    expect(await asks({ path: "alias/config" })).toBe(false);
  });
});

describe("the changes of a thread", () => {
  const call = (toolCallId: string, tool: string, input: object): Script => [
    { toolCalls: [{ toolCallId, toolName: `mastra_workspace_${tool}`, input }] },
    "Done.",
  ];

  function onThread() {
    const { root } = scratch();
    const storage = new LibSQLStore({ url: ":memory:" });
    const open = () => new Workspace({ filesystem: new LocalFilesystem({ basePath: root }) });
    const state = { workspace: open() };
    const ask = async (script: Script): Promise<string> => {
      // A new object each time, as in another process.
      const workspace = (state.workspace = open());
      const memory = new Memory({ storage });
      const agent = new Agent({
        name: "coder",
        instructions: "",
        model: scriptedModel(script),
        memory,
        workspace,
      });
      const { steps } = await agent.generate("Go.", { memory: { thread: "t", resource: "r" } });
      return JSON.stringify(steps.map(({ content }) => content));
    };
    return { root, storage, ask, state, at: (name: string) => join(root, name) };
  }

  it("are stored with diffs, and can be undone one by one", async () => {
    const { ask, state, at } = onThread();
    writeFileSync(at("a.txt"), "one\n");
    writeFileSync(at("image"), Buffer.from([0, 1, 255]));
    await ask(call("c1", "edit_file", { path: "a.txt", old_string: "one", new_string: "two" }));
    await ask(call("c2", "write_file", { path: "new.txt", content: "new" }));
    await ask(call("c3", "delete", { path: "image" }));
    await ask(call("c4", "mkdir", { path: "d" }));
    const { workspace } = state;
    const changes = await workspace.changes({ threadId: "t" });
    expect(changes.map(({ toolCallId, path, operation }) => `${toolCallId} ${operation} ${path}`)).toEqual([
      "c1 edit a.txt",
      "c2 create new.txt",
      "c3 delete image",
      "c4 mkdir d",
    ]);
    expect(changes[0]).toMatchObject({
      threadId: "t",
      before: hashOf("one\n"),
      after: hashOf("two\n"),
      diff: expect.stringContaining("-one\n+two"),
    });
    expect(await workspace.changes({ toolCallId: "c3" })).toHaveLength(1);
    for (const toolCallId of ["c4", "c3", "c2", "c1"])
      expect(await workspace.undo({ toolCallId })).toMatchObject({ toolCallId, undoneAt: expect.any(Date) });
    expect(readFileSync(at("a.txt"), "utf8")).toBe("one\n");
    expect([...readFileSync(at("image"))]).toEqual([0, 1, 255]);
    expect(() => statSync(at("new.txt"))).toThrow("ENOENT");
    expect(() => statSync(at("d"))).toThrow("ENOENT");
    await expect(workspace.undo({ toolCallId: "c1" })).rejects.toMatchObject({ code: "conflict" });
    await expect(workspace.undo({ toolCallId: "c9" })).rejects.toMatchObject({ code: "not-found" });
  });

  it("are not undone over a later change", async () => {
    const { ask, state, at } = onThread();
    await ask(call("c1", "write_file", { path: "a.txt", content: "one" }));
    writeFileSync(at("a.txt"), "a person");
    await expect(state.workspace.undo({ toolCallId: "c1" })).rejects.toMatchObject({ code: "conflict" });
    expect(readFileSync(at("a.txt"), "utf8")).toBe("a person");
  });

  it("are not visible in a workspace with another root, and go with their thread", async () => {
    const { ask, state, storage } = onThread();
    await ask(call("c1", "write_file", { path: "a.txt", content: "one" }));
    const other = new Workspace({ filesystem: scratch().files });
    other.useStorage(storage);
    expect(await other.changes()).toEqual([]);
    await expect(other.undo({ toolCallId: "c1" })).rejects.toMatchObject({ code: "not-found" });
    expect(await state.workspace.changes()).toHaveLength(1);
    await (await storage.getStore("memory"))!.deleteThread({ threadId: "t" });
    expect(await state.workspace.changes()).toEqual([]);
  });

  it("leave no trace when they fail", async () => {
    const { ask, state, at } = onThread();
    mkdirSync(at("d"));
    writeFileSync(at("d/full"), "");
    expect(await ask(call("c1", "delete", { path: "d" }))).toContain("is not empty");
    expect(await state.workspace.changes()).toEqual([]);
  });

  it("are refused in another process for a file that changed since it was read here", async () => {
    const { ask, at } = onThread();
    writeFileSync(at("a.txt"), "first");
    await ask(call("c1", "read_file", { path: "a.txt" }));
    writeFileSync(at("a.txt"), "changed");
    expect(await ask(call("c2", "write_file", { path: "a.txt", content: "x" }))).toContain(
      "has changed since it was read",
    );
    await ask(call("c3", "read_file", { path: "a.txt" }));
    await ask(call("c4", "write_file", { path: "a.txt", content: "x" }));
    expect(readFileSync(at("a.txt"), "utf8")).toBe("x");
  });
});
