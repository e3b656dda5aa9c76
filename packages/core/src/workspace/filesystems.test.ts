import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { testFilesystem } from "@selvedge/testing/suites";
import { describe, expect, it } from "vitest";
import { SimDisk, SimFilesystem } from "@selvedge/testing/simulator";
import type { Tool } from "../tool/tool.ts";
import { scratch } from "./__fixtures__/scratch.ts";
import { CompositeFilesystem } from "./composite-filesystem.ts";
import { Workspace } from "./workspace.ts";

testFilesystem("LocalFilesystem", () => ({ files: scratch().files }));
testFilesystem("a filesystem in memory", () => ({ files: new SimFilesystem(new SimDisk()) }));
testFilesystem("CompositeFilesystem", () => ({
  files: new CompositeFilesystem({ mounts: { "/a/data": scratch().files, "/b": scratch().files } }),
  at: "a/data",
}));

describe("mounts", () => {
  it("appear below their paths, and nothing can be changed above them", async () => {
    const [one, two] = [scratch(), scratch({ readOnly: true })];
    writeFileSync(join(one.root, "x.txt"), "one");
    mkdirSync(join(two.root, "d"));
    writeFileSync(join(two.root, "d/y.txt"), "two");
    const workspace = new Workspace({ mounts: { "/data/one": one.files, two: two.files } });
    const tools = (await workspace.tools()) as Record<string, Tool>;
    const call = (name: string, context: object) => tools[`mastra_workspace_${name}`]!.execute({ context });
    expect(await call("list_files", { maxDepth: 5 })).toBe(
      ".: 4 directories, 2 files\ndata/\n\tone/\n\t\tx.txt\ntwo/\n\td/\n\t\ty.txt",
    );
    expect(await call("read_file", { path: "/two/d/y.txt" })).toContain("two");
    expect(await call("grep", { pattern: "o" })).toContain("data/one/x.txt:1:1: one");
    await call("write_file", { path: "data/one/new.txt", content: "new" });
    expect(await one.files.readFile("new.txt", { encoding: "utf8" })).toBe("new");
    for (const path of ["new.txt", "data/new.txt", "two/new.txt"])
      await expect(call("write_file", { path, content: "x" })).rejects.toMatchObject({ code: "forbidden" });
    await expect(call("read_file", { path: "data/one/no.txt" })).rejects.toThrow("data/one/no.txt");
    await workspace.filesystem!.moveFile("two/d/y.txt", "data/one/y.txt").catch(() => {});
    expect(await two.files.exists("d/y.txt")).toBe(true);
    expect(workspace.getInstructions()).toContain("/data/one, /two (read-only)");
  });

  it("keep their own rules for links, secrets and protected files", async () => {
    const { files, root, outside } = scratch();
    mkdirSync(join(root, ".git"));
    symlinkSync(".git", join(root, "alias"));
    symlinkSync(outside, join(root, "out"));
    const tools = (await new Workspace({ mounts: { m: files } }).tools()) as Record<string, Tool>;
    const write = (path: string) =>
      tools["mastra_workspace_write_file"]!.execute({ context: { path, content: "x" } });
    for (const path of ["m/.git/hooks/x", "m/alias/hooks/x", "m/out/x", "m/../x"])
      await expect(write(path), path).rejects.toMatchObject({ code: "forbidden" });
  });

  it("can be left out or started by onMount", async () => {
    const seen: string[] = [];
    const workspace = new Workspace({
      mounts: { a: scratch().files, b: scratch().files },
      onMount: ({ path }) => {
        seen.push(path);
        return path === "/a" ? false : { success: true };
      },
    });
    await workspace.init();
    expect(seen).toEqual(["/a", "/b"]);
    expect(await workspace.filesystem!.readdir(".")).toEqual([{ name: "b", type: "directory" }]);
  });

  it("cannot lie in each other, be the root, or stand beside a filesystem", () => {
    const { files } = scratch();
    for (const mounts of [{ a: files, "a/b": files }, { "/": files }, { a: files, "/a/": files }, {}])
      expect(() => new Workspace({ mounts })).toThrow("no path may be the root or lie in another");
    expect(() => new Workspace({ mounts: { a: files }, filesystem: files })).toThrow(
      "either filesystem or mounts",
    );
  });
});
