import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { scratch } from "./__fixtures__/scratch.ts";
import { treeSource } from "./contained/tree-source.ts";
import { filesystemSource } from "./scan/scan-source.ts";
import { findEntries, type FindOptions } from "./find-entries.ts";

async function found(tree: Record<string, string>, options: FindOptions): Promise<string[]> {
  const { files, root } = scratch();
  for (const [path, text] of Object.entries(tree)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  symlinkSync("..", join(root, "up"));
  const paths: string[] = [];
  for (const source of [treeSource(files.scanRoots()), filesystemSource(files)]) {
    const here: string[] = [];
    await findEntries(source, options, ({ path }) => void here.push(path));
    if (paths.length > 0) expect(here).toEqual(paths);
    else paths.push(...here);
  }
  return paths;
}

const TREE = {
  ".gitignore": "dist\n*.log\n!keep.log\n",
  "a.ts": "",
  "a.log": "",
  "keep.log": "",
  "dist/out.js": "",
  ".hidden/x.ts": "",
  ".git/config": "",
  "sub/.gitignore": "/only-here\nlocal/\n",
  "sub/only-here": "",
  "sub/deep/only-here": "",
  "sub/deep/local/file.ts": "",
  "sub/deep/b.log": "",
};

describe("findEntries", () => {
  it("applies the ignore files of every directory, and lists links without following them", async () => {
    expect(await found(TREE, { path: "." })).toEqual([
      "a.ts",
      "keep.log",
      "sub",
      "sub/deep",
      "sub/deep/only-here",
      "up",
    ]);
  });

  it("shows hidden entries except .git, and everything without ignore rules", async () => {
    expect(await found(TREE, { path: ".", showHidden: true, maxDepth: 1 })).toEqual([
      ".gitignore",
      ".hidden",
      "a.ts",
      "keep.log",
      "sub",
      "up",
    ]);
    expect(await found(TREE, { path: "sub", respectGitignore: false })).toContain("sub/deep/local/file.ts");
  });

  it("lists an ignored directory that is named, and applies the rules above a start", async () => {
    expect(await found(TREE, { path: "dist" })).toEqual(["dist/out.js"]);
    expect(await found(TREE, { path: "/sub/deep/" })).toEqual(["sub/deep/only-here"]);
  });
});
