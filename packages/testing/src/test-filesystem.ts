import { createHash } from "node:crypto";
import type { WorkspaceFilesystem } from "@selvedge/core/workspace";
import { describe, expect, it } from "vitest";

/** An empty directory to work in, on the filesystem that is tested. */
export interface FilesystemHarness {
  files: WorkspaceFilesystem;
  /** The path of the directory. Default: the root. */
  at?: string;
}

/** What every `WorkspaceFilesystem` promises. */
export function testFilesystem(
  name: string,
  open: () => FilesystemHarness | Promise<FilesystemHarness>,
): void {
  describe(name, () => {
    async function scene() {
      const { files, at = "." } = await open();
      const path = (below: string): string => (at === "." ? below : `${at}/${below}`);
      const read = (below: string) => files.readFile(path(below), { encoding: "utf8" });
      return { files, path, read, root: at };
    }
    const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
    const code = (wanted: string) => expect.objectContaining({ name: expect.any(String), code: wanted });

    it("writes, reads and replaces files, and creates their directories", async () => {
      const { files, path, read } = await scene();
      await files.writeFile(path("a/b/c.txt"), "text");
      expect(await read("a/b/c.txt")).toBe("text");
      expect(await files.readFile(path("a/b/c.txt"))).toEqual(Buffer.from("text"));
      await files.writeFile(path("a/b/c.txt"), new Uint8Array([0, 255, 10]));
      expect([...((await files.readFile(path("a/b/c.txt"))) as Buffer)]).toEqual([0, 255, 10]);
      await files.appendFile(path("log"), "one");
      await files.appendFile(path("log"), "two");
      expect(await read("log")).toBe("onetwo");
    });

    it("refuses to overwrite, to write without a directory, and to write over a directory", async () => {
      const { files, path, read } = await scene();
      await files.writeFile(path("a"), "first");
      await expect(files.writeFile(path("a"), "x", { overwrite: false })).rejects.toEqual(code("conflict"));
      await expect(files.writeFile(path("no/b"), "x", { recursive: false })).rejects.toEqual(
        code("not-found"),
      );
      await files.mkdir(path("d"));
      await expect(files.writeFile(path("d"), "x")).rejects.toEqual(code("invalid-argument"));
      await expect(files.writeFile(path("a/b"), "x")).rejects.toEqual(code("invalid-argument"));
      expect(await read("a")).toBe("first");
    });

    it("writes and deletes only what is as expected", async () => {
      const { files, path, read } = await scene();
      await files.writeFile(path("a"), "one", { expectedHash: null });
      await expect(files.writeFile(path("a"), "x", { expectedHash: null })).rejects.toEqual(code("conflict"));
      await expect(files.writeFile(path("a"), "x", { expectedHash: hashOf("other") })).rejects.toEqual(
        code("conflict"),
      );
      await files.writeFile(path("a"), "two", { expectedHash: hashOf("one") });
      const wrong = new Date(1);
      await expect(files.writeFile(path("a"), "x", { expectedMtime: new Date(wrong) })).rejects.toEqual(
        code("conflict"),
      );
      const { modifiedAt } = await files.stat(path("a"));
      await files.writeFile(path("a"), "three", { expectedMtime: modifiedAt });
      await expect(files.deleteFile(path("a"), { expectedHash: hashOf("two") })).rejects.toEqual(
        code("conflict"),
      );
      expect(await read("a")).toBe("three");
      await files.deleteFile(path("a"), { expectedHash: hashOf("three") });
      expect(await files.exists(path("a"))).toBe(false);
    });

    it("deletes files and directories, and says what is missing", async () => {
      const { files, path } = await scene();
      await files.writeFile(path("d/a"), "a");
      await expect(files.deleteFile(path("d"))).rejects.toEqual(code("invalid-argument"));
      await expect(files.rmdir(path("d/a"))).rejects.toEqual(code("invalid-argument"));
      await expect(files.rmdir(path("d"))).rejects.toEqual(code("conflict"));
      await files.rmdir(path("d"), { recursive: true });
      expect(await files.exists(path("d/a"))).toBe(false);
      for (const missing of [
        files.deleteFile(path("d")),
        files.rmdir(path("d")),
        files.readFile(path("d")),
        files.stat(path("d")),
        files.readdir(path("d")),
        files.moveFile(path("d"), path("e")),
      ])
        await expect(missing).rejects.toEqual(code("not-found"));
      await files.deleteFile(path("d"), { force: true });
      await files.rmdir(path("d"), { force: true });
    });

    it("copies and moves files and directories", async () => {
      const { files, path, read } = await scene();
      await files.writeFile(path("a"), "a");
      await files.writeFile(path("d/b"), "b");
      await files.copyFile(path("a"), path("copy/a"));
      await files.moveFile(path("a"), path("moved/a"));
      await files.moveFile(path("d"), path("e"));
      expect([await read("copy/a"), await read("moved/a"), await read("e/b")]).toEqual(["a", "a", "b"]);
      expect([await files.exists(path("a")), await files.exists(path("d"))]).toEqual([false, false]);
      const no = { overwrite: false };
      await expect(files.copyFile(path("copy/a"), path("e/b"), no)).rejects.toEqual(code("conflict"));
      await expect(files.moveFile(path("copy/a"), path("e/b"), no)).rejects.toEqual(code("conflict"));
      expect(await read("e/b")).toBe("b");
    });

    it("lists directories by name, depth and extension", async () => {
      const { files, path, root } = await scene();
      for (const name of ["b.ts", "a.md", "d/c.ts", "d/e/f.ts"]) await files.writeFile(path(name), "1234");
      expect(await files.readdir(root)).toEqual([
        { name: "a.md", type: "file", size: 4 },
        { name: "b.ts", type: "file", size: 4 },
        { name: "d", type: "directory" },
      ]);
      const names = async (options: object) =>
        (await files.readdir(root, options)).map((entry) => entry.name).toSorted();
      expect(await names({ recursive: true })).toEqual(["a.md", "b.ts", "d", "d/c.ts", "d/e", "d/e/f.ts"]);
      expect(await names({ recursive: true, maxDepth: 2 })).toEqual(["a.md", "b.ts", "d", "d/c.ts", "d/e"]);
      expect(await names({ recursive: true, extension: ".ts" })).toEqual(["b.ts", "d/c.ts", "d/e/f.ts"]);
      await expect(files.readdir(path("a.md"))).rejects.toEqual(code("invalid-argument"));
    });

    it("describes entries, and tells an entry from a later one with its name", async () => {
      const { files, path } = await scene();
      await files.writeFile(path("a.txt"), "1234");
      await files.mkdir(path("d/e"));
      await files.mkdir(path("d/e"));
      expect(await files.stat(path("a.txt"))).toMatchObject({ name: "a.txt", type: "file", size: 4 });
      const first = await files.stat(path("d"));
      expect(first).toMatchObject({ name: "d", type: "directory" });
      expect(first.modifiedAt).toBeInstanceOf(Date);
      await expect(files.mkdir(path("x/y"), { recursive: false })).rejects.toEqual(code("not-found"));
      await files.rmdir(path("d"), { recursive: true });
      await files.mkdir(path("d"));
      if (first.id !== undefined) expect((await files.stat(path("d"))).id).not.toBe(first.id);
    });

    it("stays below its root", async () => {
      const { files } = await scene();
      for (const attempt of [
        files.readFile("../x"),
        files.writeFile("../x", "x"),
        files.mkdir("a/../../x"),
        files.readdir(".."),
        files.deleteFile("../x"),
        files.stat("../x"),
      ])
        await expect(attempt).rejects.toEqual(code("forbidden"));
      await expect(files.rmdir(".", { recursive: true })).rejects.toEqual(code("forbidden"));
    });
  });
}
