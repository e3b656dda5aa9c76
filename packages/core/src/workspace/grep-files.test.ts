import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { realSystem } from "../system.ts";
import { scratch } from "./__fixtures__/scratch.ts";
import { type GrepInput, showGrep } from "./grep-files.ts";
import { searchText } from "./scan/search-text.ts";

async function grep(
  tree: Record<string, string | Uint8Array | { to: string }>,
  input: GrepInput,
  timeLimitMs?: number,
) {
  const { files, root } = scratch();
  for (const [path, text] of Object.entries(tree)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    if (typeof text === "object" && "to" in text) symlinkSync(text.to, join(root, path));
    else writeFileSync(join(root, path), text);
  }
  const options = { system: realSystem, sensitive: [".env"], timeLimitMs };
  const result = await searchText(files, input, options);
  // Without threads, the result is the same.
  const elsewhere = new Proxy(files, {
    get(target, key) {
      const value: unknown = key === "scanRoots" ? undefined : Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  if (timeLimitMs === undefined) expect(await searchText(elsewhere, input, options)).toEqual(result);
  return result;
}

describe("grepFiles", () => {
  it("finds lines with line and column numbers, across line endings", async () => {
    const result = await grep({ "a.ts": "one\r\ntwo one\r\n", "b/c.ts": "none" }, { pattern: "one" });
    expect(showGrep(result)).toBe(
      "3 matches in 2 files, 2 files searched.\na.ts:1:1: one\na.ts:2:5: two one\nb/c.ts:1:2: none",
    );
  });

  it("searches a file, a directory or a glob, with context and without case", async () => {
    const tree = {
      "a.ts": "x\nHit\ny",
      "a.md": "hit",
      "sub/b.ts": "hit",
      "node_modules/m.ts": "hit",
      ".gitignore": "node_modules",
    };
    expect((await grep(tree, { pattern: "hit", path: "sub" })).matches.map(({ path }) => path)).toEqual([
      "sub/b.ts",
    ]);
    expect(
      (await grep(tree, { pattern: "hit", path: "**/*.ts", caseSensitive: false })).matches,
    ).toHaveLength(2);
    const result = await grep(tree, { pattern: "H.t", path: "a.ts", contextLines: 1 });
    expect(showGrep(result)).toContain("a.ts-1- x\na.ts:2:1: Hit\na.ts-3- y");
  });

  it("skips binary, large and sensitive files, and counts them", async () => {
    const tree = {
      bin: new Uint8Array([104, 105, 0, 104]),
      big: "hi".repeat(3 * 1024 * 1024),
      ".env": "hi",
      "a.txt": "hi",
    };
    const result = await grep(tree, { pattern: "hi", includeHidden: true });
    expect(result).toMatchObject({ searched: 1, skipped: 3, files: 1 });
  });

  it("does not show a secret through a link", async () => {
    const result = await grep(
      { ".env": "hi", "link.txt": { to: ".env" } },
      { pattern: "hi", path: "link.txt" },
    );
    expect(result).toMatchObject({ matches: [], skipped: 1 });
  });

  it("cuts long lines and long results", async () => {
    const result = await grep(
      { long: `${"y".repeat(5000)}hit`, many: "hit\n".repeat(2000) },
      { pattern: "hit" },
    );
    expect(result.matches[0]?.text).toHaveLength(500 + "… (5003 characters)".length);
    expect(result.matches).toHaveLength(1000);
    expect(result.stopped).toBe("after 1000 matches");
  });

  it("stops at a pattern that would never end, and refuses one that is not valid", async () => {
    const result = await grep({ "a.txt": "aaa", "b.txt": `${"a".repeat(60)}!` }, { pattern: "(a+)+$" }, 3000);
    expect(result.matches.map(({ path }) => path)).toEqual(["a.txt"]);
    expect(result.stopped).toContain("takes too long");
    await expect(grep({ a: "" }, { pattern: "(" })).rejects.toThrow("not a valid regular expression");
    await expect(grep({ a: "" }, { pattern: "x".repeat(1001) })).rejects.toThrow("1 to 1000 characters");
  });
});
