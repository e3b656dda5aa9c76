import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import type { Tool } from "../tool/tool.ts";
import { type Scratch, scratch } from "./__fixtures__/scratch.ts";
import type { LocalFilesystem } from "./local-filesystem.ts";
import { Workspace } from "./workspace.ts";

/** Every operation on a path. `new` is a name below the path that does not exist. */
const OPERATIONS: Record<string, (files: LocalFilesystem, path: string) => Promise<unknown>> = {
  readFile: (files, path) => files.readFile(path),
  readLines: (files, path) => files.readLines(path, { offset: 1, maxBytes: 100 }),
  writeFile: (files, path) => files.writeFile(path, "changed"),
  appendFile: (files, path) => files.appendFile(path, "changed"),
  deleteFile: (files, path) => files.deleteFile(path),
  "copyFile from": (files, path) => files.copyFile(path, "copy.txt"),
  "copyFile to": (files, path) => files.copyFile("mine.txt", path),
  "moveFile from": (files, path) => files.moveFile(path, "moved.txt"),
  "moveFile to": (files, path) => files.moveFile("mine.txt", path),
  mkdir: (files, path) => files.mkdir(path),
  rmdir: (files, path) => files.rmdir(path, { recursive: true }),
  readdir: (files, path) => files.readdir(path, { recursive: true }),
  exists: (files, path) => files.exists(path),
  stat: (files, path) => files.stat(path),
  realpath: (files, path) => files.realpath(path),
};

/** Runs every operation on fresh trees and checks that the directory outside is untouched and unread. */
async function attack(
  path: string | ((scene: Scratch) => string),
  plant: (scene: Scratch) => void = () => {},
) {
  const outcomes: Record<string, unknown> = {};
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    const scene = scratch();
    writeFileSync(join(scene.root, "mine.txt"), "mine");
    plant(scene);
    const given = typeof path === "string" ? path : path(scene);
    const outcome = await operation(scene.files, given).then(
      (value) => ({ value: Buffer.isBuffer(value) ? value.toString() : value }),
      (error: Error) => ({ error }),
    );
    outcomes[name] = outcome;
    expect(readdirSync(scene.outside), name).toEqual(["secret.txt"]);
    expect(readFileSync(join(scene.outside, "secret.txt"), "utf8"), name).toBe("secret");
    expect(JSON.stringify("value" in outcome ? (outcome.value ?? null) : null), name).not.toContain("secret");
    if ("error" in outcome && !given.includes("outside"))
      expect(outcome.error.message).not.toContain(scene.outside);
    for (const left of ["copy.txt", "moved.txt"]) {
      const there = join(scene.root, left);
      if (existsSync(there) && lstatSync(there).isFile())
        expect(readFileSync(there, "utf8"), name).not.toBe("secret");
    }
  }
  return outcomes;
}

describe("containment", () => {
  it.each([
    "../outside/secret.txt",
    "a/../../outside/secret.txt",
    "./../outside",
    "..",
    "a/b/../../../outside",
  ])("refuses %s in every operation", async (path) => {
    const outcomes = await attack(path);
    for (const [name, outcome] of Object.entries(outcomes)) {
      expect(outcome, name).toMatchObject({ error: { code: "forbidden" } });
    }
  });

  it("takes an absolute path for one below the root", async () => {
    await attack(({ outside }) => join(outside, "secret.txt"));
    await attack("/etc/passwd");
    const { files, root } = scratch();
    await files.writeFile("/etc/passwd", "mine");
    expect(readFileSync(join(root, "etc/passwd"), "utf8")).toBe("mine");
    expect(await files.readFile(join(root, "etc/passwd"), { encoding: "utf8" })).toBe("mine");
  });

  it("takes ~ and encoded separators for names", async () => {
    for (const path of [
      "~",
      "~/x",
      "~root/x",
      "%2e%2e/outside",
      "..%2foutside",
      "..\\outside\\x",
      "%2e%2e%2f",
    ]) {
      await attack(path);
    }
  });

  it("refuses NUL, empty paths, and names and paths that are too long", async () => {
    for (const path of ["a\0b", "", "x".repeat(256), "é".repeat(128), "d/".repeat(2049)]) {
      const outcomes = await attack(path);
      for (const [name, outcome] of Object.entries(outcomes)) {
        expect(outcome, `${name} of ${path.slice(0, 20)}`).toHaveProperty("error.code");
      }
    }
    const { files } = scratch();
    await files.writeFile("x".repeat(255), "fits");
    expect(await files.readFile("x".repeat(255), { encoding: "utf8" })).toBe("fits");
  });

  it("refuses links to files and directories outside, absolute and relative, chained and dangling", async () => {
    const links: Record<string, (scene: Scratch) => void> = {
      "to a file": ({ root, outside }) => symlinkSync(join(outside, "secret.txt"), join(root, "link")),
      "to a directory": ({ root, outside }) => symlinkSync(outside, join(root, "link")),
      relative: ({ root }) => symlinkSync("../outside", join(root, "link")),
      "relative through a directory": ({ root }) => {
        mkdirSync(join(root, "a"));
        symlinkSync("a/../../outside/secret.txt", join(root, "link"));
      },
      chained: ({ root, outside }) => {
        symlinkSync(outside, join(root, "second"));
        symlinkSync("second", join(root, "link"));
      },
      dangling: ({ root, outside }) => symlinkSync(join(outside, "new.txt"), join(root, "link")),
      looping: ({ root }) => {
        symlinkSync("other", join(root, "link"));
        symlinkSync("link", join(root, "other"));
      },
      "to the root's parent": ({ root }) => symlinkSync("..", join(root, "link")),
    };
    for (const plant of Object.values(links)) {
      await attack("link", plant);
      await attack("link/secret.txt", plant);
      await attack("link/new.txt", plant);
      await attack("link/deep/er/new.txt", plant);
    }
  });

  it("follows links that stay inside", async () => {
    const { files, root } = scratch();
    mkdirSync(join(root, "real/deep"), { recursive: true });
    writeFileSync(join(root, "real/deep/file.txt"), "inside");
    symlinkSync("real", join(root, "link"));
    symlinkSync("../real/deep/../deep", join(root, "real/again"));
    symlinkSync(join(root, "real"), join(root, "absolute"));
    for (const path of [
      "link/deep/file.txt",
      "real/again/file.txt",
      "absolute/deep/file.txt",
      "link/again/file.txt",
    ]) {
      expect(await files.readFile(path, { encoding: "utf8" }), path).toBe("inside");
      expect(await files.realpath(path), path).toBe(join(root, "real/deep/file.txt"));
    }
    await files.writeFile("link/new.txt", "through a link");
    expect(readFileSync(join(root, "real/new.txt"), "utf8")).toBe("through a link");
  });

  it("deletes a link and not what it leads to", async () => {
    const { files, root, outside } = scratch();
    symlinkSync(outside, join(root, "link"));
    mkdirSync(join(root, "folder"));
    symlinkSync(outside, join(root, "folder/link"));
    await files.deleteFile("link");
    await files.rmdir("folder", { recursive: true });
    expect(readdirSync(root)).toEqual([]);
    expect(readdirSync(outside)).toEqual(["secret.txt"]);
  });

  it("checks links below an allowed path, too", async () => {
    const { root, outside } = scratch();
    const other = scratch();
    symlinkSync(outside, join(other.root, "link"));
    other.files.setAllowedPaths([]);
    const { files } = scratch({ allowedPaths: [other.root] });
    writeFileSync(join(other.root, "shared.txt"), "shared");
    expect(await files.readFile(join(other.root, "shared.txt"), { encoding: "utf8" })).toBe("shared");
    await expect(files.readFile(join(other.root, "link/secret.txt"))).rejects.toThrow(
      "leads out of the workspace",
    );
    await expect(files.writeFile(join(other.root, "link/new.txt"), "x")).rejects.toThrow(
      "leads out of the workspace",
    );
    expect(readdirSync(outside)).toEqual(["secret.txt"]);
    expect(readdirSync(root)).toEqual([]);
  });

  it("never writes through a hard link, and can refuse to read one", async () => {
    const { files, root, outside } = scratch();
    linkSync(join(outside, "secret.txt"), join(root, "hard"));
    await files.writeFile("hard", "changed");
    await files.appendFile("hard", "!");
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret");
    expect(readFileSync(join(root, "hard"), "utf8")).toBe("changed!");
    const strict = scratch({ hardLinks: "refuse" });
    linkSync(join(strict.outside, "secret.txt"), join(strict.root, "hard"));
    await expect(strict.files.readFile("hard")).rejects.toThrow("hard link");
  });

  it("refuses FIFOs, sockets and devices without blocking", async () => {
    const { files, root } = scratch();
    execFileSync("mkfifo", [join(root, "fifo")]);
    const server = createServer().listen(join(root, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    try {
      for (const path of ["fifo", "socket"]) {
        await expect(files.readFile(path), path).rejects.toMatchObject({ code: "forbidden" });
        await expect(files.writeFile(path, "x"), path).rejects.toMatchObject({ code: "forbidden" });
        await expect(files.appendFile(path, "x"), path).rejects.toMatchObject({ code: "forbidden" });
        await expect(files.copyFile(path, "copy"), path).rejects.toMatchObject({ code: "forbidden" });
      }
    } finally {
      server.close();
    }
    const devices = scratch({ contained: false });
    await expect(devices.files.readFile("/dev/zero")).rejects.toMatchObject({ code: "forbidden" });
    await expect(devices.files.readFile("/proc/self/environ")).rejects.toMatchObject({ code: "forbidden" });
    await expect(devices.files.readdir("/sys")).rejects.toMatchObject({ code: "forbidden" });
  });

  it("refuses to read a huge sparse file whole, without using memory for it", async () => {
    const { files, root } = scratch();
    writeFileSync(join(root, "sparse"), "");
    truncateSync(join(root, "sparse"), 10 * 2 ** 30);
    const before = process.memoryUsage().rss;
    await expect(files.readFile("sparse")).rejects.toMatchObject({ code: "limit-exceeded" });
    await expect(files.copyFile("sparse", "copy")).rejects.toMatchObject({ code: "limit-exceeded" });
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 2 ** 20);
  });

  it(
    "says that a folder has too many entries, and works on the files in it",
    { tags: ["long"] },
    async () => {
      const { files, root } = scratch();
      mkdirSync(join(root, "many"));
      writeFileSync(join(root, "many/0"), "needle");
      for (let index = 1; index <= 100_000; index++) closeSync(openSync(join(root, "many", `${index}`), "w"));
      await expect(files.readdir("many")).rejects.toMatchObject({ code: "limit-exceeded" });
      const tools = (await new Workspace({ filesystem: files }).tools()) as Record<string, Tool>;
      const call = (name: string, context: object) =>
        tools[`mastra_workspace_${name}`]!.execute({ context: { path: "many", ...context } });
      await expect(call("list_files", {})).rejects.toMatchObject({ code: "limit-exceeded" });
      await expect(call("grep", { pattern: "needle" })).rejects.toMatchObject({ code: "limit-exceeded" });
      await files.writeFile("many/100000", "new");
      expect(await files.readFile("many/100000", { encoding: "utf8" })).toBe("new");
      await files.rmdir("many", { recursive: true });
      expect(existsSync(join(root, "many"))).toBe(false);
    },
  );

  it("never deletes or moves its root", async () => {
    const { files, root } = scratch();
    for (const path of [".", "/", "a/..", root]) {
      await expect(files.rmdir(path, { recursive: true }), path).rejects.toMatchObject({ code: "forbidden" });
      await expect(files.deleteFile(path), path).rejects.toMatchObject({ code: "forbidden" });
      await expect(files.moveFile(path, "elsewhere"), path).rejects.toMatchObject({ code: "forbidden" });
    }
    expect(existsSync(root)).toBe(true);
  });

  it("tells names apart that differ in case or in Unicode form, and hints at the latter", async () => {
    const { files } = scratch();
    await files.writeFile("A.ts", "upper");
    await files.writeFile("a.ts", "lower");
    await files.writeFile("caf\u00e9.txt", "composed");
    expect(await files.readFile("A.ts", { encoding: "utf8" })).toBe("upper");
    await expect(files.readFile("cafe\u0301.txt")).rejects.toThrow("another Unicode form (NFC)");
  });

  it("loses nothing of what several append at once", async () => {
    const { files } = scratch();
    await Promise.all("abcdef".split("").map((text) => files.appendFile("log", text)));
    const log = (await files.readFile("log", { encoding: "utf8" })) as string;
    expect(log.split("").toSorted()).toEqual("abcdef".split(""));
  });

  it("keeps mode bits, and leaves no temporary files behind when a write fails", async () => {
    const { files, root } = scratch();
    writeFileSync(join(root, "tool.sh"), "#!/bin/sh", { mode: 0o755 });
    await files.writeFile("tool.sh", "#!/bin/sh\n");
    expect(statSync(join(root, "tool.sh")).mode & 0o777).toBe(0o755);
    mkdirSync(join(root, "folder"));
    await expect(files.writeFile("folder", "x")).rejects.toMatchObject({ name: "IsDirectoryError" });
    await expect(files.writeFile("tool.sh", "x", { overwrite: false })).rejects.toMatchObject({
      name: "FileExistsError",
    });
    await expect(files.writeFile("tool.sh", "x", { expectedHash: null })).rejects.toMatchObject({
      name: "StaleFileError",
    });
    expect(readdirSync(root).toSorted()).toEqual(["folder", "tool.sh"]);
  });
});

describe("a directory that is swapped for a link during the call", () => {
  const SWAPPER = `
    const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
    const { workerData } = require("node:worker_threads");
    const { flag, root, outside } = workerData;
    const shared = new Int32Array(flag);
    while (Atomics.load(shared, 0) === 0) {
      try {
        renameSync(root + "/folder", root + "/aside");
        symlinkSync(outside, root + "/folder");
        unlinkSync(root + "/folder");
        renameSync(root + "/aside", root + "/folder");
      } catch {}
    }`;

  const OPERATED = [
    ["read", (files: LocalFilesystem) => files.readFile("folder/secret.txt", { encoding: "utf8" })],
    [
      "write",
      (files: LocalFilesystem, n: number) =>
        files.writeFile(`folder/new-${n % 10}.txt`, "x", { recursive: false }),
    ],
    [
      "mkdir",
      (files: LocalFilesystem, n: number) => files.mkdir(`folder/dir-${n % 10}`, { recursive: false }),
    ],
    ["move", (files: LocalFilesystem, n: number) => files.moveFile("mine.txt", `folder/moved-${n % 10}.txt`)],
    ["delete", (files: LocalFilesystem) => files.deleteFile("folder/secret.txt")],
  ] as const;

  it.each(OPERATED)("does not let %s leave the root", async (_, operation) => {
    await swapDuring(operation, 300);
  });

  it.each(OPERATED)(
    "does not let %s leave the root in 10,000 tries",
    { tags: ["long"] },
    async (_, operation) => {
      await swapDuring(operation, 10_000);
    },
  );

  async function swapDuring(
    operation: (files: LocalFilesystem, n: number) => Promise<unknown>,
    rounds: number,
  ): Promise<void> {
    const { files, root, outside } = scratch();
    mkdirSync(join(root, "folder"));
    writeFileSync(join(root, "mine.txt"), "mine");
    const flag = new SharedArrayBuffer(4);
    const worker = new Worker(SWAPPER, { eval: true, workerData: { flag, root, outside } });
    await new Promise((resolve) => worker.once("online", resolve));
    for (let n = 0; n < rounds; n++) {
      const outcome = await operation(files, n).catch((error: Error) => error);
      expect(outcome).not.toBe("secret");
      if (!existsSync(join(root, "mine.txt"))) writeFileSync(join(root, "mine.txt"), "mine");
    }
    Atomics.store(new Int32Array(flag), 0, 1);
    await new Promise((resolve) => worker.once("exit", resolve));
    expect(readdirSync(outside)).toEqual(["secret.txt"]);
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret");
  }
});
