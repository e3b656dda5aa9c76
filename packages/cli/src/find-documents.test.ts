import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findDocuments } from "./find-documents.ts";

describe("findDocuments", () => {
  let folder: string;

  beforeEach(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), "selvedge-")));
  });

  afterEach(() => rm(folder, { recursive: true }));

  const make = async (files: Record<string, string>, top = folder): Promise<void> => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(top, path)), { recursive: true });
      await writeFile(join(top, path), text);
    }
  };

  const paths = async (path = "", all = false): Promise<string[]> =>
    (await findDocuments(join(folder, path), { all })).paths;

  it("leaves out what .gitignore files name, and lets those below take it back", async () => {
    await make({
      ".gitignore": "*.txt\n/drafts/\n!keep.txt\n",
      "a.md": "-",
      "a.txt": "-",
      "keep.txt": "-",
      "drafts/b.md": "-",
      "deep/drafts/c.md": "-",
      "deep/.gitignore": "/c.md\n!mine.txt\n",
      "deep/c.md": "-",
      "deep/mine.txt": "-",
      "deep/er/mine.txt": "-",
      "other/mine.txt": "-",
    });
    expect(await paths()).toEqual([
      "a.md",
      "deep/drafts/c.md",
      "deep/er/mine.txt",
      "deep/mine.txt",
      "keep.txt",
    ]);
    expect((await findDocuments(folder)).leftOut).toBe(4);
    expect(await paths("", true)).toHaveLength(9);
  });

  it("knows the rules above a folder inside a repository, but reads a folder that is asked for by name", async () => {
    await make({
      ".gitignore": "docs/made/\n*.tmp.md\n",
      "docs/a.md": "-",
      "docs/b.tmp.md": "-",
      "docs/made/c.md": "-",
      "docs/made/.gitignore": "d.md",
      "docs/made/d.md": "-",
    });
    expect(await paths("docs")).toEqual(["a.md", "b.tmp.md", "made/c.md"]);
    await mkdir(join(folder, ".git"));
    expect(await paths("docs")).toEqual(["a.md"]);
    expect(await paths("docs/made")).toEqual(["c.md"]);
  });

  it("reads hidden files and dependencies with all, but never what is Git's own", async () => {
    await make({
      ".git/x.md": "-",
      ".hidden/y.md": "-",
      "node_modules/p/z.md": "-",
      "build/w.md": "-",
      "v.md": "-",
    });
    expect(await paths()).toEqual(["v.md"]);
    expect(await paths("", true)).toEqual([".hidden/y.md", "build/w.md", "node_modules/p/z.md", "v.md"]);
  });

  it.skipIf(!hasGit())("leaves out exactly what Git leaves out", async () => {
    const name = fc.constantFrom("a", "b", "a b", "c[1]", "#d", "!e", "x+y");
    const file = fc
      .tuple(
        fc.array(name, { maxLength: 3 }),
        fc.constantFrom("x.md", "y.md", "#h.md", "!n.md", "a b.md", "z.txt"),
      )
      .map(([folders, last]) => [...folders, last].join("/"));
    const pattern = fc.constantFrom(
      ..."*.md|x.md|a|b/|/a|/x.md|a/b|**/b|a/**|a/**/x.md|*|*/|?.md|[xy].md|[!x].md|\\#h.md|\\!n.md|x.md |a b.md|a\\ b|# no||  |c\\[1\\]|/b/*|**|/*/x.md|z.*|/|\\".split(
        "|",
      ),
    );
    const line = fc.tuple(fc.constantFrom("", "", "!"), pattern).map((parts) => parts.join(""));
    const rules = fc.tuple(fc.array(name, { maxLength: 2 }), fc.array(line, { maxLength: 4 }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(file, { minLength: 1, maxLength: 15 }),
        fc.array(rules, { maxLength: 4 }),
        async (files, ignores) => {
          const top = await mkdtemp(join(folder, "r-"));
          execFileSync("git", ["init", "-q", top]);
          await make(Object.fromEntries(files.map((path) => [path, "-"])), top);
          await make(
            Object.fromEntries(
              ignores.map(([at, lines]) => [[...at, ".gitignore"].join("/"), lines.join("\n")]),
            ),
            top,
          );
          const listed = execFileSync(
            "git",
            ["-C", top, "ls-files", "-z", "--others", "--exclude-standard"],
            {
              env: {
                ...process.env,
                GIT_CONFIG_GLOBAL: "/dev/null",
                GIT_CONFIG_NOSYSTEM: "1",
                XDG_CONFIG_HOME: top,
              },
            },
          );
          const wanted = listed
            .toString()
            .split("\0")
            .filter((path) => path !== "" && !path.endsWith(".gitignore"));
          expect((await findDocuments(top)).paths).toEqual(wanted.sort((a, b) => (a < b ? -1 : 1)));
        },
      ),
      { numRuns: 60 },
    );
  });
});

function hasGit(): boolean {
  try {
    execFileSync("git", ["--version"]);
    return true;
  } catch {
    return false;
  }
}
