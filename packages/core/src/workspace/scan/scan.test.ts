import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { realSystem } from "../../system.ts";
import { type Scratch, scratch } from "../__fixtures__/scratch.ts";
import type { LocalFilesystem } from "../local-filesystem.ts";
import { runScan } from "./run-scan.ts";
import { searchText } from "./search-text.ts";

const options = { system: realSystem, sensitive: [] };
const SCANS: Record<string, (files: LocalFilesystem, path: string) => Promise<unknown>> = {
  list: (files, path) =>
    runScan(files, "list", { path, maxDepth: 64, showHidden: true, maxOutputTokens: 1000 }, options),
  grep: (files, path) => searchText(files, { pattern: ".", path, includeHidden: true }, options),
  index: (files, path) =>
    runScan(files, "index", { paths: [path], sensitive: [], most: 100, maxBytes: 100 }, options),
};

async function attack(path: string, plant: (scene: Scratch) => void = () => {}): Promise<void> {
  for (const [name, scan] of Object.entries(SCANS)) {
    const scene = scratch();
    plant(scene);
    const outcome = await scan(scene.files, path).catch((error: Error) => error);
    const shown = outcome instanceof Error ? outcome.message : JSON.stringify(outcome);
    expect(shown.replaceAll(path, ""), `${name} of ${path}`).not.toMatch(/secret|outside/);
  }
}

describe("a scan", () => {
  it("cannot leave the root by a path", async () => {
    for (const path of [
      "..",
      "../outside",
      "a/../../outside/secret.txt",
      "../**",
      "/etc",
      "~",
      "a\0b",
      "*/../../*",
    ])
      await attack(path);
  });

  it("does not follow links that lead outside, at the start or below", async () => {
    const plant = ({ root, outside }: Scratch): void => {
      mkdirSync(join(root, "sub"));
      symlinkSync(outside, join(root, "link"));
      symlinkSync(join(outside, "secret.txt"), join(root, "sub/file"));
      symlinkSync("../../outside", join(root, "sub/folder"));
    };
    for (const path of [
      ".",
      "link",
      "link/secret.txt",
      "sub",
      "sub/file",
      "sub/folder",
      "**",
      "sub/*",
      "link/*",
    ])
      await attack(path, plant);
  });

  it("searches a file through a link that stays inside, and passes over what is no file", async () => {
    const { files, root, outside } = scratch({ hardLinks: "refuse" });
    mkdirSync(join(root, "real"));
    writeFileSync(join(root, "real/a.txt"), "here");
    symlinkSync("real/a.txt", join(root, "link.txt"));
    execFileSync("mkfifo", [join(root, "fifo")]);
    linkSync(join(outside, "secret.txt"), join(root, "hard.txt"));
    expect(await searchText(files, { pattern: "here", path: "link.txt" }, options)).toMatchObject({
      files: 1,
    });
    expect(await searchText(files, { pattern: "e" }, options)).toMatchObject({
      matches: [{ path: "real/a.txt" }],
      skipped: 1,
    });
    await expect(searchText(files, { pattern: "x", path: "none" }, options)).rejects.toMatchObject({
      name: "FileNotFoundError",
      code: "not-found",
    });
  });

  it("applies .git/info/exclude, which is weaker than .gitignore", async () => {
    const { files, root } = scratch();
    mkdirSync(join(root, ".git/info"), { recursive: true });
    writeFileSync(join(root, ".git/info/exclude"), "*.tmp\n*.bak\n");
    writeFileSync(join(root, ".gitignore"), "!keep.bak\n");
    for (const name of ["a.tmp", "b.bak", "keep.bak"]) writeFileSync(join(root, name), "");
    expect(await SCANS["list"]!(files, ".")).toBe(".: 0 directories, 2 files\n.gitignore\nkeep.bak");
  });

  it("ends with its signal, and leaves threads for the next", async () => {
    const { files, root } = scratch();
    writeFileSync(join(root, "a.txt"), `${"a".repeat(60)}!`);
    const stop = new AbortController();
    const never = Array.from({ length: 6 }, () =>
      searchText(files, { pattern: "(a+)+$" }, { ...options, signal: stop.signal }),
    );
    const ended = Promise.allSettled(never);
    setTimeout(() => stop.abort(new Error("enough")), 50);
    for (const outcome of await ended) expect(outcome).toMatchObject({ reason: { message: "enough" } });
    expect(await searchText(files, { pattern: "a!" }, options)).toMatchObject({ files: 1 });
  });

  it("does not leave the root while a directory is swapped for a link", { tags: ["long"] }, async () => {
    const { files, root, outside } = scratch();
    mkdirSync(join(root, "folder"));
    const flag = new SharedArrayBuffer(4);
    const swapper = new Worker(
      `const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
       const { flag, root, outside } = require("node:worker_threads").workerData;
       while (Atomics.load(new Int32Array(flag), 0) === 0) {
         try {
           renameSync(root + "/folder", root + "/aside");
           symlinkSync(outside, root + "/folder");
           unlinkSync(root + "/folder");
           renameSync(root + "/aside", root + "/folder");
         } catch {}
       }`,
      { eval: true, workerData: { flag, root, outside } },
    );
    await new Promise((resolve) => swapper.once("online", resolve));
    for (let n = 0; n < 300; n++) {
      for (const path of [".", "folder"]) {
        const found = await searchText(files, { pattern: "secret", path }, options).catch(() => undefined);
        expect(found?.matches ?? []).toEqual([]);
      }
    }
    Atomics.store(new Int32Array(flag), 0, 1);
    await new Promise((resolve) => swapper.once("exit", resolve));
  });
});
