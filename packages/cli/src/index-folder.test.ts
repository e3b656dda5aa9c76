import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InMemoryVector, type Embedder } from "@selvedge/core/vector";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { indexFolder, type IndexReport } from "./index-folder.ts";

describe("indexFolder", () => {
  let folder: string;
  let vector: InMemoryVector;
  /** Called for every text that is embedded: the moment in which files change. */
  let onEmbed: (text: string) => Promise<void>;

  beforeEach(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), "selvedge-")));
    await mkdir(join(folder, "docs", "sub"), { recursive: true });
    for (const path of ["a.md", "b.md", "c.md", "sub/d.md"]) await write(path, `text of ${path}`);
    vector = new InMemoryVector();
    onEmbed = async () => {};
  });

  afterEach(() => rm(folder, { recursive: true }));

  const at = (path: string): string => join(folder, "docs", path);
  const write = (path: string, text: string): Promise<void> => writeFile(at(path), text);

  const embedder: Embedder = {
    id: "length",
    dimension: 2,
    embed: async (texts) => {
      for (const text of texts) await onEmbed(text);
      return texts.map((text) => [text.length, 1]);
    },
  };

  const run = (options: { filesAtOnce?: number } = {}): Promise<IndexReport> =>
    indexFolder({
      ...options,
      folder: join(folder, "docs"),
      vector,
      embedder,
      indexName: "docs",
      journalPath: join(folder, "journal"),
      size: 200,
      overlap: 0,
      fresh: false,
      replace: false,
      all: false,
      onProgress: () => {},
    });

  const texts = async (): Promise<string[]> => {
    const found = await vector.query({ indexName: "docs", queryVector: [1, 1], topK: 100 });
    return found.map(({ document }) => document ?? "").toSorted();
  };

  it("goes on when a file or a folder disappears while it reads", async () => {
    await run();
    for (const path of ["a.md", "b.md", "c.md", "sub/d.md"]) await write(path, `new text of ${path}`);
    onEmbed = async (text) => {
      if (!text.endsWith("a.md")) return;
      await rm(at("b.md"));
      await rm(at("sub"), { recursive: true });
    };
    const report = await run();
    expect(report).toMatchObject({ read: 2, removed: 2, passages: 2 });
    expect(report.unreadable.size).toBe(0);
    expect(await texts()).toEqual(["new text of a.md", "new text of c.md"]);
  });

  it("names a file that it cannot read, reads the others, and keeps what it knew of it", async () => {
    await run();
    for (const path of ["a.md", "b.md"]) await write(path, `new text of ${path}`);
    onEmbed = async () => {
      await rename(at("b.md"), at("b.old"));
      await symlink("b.md", at("b.md"));
      onEmbed = async () => {};
    };
    const report = await run();
    expect([...report.unreadable.keys()]).toEqual(["b.md"]);
    expect(report).toMatchObject({ read: 1, unchanged: 2, removed: 0, passages: 4 });
    expect(await texts()).toEqual(["new text of a.md", "text of b.md", "text of c.md", "text of sub/d.md"]);
    await rename(at("b.old"), at("b.md"));
    expect(await run()).toMatchObject({ read: 1, unchanged: 3 });
  });

  it("notices the next time what changed while it read", async () => {
    onEmbed = async (text) => {
      if (text === "text of a.md") await write("a.md", "later text of a.md");
    };
    await run();
    expect(await texts()).toContain("text of a.md");
    expect(await run()).toMatchObject({ read: 1, unchanged: 3 });
    expect(await texts()).toContain("later text of a.md");
  });

  it("does not follow links, which may lead in circles", async () => {
    await symlink("..", at("sub/up"));
    await symlink("sub", at("again"));
    await symlink("a.md", at("alias.md"));
    await symlink("loop.md", at("loop.md"));
    expect(await run()).toMatchObject({ read: 4, passages: 4 });
  });

  it("is whole again after it failed in the middle", async () => {
    onEmbed = async (text) => {
      if (text.endsWith("c.md")) throw new Error("no more");
    };
    await expect(run()).rejects.toThrow("no more");
    onEmbed = async () => {};
    expect(await run()).toMatchObject({ read: 2, unchanged: 2, passages: 4 });
    expect((await texts()).length).toBe(4);
  });

  it("embeds only the passages of a file that changed", async () => {
    const sections = ["warp", "weft", "shuttle", "heddle"].map(
      (name) => `# ${name}\n\n${`${name} `.repeat(20)}`,
    );
    await write("a.md", sections.join("\n\n"));
    await run();
    const before = await vector.query({
      indexName: "docs",
      queryVector: [1, 1],
      topK: 100,
      includeVector: true,
    });
    const embedded: string[] = [];
    onEmbed = async (text) => void embedded.push(text);
    await write(
      "a.md",
      [`# new\n\n${"new ".repeat(30)}`, ...sections.with(1, `# weft\n\n${"other ".repeat(20)}`)].join("\n\n"),
    );
    await run();
    expect(embedded.map((text) => text.split("\n")[0])).toEqual(["# new", "# weft"]);
    const after = await vector.query({
      indexName: "docs",
      queryVector: [1, 1],
      topK: 100,
      includeVector: true,
    });
    const shuttle = (found: typeof after): unknown =>
      found.find(({ document }) => document?.includes("shuttle"));
    expect(shuttle(after)).toMatchObject({ metadata: { path: "a.md", line: 13 } });
    expect(shuttle(after)).toMatchObject({ vector: (shuttle(before) as { vector: number[] }).vector });
  });

  it("reads several files at once, and comes to rest before it fails", async () => {
    for (let index = 0; index < 20; index++) await write(`f${index}.md`, `text of f${index}.md`);
    let under = 0;
    const three = Promise.withResolvers<void>();
    onEmbed = async (text) => {
      if (++under === 3) three.resolve();
      await three.promise;
      under--;
      if (text === "text of f13.md") throw new Error("no more");
    };
    await expect(run({ filesAtOnce: 3 })).rejects.toThrow("no more");
    expect(under).toBe(0);
    onEmbed = async () => {};
    const report = await run({ filesAtOnce: 3 });
    expect(report).toMatchObject({ passages: 24 });
    expect(report.read + report.unchanged).toBe(24);
    expect(report.unchanged).toBeGreaterThan(0);
    expect(new Set(await texts()).size).toBe(24);
  });
});
