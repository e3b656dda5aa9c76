import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { Agent } from "../agent/agent.ts";
import { AgentError } from "../errors.ts";
import { Mastra } from "../mastra/mastra.ts";
import { RequestContext } from "../request-context/request-context.ts";
import type { Tool } from "../tool/tool.ts";
import { type Scratch, scratch } from "./__fixtures__/scratch.ts";
import { LocalFilesystem, type LocalFilesystemOptions } from "./local-filesystem.ts";
import { Workspace, type WorkspaceOptions } from "./workspace.ts";

type Options = Partial<WorkspaceOptions> & { files?: Omit<LocalFilesystemOptions, "basePath"> };

function scene({ files: fileOptions, ...options }: Options = {}): Scratch & {
  workspace: Workspace;
  call(name: string, input: object): Promise<unknown>;
} {
  const made = scratch(fileOptions);
  const workspace = new Workspace({ filesystem: made.files, ...options });
  return {
    ...made,
    workspace,
    async call(name, input) {
      const tools = (await workspace.tools()) as Record<string, Tool>;
      const tool = tools[`mastra_workspace_${name}`];
      if (!tool) throw new Error(`There is no tool ${name}.`);
      return tool.execute({ context: input });
    },
  };
}

it("refuses lsp, which does not exist yet", () => {
  const { files } = scratch();
  const options = { filesystem: files, lsp: true };
  expect(() => new Workspace(options)).toThrow("A workspace has no language servers yet.");
});

describe("the tools of a workspace", () => {
  it("write, read, edit and delete files", async () => {
    const { call, root } = scene();
    expect(await call("write_file", { path: "src/a.ts", content: "one\ntwo\n" })).toBe(
      "Wrote 8 bytes to src/a.ts (+2 -0).",
    );
    expect(await call("read_file", { path: "src/a.ts" })).toBe("src/a.ts (2 lines, 8 bytes)\n1\tone\n2\ttwo");
    expect(await call("read_file", { path: "src/a.ts", offset: 2, showLineNumbers: false })).toBe(
      "src/a.ts (lines 2-2 of 2, 8 bytes)\ntwo",
    );
    expect(await call("edit_file", { path: "src/a.ts", old_string: "two", new_string: "2\n3" })).toBe(
      "1 replacement in src/a.ts (line 2-3) (+2 -1).",
    );
    expect(readFileSync(join(root, "src/a.ts"), "utf8")).toBe("one\n2\n3\n");
    expect(await call("file_stat", { path: "src/a.ts" })).toMatch(/^src\/a\.ts: file, 8 bytes, modified 20/);
    expect(await call("list_files", {})).toBe(".: 1 directory, 1 file\nsrc/\n\ta.ts");
    expect(await call("grep", { pattern: "on." })).toBe(
      "1 match in 1 file, 1 file searched.\nsrc/a.ts:1:1: one",
    );
    expect(await call("delete", { path: "src/a.ts" })).toBe("Deleted src/a.ts.");
    expect(await call("mkdir", { path: "src" })).toBe("src already exists.");
    expect(await call("file_stat", { path: "src/a.ts" })).toBe("src/a.ts: not found");
  });

  it("refuse to leave the root, with an error that names the path as it was given", async () => {
    const { call, root, outside } = scene();
    symlinkSync(outside, join(root, "link"));
    for (const [name, input] of [
      ["read_file", {}],
      ["write_file", { content: "x" }],
      ["edit_file", { old_string: "secret", new_string: "x" }],
      ["delete", {}],
      ["grep", { pattern: "secret" }],
      ["list_files", {}],
      ["mkdir", {}],
    ] as const) {
      for (const path of ["../outside/secret.txt", "link/secret.txt"]) {
        const error = await call(name, { ...input, path }).catch((thrown: unknown) => thrown);
        expect(AgentError.is(error, "forbidden"), `${name} ${path}: ${String(error)}`).toBe(true);
        expect((error as Error).message).not.toContain(outside);
      }
    }
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret");
  });

  it("keep byte order marks and line endings", async () => {
    const { call, root } = scene();
    writeFileSync(join(root, "w.txt"), "\uFEFFone\r\ntwo\r\n");
    await call("edit_file", { path: "w.txt", old_string: "one\ntwo", new_string: "1\n2" });
    expect(readFileSync(join(root, "w.txt"), "utf8")).toBe("\uFEFF1\r\n2\r\n");
  });

  it("refuse a change of a file that changed since it was read, and require reading if asked to", async () => {
    const { call, root } = scene({
      tools: { mastra_workspace_write_file: { requireReadBeforeWrite: true } },
    });
    writeFileSync(join(root, "a.txt"), "first");
    await expect(call("write_file", { path: "a.txt", content: "x" })).rejects.toMatchObject({
      name: "FileReadRequiredError",
    });
    await call("read_file", { path: "a.txt" });
    writeFileSync(join(root, "a.txt"), "changed by a person");
    await expect(call("write_file", { path: "a.txt", content: "x" })).rejects.toMatchObject({
      name: "StaleFileError",
    });
    await expect(
      call("edit_file", { path: "a.txt", old_string: "changed", new_string: "x" }),
    ).rejects.toMatchObject({
      name: "StaleFileError",
    });
    await call("read_file", { path: "a.txt" });
    await call("write_file", { path: "a.txt", content: "x" });
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("x");
  });

  it("ask before a secret is read, and never show one in a search", async () => {
    const { workspace, call, root } = scene();
    writeFileSync(join(root, ".env"), "KEY=secret");
    const tools = (await workspace.tools()) as Record<string, Tool>;
    const asks = tools["mastra_workspace_read_file"]!.definition.requireApproval as (
      input: object,
    ) => Promise<unknown>;
    expect(await asks({ path: ".env" })).toMatchObject({ decision: "ask" });
    expect(await asks({ path: "sub/../.env" })).toMatchObject({ decision: "ask" });
    expect(await asks({ path: ".env.example" })).toBe(false);
    expect(await asks({ path: "a.ts" })).toBe(false);
    const edits = tools["mastra_workspace_edit_file"]!.definition.requireApproval as typeof asks;
    expect(await edits({ path: ".env", old_string: "KEY=\nx", new_string: "" })).toMatchObject({
      decision: "ask",
    });
    expect(await edits({ path: "a.ts", old_string: "a", new_string: "b" })).toBe(false);
    expect(await call("grep", { pattern: "KEY", includeHidden: true })).toContain("0 matches");
  });

  it("list and search a directory by its absolute path, in the root and in an allowed path", async () => {
    const { outside, root } = scratch();
    mkdirSync(join(outside, "sub"));
    mkdirSync(join(root, "sub"));
    for (const [name, text] of [
      [join(outside, ".gitignore"), "*.log\n/sub/left-out"],
      [join(outside, "sub/found.txt"), "needle"],
      [join(outside, "sub/left-out"), "needle"],
      [join(outside, "a.log"), "needle"],
      [join(root, "sub/own.txt"), "needle"],
    ] as const)
      writeFileSync(name, text);
    const files = new LocalFilesystem({ basePath: root, allowedPaths: [outside] });
    const tools = (await new Workspace({ filesystem: files }).tools()) as Record<string, Tool>;
    const call = (name: string, context: object) =>
      tools[`mastra_workspace_${name}`]!.execute({ context }) as Promise<string>;
    const listed = await call("list_files", { path: outside });
    expect(listed).toContain("found.txt");
    expect(listed).not.toMatch(/a\.log|left-out/);
    expect(await call("list_files", { path: join(root, "sub") })).toContain("own.txt");
    const grep = (path: string) => call("grep", { path, pattern: "needle" });
    expect(await grep(outside)).toMatch(/^1 match [^]*\/sub\/found\.txt:1:1/);
    expect(await grep(`${outside}/**/*.txt`)).toContain("1 match ");
    expect(await grep(`${root}/*/*.txt`)).toContain("1 match ");
    expect(await grep(`/*.txt`)).toContain("0 matches");
    expect(await grep(join(root, "sub"))).toContain("\nsub/own.txt:1:1");
  });

  it("do not change files of Git", async () => {
    const { call, root } = scene();
    mkdirSync(join(root, ".git"));
    writeFileSync(join(root, ".git/config"), "[core]");
    await expect(call("write_file", { path: ".git/hooks/pre-commit", content: "x" })).rejects.toMatchObject({
      code: "forbidden",
    });
    await expect(
      call("edit_file", { path: "./.git/config", old_string: "core", new_string: "x" }),
    ).rejects.toMatchObject({ code: "forbidden" });
    await expect(call("delete", { path: ".git", recursive: true })).rejects.toMatchObject({
      code: "forbidden",
    });
    expect(await call("read_file", { path: ".git/config" })).toContain("[core]");
  });

  it("call a hook once, even if it throws", async () => {
    const seen: unknown[] = [];
    const afterToolCall = ({ output, error }: { output?: unknown; error?: unknown }) => {
      seen.push(error ?? typeof output);
      throw new Error("The hook failed.");
    };
    const { call } = scene({ tools: { hooks: { afterToolCall } } });
    await expect(call("list_files", {})).rejects.toThrow("The hook failed.");
    expect(seen).toEqual(["string"]);
  });

  it("can be renamed, disabled and hooked; a read-only workspace has no tools that change files", async () => {
    const calls: unknown[] = [];
    const { workspace, root } = scene({
      tools: {
        mastra_workspace_grep: { enabled: false },
        mastra_workspace_read_file: { name: "view" },
        mastra_workspace_delete: {
          enabled: () => {
            throw new Error("no");
          },
        },
        hooks: {
          beforeToolCall: ({ workspaceToolName }) => {
            calls.push(workspaceToolName);
            if (workspaceToolName.endsWith("mkdir")) return { proceed: false as const, output: "not today" };
            return undefined;
          },
          afterToolCall: ({ output }) => void calls.push(output),
        },
      },
    });
    writeFileSync(join(root, "a.txt"), "text");
    const tools = (await workspace.tools()) as Record<string, Tool>;
    expect(Object.keys(tools)).toEqual([
      "view",
      "mastra_workspace_write_file",
      "mastra_workspace_edit_file",
      "mastra_workspace_list_files",
      "mastra_workspace_file_stat",
      "mastra_workspace_mkdir",
    ]);
    expect(await tools["view"]!.execute({ context: { path: "a.txt" } })).toContain("text");
    expect(await tools["mastra_workspace_mkdir"]!.execute({ context: { path: "d" } })).toBe("not today");
    expect(calls).toEqual([
      "mastra_workspace_read_file",
      expect.stringContaining("text"),
      "mastra_workspace_mkdir",
    ]);
    const readOnly = scene({ files: { readOnly: true } });
    expect(Object.keys(await readOnly.workspace.tools())).toEqual(
      ["read_file", "list_files", "file_stat", "grep"].map((name) => `mastra_workspace_${name}`),
    );
  });
});

describe("an agent with a workspace", () => {
  it("changes files, and its thread has the change with a diff", async () => {
    const { files, root } = scratch();
    const agent = new Agent({
      name: "coder",
      instructions: "Work with files.",
      model: scriptedModel([
        {
          toolCalls: [
            { toolName: "mastra_workspace_write_file", input: { path: "a.txt", content: "hello\n" } },
          ],
        },
        "Done.",
      ]),
      memory: new Memory({ storage: new LibSQLStore({ url: ":memory:" }) }),
      workspace: new Workspace({ filesystem: files }),
    });
    const run = await agent.stream("Write a file.", { memory: { thread: "t", resource: "r" } });
    const changes: unknown[] = [];
    for await (const chunk of run.fullStream)
      if (chunk.type === "data-workspace-change") changes.push(chunk.data);
    expect(changes).toMatchObject([
      {
        path: "a.txt",
        operation: "create",
        before: null,
        added: 1,
        removed: 0,
        diff: expect.stringContaining("+hello"),
      },
    ]);
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("hello\n");
    await agent.close();
  });

  it("remembers on its thread what it has read, in another run and with another workspace object", async () => {
    const { root } = scratch();
    writeFileSync(join(root, "a.txt"), "first");
    const storage = new LibSQLStore({ url: ":memory:" });
    const ask = async (input: object, toolName: string): Promise<string> => {
      const agent = new Agent({
        name: "coder",
        instructions: "Work with files.",
        model: scriptedModel([{ toolCalls: [{ toolName, input }] }, "Done."]),
        memory: new Memory({ storage }),
        workspace: new Workspace({ id: "w", filesystem: new LocalFilesystem({ basePath: root }) }),
      });
      const { toolResults, steps } = await agent.generate("Go.", { memory: { thread: "t", resource: "r" } });
      return JSON.stringify([toolResults, steps.map(({ content }) => content)]);
    };
    await ask({ path: "a.txt" }, "mastra_workspace_read_file");
    writeFileSync(join(root, "a.txt"), "changed");
    expect(await ask({ path: "a.txt", content: "x" }, "mastra_workspace_write_file")).toContain(
      "has changed since it was read",
    );
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("changed");
  });

  it("gets the host's workspace, or one by request, and says how paths work", async () => {
    const { files } = scratch();
    const workspace = new Workspace({ id: "shared", filesystem: files });
    const model = scriptedModel(["one", "two"]);
    const agent = new Agent({ name: "a", instructions: "Help.", model });
    const host = new Mastra({ agents: { agent }, workspace });
    await agent.generate("Hi.");
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain("paths are relative to the workspace root");
    expect(model.calls[0]?.tools?.map(({ name }) => name)).toContain("mastra_workspace_read_file");
    expect(host.getWorkspaceById("shared")).toBe(workspace);
    expect(Object.keys(host.listWorkspaces())).toEqual(["shared"]);
    await host.removeWorkspace("shared", { destroy: true });
    expect(workspace.status).toBe("destroyed");
    expect(() => host.getWorkspaceById("shared")).toThrow("shared");
    await host.close();

    const tenants = { a: scratch(), b: scratch() };
    writeFileSync(join(tenants.a.root, "mine.txt"), "a");
    const dynamic = new Workspace({
      filesystem: ({ requestContext }) => tenants[requestContext.get("tenant") as "a" | "b"].files,
    });
    const requestContext = new RequestContext([["tenant", "b"]]);
    const tools = (await dynamic.tools({ requestContext })) as Record<string, Tool>;
    expect(await tools["mastra_workspace_list_files"]!.execute({ context: {} })).toBe(
      ".: 0 directories, 0 files\n",
    );
  });

  it("refuses a workspace without a filesystem, and a root that is not there", () => {
    expect(() => new Workspace({} as WorkspaceOptions)).toThrow("needs a filesystem");
    expect(() => new LocalFilesystem({ basePath: "/no/such/place", readOnly: true })).toThrow(
      "does not exist",
    );
    expect(() => new LocalFilesystem({ basePath: "" })).toThrow("basePath must be");
  });
});
