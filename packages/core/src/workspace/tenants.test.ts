import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { type Script, scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { Agent } from "../agent/agent.ts";
import { RequestContext } from "../request-context/request-context.ts";
import type { Tool } from "../tool/tool.ts";
import { scratch } from "./__fixtures__/scratch.ts";
import { LocalFilesystem } from "./local-filesystem.ts";
import { Workspace } from "./workspace.ts";

/** A workspace for two tenants whose folders are beside each other. */
function tenants() {
  const { root } = scratch();
  const folder = (name: string) => join(root, name);
  for (const name of ["ann", "bob"]) {
    mkdirSync(folder(name));
    writeFileSync(join(folder(name), `${name}-plan.txt`), `secret of ${name}`);
  }
  writeFileSync(join(folder("ann"), "unnamed.txt"), "secret of ann");
  symlinkSync(folder("ann"), join(folder("bob"), "way"));
  symlinkSync(join(folder("ann"), "ann-plan.txt"), join(folder("bob"), "shortcut.txt"));
  const workspace = new Workspace({
    filesystem: ({ requestContext }) =>
      new LocalFilesystem({ basePath: folder(requestContext.get("tenant") as string) }),
  });
  const as = (tenant: string) => new RequestContext([["tenant", tenant]]);
  return { workspace, as, folder };
}

describe("two tenants of one workspace", () => {
  it("cannot read, list, search, change or delete each other's files, and errors do not name them", async () => {
    const { workspace, as, folder } = tenants();
    const tools = (await workspace.tools({ requestContext: as("bob") })) as Record<string, Tool>;
    const call = async (name: string, context: object): Promise<string> =>
      tools[`mastra_workspace_${name}`]!.execute({ context }).then(String, (error: Error) => error.message);
    const paths = [
      "../ann/ann-plan.txt",
      "way/ann-plan.txt",
      "shortcut.txt",
      join(folder("ann"), "ann-plan.txt"),
      "way",
    ];
    const said: string[] = [];
    for (const path of paths)
      for (const [name, input] of [
        ["read_file", {}],
        ["write_file", { content: "x" }],
        ["edit_file", { old_string: "secret", new_string: "x" }],
        ["file_stat", {}],
        ["list_files", {}],
        ["grep", { pattern: "secret" }],
        ["mkdir", {}],
      ] as const)
        said.push(await call(name, { path, ...input }));
    said.push(await call("grep", { pattern: "secret" }), await call("list_files", { maxDepth: 10 }));
    for (const text of said) {
      expect(text).not.toContain("secret of ann");
      expect(text).not.toContain("unnamed");
    }
    expect(said.at(-2)).toContain("bob-plan.txt");
    expect(readFileSync(join(folder("ann"), "ann-plan.txt"), "utf8")).toBe("secret of ann");
  });

  it("do not share what was read or changed, even on threads in one store", async () => {
    const { workspace, as } = tenants();
    const storage = new LibSQLStore({ url: ":memory:" });
    const ask = async (tenant: string, script: Script): Promise<void> => {
      const agent = new Agent({
        name: "coder",
        instructions: "",
        model: scriptedModel(script),
        memory: new Memory({ storage }),
        workspace,
      });
      await agent.generate("Go.", {
        memory: { thread: `t-${tenant}`, resource: tenant },
        requestContext: as(tenant),
      });
    };
    const write = (content: string): Script => [
      {
        toolCalls: [
          { toolCallId: "same", toolName: "mastra_workspace_write_file", input: { path: "a.txt", content } },
        ],
      },
      "Done.",
    ];
    await ask("ann", write("of ann"));
    await ask("bob", write("of bob"));
    const changes = async (tenant: string) => workspace.changes({ requestContext: as(tenant) });
    expect((await changes("ann")).map(({ threadId }) => threadId)).toEqual(["t-ann"]);
    expect(JSON.stringify(await changes("bob"))).not.toContain("of ann");
    expect(await workspace.changes({ threadId: "t-ann", requestContext: as("bob") })).toEqual([]);
    await workspace.undo({ toolCallId: "same", requestContext: as("bob") });
    const files = (await workspace.resolveFilesystem({ requestContext: as("ann") }))!;
    expect(await files.readFile("a.txt", { encoding: "utf8" })).toBe("of ann");
  });

  it("cannot have folders that contain each other while both are open", async () => {
    const { workspace, as, folder } = tenants();
    mkdirSync(join(folder("ann"), "inner"));
    const ann = (await workspace.resolveFilesystem({ requestContext: as("ann") }))!;
    const inner = workspace.resolveFilesystem({ requestContext: as("ann/inner") });
    await expect(inner).rejects.toMatchObject({ code: "forbidden" });
    await expect(inner).rejects.not.toThrow(folder("ann"));
    await workspace.resolveFilesystem({ requestContext: as("bob") });
    await ann.destroy?.();
    await workspace.resolveFilesystem({ requestContext: as("ann/inner") });
  });
});

describe("a root that was given by a link", () => {
  it("can be named as it was given", async () => {
    const { root } = scratch();
    mkdirSync(join(root, "real"));
    symlinkSync("real", join(root, "alias"));
    writeFileSync(join(root, "real/a.txt"), "text");
    const files = new LocalFilesystem({ basePath: join(root, "alias") });
    for (const path of ["a.txt", join(root, "alias/a.txt"), join(root, "real/a.txt")])
      expect(await files.readFile(path, { encoding: "utf8" })).toBe("text");
    await files.writeFile(join(root, "alias/b.txt"), "b");
    expect(readFileSync(join(root, "real/b.txt"), "utf8")).toBe("b");
    await expect(files.readFile(join(root, "alias/../c.txt"))).rejects.toMatchObject({ code: "not-found" });
  });
});

describe("an image in a workspace", () => {
  const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
  const script: Script = [
    { toolCalls: [{ toolName: "mastra_workspace_read_file", input: { path: "i.png" } }] },
    "Nice.",
  ];
  const ask = async (tools?: object) => {
    const { files, root } = scratch();
    writeFileSync(join(root, "i.png"), PNG);
    const model = scriptedModel(script);
    const workspace = new Workspace({
      filesystem: files,
      tools: { mastra_workspace_read_file: { ...tools } },
    });
    await new Agent({ name: "a", instructions: "", model, workspace }).generate("Look.");
    return JSON.stringify(model.calls[1]!.prompt);
  };

  it("is shown to the model, unless it is too large or not wanted", async () => {
    expect(await ask()).toContain(PNG.toString("base64"));
    expect(await ask()).toContain("i.png (image/png, 16 bytes)");
    for (const options of [{ mediaTypes: false }, { maxMediaBytes: 10 }, { mediaTypes: ["image/gif"] }]) {
      const prompt = await ask(options);
      expect(prompt).toContain("is binary data");
      expect(prompt).not.toContain(PNG.toString("base64"));
    }
  });
});
