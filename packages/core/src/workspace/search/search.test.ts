import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import type { Tool } from "../../tool/tool.ts";
import { RequestContext } from "../../request-context/request-context.ts";
import { InMemoryVector } from "../../vector/in-memory-vector.ts";
import { scratch } from "../__fixtures__/scratch.ts";
import { Workspace, type WorkspaceOptions } from "../workspace.ts";

function scene(tree: Record<string, string | Uint8Array>, options: Partial<WorkspaceOptions> = {}) {
  const { files, root, outside } = scratch();
  const write = (path: string, text: string | Uint8Array): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const [path, text] of Object.entries(tree)) write(path, text);
  const workspace = new Workspace({
    id: "w",
    filesystem: files,
    bm25: true,
    autoIndexPaths: ["."],
    ...options,
  });
  const found = async (query: string, more = {}): Promise<string[]> =>
    (await workspace.search(query, more)).map(({ id }) => id);
  const call = async (tool: string, input: object): Promise<string> => {
    const tools = (await workspace.tools()) as Record<string, Tool>;
    const writer = { custom: async () => {} };
    return (await tools[`mastra_workspace_${tool}`]!.execute({ context: input }, {
      writer,
    } as never)) as string;
  };
  return { workspace, root, outside, write, found, call, files };
}

/** Meaning for tests: one number per topic. */
const embed = (text: string): number[] =>
  [/cat|kitten/, /loom|weav/, /rain|cloud/].map((topic) => (topic.test(text.toLowerCase()) ? 1 : 0.01));

describe("search by words", () => {
  it("finds passages with their lines, in indexed files and in added texts", async () => {
    const filler = Array.from({ length: 500 }, (_, line) => `line ${line}`);
    filler[420] = "here the shuttle is mentioned";
    const { workspace } = scene({
      "long.txt": filler.join("\n"),
      "src/a.ts": "function parseShuttleConfig() {}",
    });
    await workspace.index("notes/today", "The shuttle broke.", { metadata: { kind: "note" } });
    const results = await workspace.search("shuttle");
    expect(results.map(({ id }) => id).toSorted()).toEqual(["long.txt", "notes/today", "src/a.ts"]);
    const long = results.find(({ id }) => id === "long.txt")!;
    expect(long.lineRange).toEqual({ start: 401, end: 500 });
    expect(long.content).toContain("here the shuttle");
    expect(long.scoreDetails?.bm25).toBe(long.score);
    expect(await workspace.search("shuttle", { filter: { kind: "note" } })).toMatchObject([
      { id: "notes/today", metadata: { kind: "note" } },
    ]);
    expect(await workspace.search("shuttle", { topK: 1 })).toHaveLength(1);
    expect(await workspace.search("shuttle", { minScore: 1.1 })).toEqual([]);
  });

  it("leaves out ignored, hidden, binary, large and sensitive files, and links that lead outside", async () => {
    const { found, root, outside } = scene({
      ".gitignore": "dist",
      "dist/a.js": "secret",
      ".hidden/a.txt": "secret",
      "key.pem": "secret",
      "sub/.env": "secret",
      binary: new Uint8Array([0, ...Buffer.from("secret")]),
      "big.txt": `secret ${"x".repeat(1024 * 1024)}`,
      "a.txt": "secret",
    });
    symlinkSync(join(outside, "secret.txt"), join(root, "link.txt"));
    symlinkSync(outside, join(root, "folder"));
    expect(await found("secret")).toEqual(["a.txt"]);
  });

  it("indexes only the paths and globs that are named", async () => {
    const tree = { "docs/a.md": "loom", "docs/b.txt": "loom", "src/a.ts": "loom", "one.txt": "loom" };
    const { found } = scene(tree, { autoIndexPaths: ["docs/**/*.md", "one.txt", "missing"] });
    expect((await found("loom")).toSorted()).toEqual(["docs/a.md", "one.txt"]);
  });

  it("notices what its own tools change at once", async () => {
    const { found, call } = scene({ "a.txt": "warp", "b.txt": "other" });
    expect(await found("warp")).toEqual(["a.txt"]);
    await call("edit_file", { path: "./a.txt", old_string: "warp", new_string: "weft" });
    expect(await found("warp")).toEqual([]);
    expect(await found("weft")).toEqual(["a.txt"]);
    await call("write_file", { path: "new/c.txt", content: "weft weft" });
    expect((await found("weft")).toSorted()).toEqual(["a.txt", "new/c.txt"]);
    await call("delete", { path: "new", recursive: true });
    await call("delete", { path: "a.txt" });
    expect(await found("weft")).toEqual([]);
  });

  it("notices other changes by size and time, at most every 30 seconds", async () => {
    const system = virtualSystem();
    const { found, write, root } = scene({ "a.txt": "warp", "b.txt": "warp" }, { system });
    expect((await found("warp")).toSorted()).toEqual(["a.txt", "b.txt"]);
    write("a.txt", "weft");
    utimesSync(join(root, "a.txt"), 1, 1);
    rmSync(join(root, "b.txt"));
    write("c.txt", "weft");
    expect(await found("weft")).toEqual([]);
    await system.advance(30_000);
    expect((await found("weft")).toSorted()).toEqual(["a.txt", "c.txt"]);
    expect(await found("warp")).toEqual([]);
  });

  it("forgets a document that is removed, and refuses too large ones", async () => {
    const { workspace, found } = scene({}, { autoIndexPaths: [] });
    await workspace.index("note", "loom");
    expect(await found("loom")).toEqual(["note"]);
    await workspace.removeFromIndex("./note");
    expect(await found("loom")).toEqual([]);
    await expect(workspace.index("big", "x".repeat(1024 * 1024 + 1))).rejects.toThrow("1,048,576 bytes");
    await expect(workspace.index("../x", "loom")).rejects.toThrow("leaves the workspace");
    await expect(workspace.search(" ")).rejects.toThrow("query must be");
    await expect(workspace.search("x", { topK: 0 })).rejects.toThrow("topK must be");
  });

  it("keeps the indexes of two tenants apart", async () => {
    const tenants = { a: scratch(), b: scratch() };
    writeFileSync(join(tenants.a.root, "a.txt"), "loom of a");
    writeFileSync(join(tenants.b.root, "b.txt"), "loom of b");
    const workspace = new Workspace({
      filesystem: ({ requestContext }) => tenants[requestContext.get("tenant") as "a" | "b"].files,
      bm25: true,
      autoIndexPaths: ["."],
    });
    for (const tenant of ["a", "b"]) {
      const requestContext = new RequestContext([["tenant", tenant]]);
      await workspace.index(`note-${tenant}`, "loom", { requestContext });
      const found = await workspace.search("loom", { requestContext });
      expect(found.map(({ id }) => id).toSorted()).toEqual([`${tenant}.txt`, `note-${tenant}`]);
    }
    expect(
      () =>
        new Workspace({
          filesystem: () => tenants.a.files,
          vectorStore: new InMemoryVector(),
          embedder: embed,
        }),
    ).toThrow("tenants would share");
  });
});

describe("search by vectors", () => {
  it("finds by meaning, and by words and meaning with weights", async () => {
    const { workspace, found } = scene(
      { "a.txt": "A kitten sleeps.", "b.txt": "The loom is old.", "c.txt": "cat cat cat loom" },
      { vectorStore: new InMemoryVector(), embedder: embed },
    );
    expect(workspace.canHybrid).toBe(true);
    expect(await found("cat", { mode: "vector", topK: 1 })).toEqual(["a.txt"]);
    expect(await found("cat", { mode: "bm25" })).toEqual(["c.txt"]);
    const hybrid = await workspace.search("cat", { vectorWeight: 0.9 });
    expect(hybrid[0]).toMatchObject({ id: "a.txt", scoreDetails: { vector: expect.closeTo(1) } });
    expect((await workspace.search("cat", { vectorWeight: 0.1 }))[0]).toMatchObject({
      id: "c.txt",
      scoreDetails: { bm25: expect.any(Number), vector: expect.any(Number) },
    });
    await expect(workspace.search("cat", { vectorWeight: 2 })).rejects.toThrow("vectorWeight must be");
  });

  it("embeds in batches of 256 and at most 8 at once, or one by one", async () => {
    const sizes: number[] = [];
    let running = 0;
    let most = 0;
    const batched = Object.assign(
      async (texts: string[]) => {
        most = Math.max(most, ++running);
        sizes.push(texts.length);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        return texts.map(embed);
      },
      { batch: true as const, maxBatchSize: 4 },
    );
    const tree = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`${n}.txt`, `cat ${n}`]));
    const { workspace } = scene(tree, { bm25: false, vectorStore: new InMemoryVector(), embedder: batched });
    await workspace.init();
    expect(sizes).toEqual(Array.from({ length: 15 }, () => 4));
    expect(most).toBe(8);
    expect(await workspace.search("cat", { topK: 100 })).toHaveLength(60);
  });

  it("replaces and removes the vectors of a file", async () => {
    const vectorStore = new InMemoryVector();
    const { workspace, call } = scene(
      { "a.txt": "cat" },
      { vectorStore, embedder: embed, bm25: false, searchIndexName: "mine" },
    );
    await workspace.init();
    await call("write_file", { path: "a.txt", content: "rain" });
    expect((await vectorStore.describeIndex({ indexName: "mine" })).count).toBe(1);
    expect((await workspace.search("cloud"))[0]).toMatchObject({ id: "a.txt", content: "rain" });
    await call("delete", { path: "a.txt" });
    expect((await vectorStore.describeIndex({ indexName: "mine" })).count).toBe(0);
  });
});

describe("the tools search and index", () => {
  it("show excerpts with lines, fall back to the mode there is, and exist only with an index", async () => {
    const text = Array.from({ length: 100 }, (_, line) => (line === 50 ? "the treadle squeaks" : "nothing"));
    const { call, workspace } = scene({ "a.txt": text.join("\n") });
    const shown = await call("search", { query: "treadle", mode: "hybrid" });
    expect(shown).toMatch(/^1 result \(bm25\)\n\na\.txt:\d+-\d+:\n/);
    expect(shown).toContain("the treadle squeaks");
    expect(shown.split("\n").length).toBeLessThan(20);
    await call("index", { path: "memo", content: "treadle", metadata: { by: "me" } });
    expect(await call("search", { query: "treadle" })).toContain("memo:1-1:");
    await expect(workspace.search("x", { mode: "vector" })).rejects.toMatchObject({
      name: "SearchNotAvailableError",
    });
    const plain = new Workspace({ filesystem: scratch().files });
    expect(Object.keys(await plain.tools())).not.toContain("mastra_workspace_search");
    await expect(plain.search("x")).rejects.toThrow("no search index");
    const readOnly = new Workspace({ filesystem: scratch({ readOnly: true }).files, bm25: true });
    expect(Object.keys(await readOnly.tools())).not.toContain("mastra_workspace_index");
  });

  it("refuses half a configuration", () => {
    const { files } = scratch();
    expect(() => new Workspace({ filesystem: files, embedder: embed })).toThrow(
      "both vectorStore and embedder",
    );
    expect(() => new Workspace({ filesystem: files, autoIndexPaths: ["."] })).toThrow("needs bm25");
    expect(() => new Workspace({ filesystem: files, bm25: true, searchIndexName: "a-b" })).toThrow(
      "searchIndexName",
    );
  });
});
