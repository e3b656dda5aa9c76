import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { testVector } from "@selvedge/testing/suites";
import Database from "libsql";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LibSQLVector } from "./libsql-vector.ts";

const indexName = "docs";
const dimension = 8;

// Everything of the contract, with every search through the graph.
testVector("LibSQLVector through its HNSW cache", async () => {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-"));
  const url = `file:${join(folder, "vectors.db")}`;
  const vector = new LibSQLVector({ url, approximateFrom: 0 });
  return {
    vector,
    reopen: async () => new LibSQLVector({ url, approximateFrom: 0 }),
    close: async () => {
      await vector.close();
      await rm(folder, { recursive: true });
    },
  };
});

describe("the HNSW cache", () => {
  let folder: string;
  const open: LibSQLVector[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "selvedge-"));
  });

  afterEach(async () => {
    for (const vector of open.splice(0)) await vector.close();
    await rm(folder, { recursive: true });
  });

  const openVector = (): LibSQLVector => {
    const vector = new LibSQLVector({ url: `file:${join(folder, "v.db")}`, approximateFrom: 1_000 });
    open.push(vector);
    return vector;
  };

  const files = async (): Promise<string[]> =>
    (await readdir(folder)).filter((name) => name.endsWith(".usearch"));

  /** 3,000 entries on a spiral, so that the nearest of any is known. */
  const spiral = (index: number): number[] => {
    const angle = index / 500;
    return [Math.cos(angle), Math.sin(angle), ...Array.from({ length: dimension - 2 }, () => 0.1)];
  };

  const filled = async (): Promise<LibSQLVector> => {
    const vector = openVector();
    await vector.createIndex({ indexName, dimension });
    const vectors = Array.from({ length: 3_000 }, (_, index) => spiral(index));
    await vector.upsert({
      indexName,
      vectors,
      ids: vectors.map((_, index) => `v${index}`),
      metadata: vectors.map((_, index) => ({ odd: index % 2 === 1, index })),
    });
    await vector.buildIndex({ indexName });
    return vector;
  };

  const nearest = async (vector: LibSQLVector, index: number): Promise<string | undefined> =>
    (await vector.query({ indexName, queryVector: spiral(index), topK: 1 }))[0]?.id;

  it("lies beside the database and is used by the next process", async () => {
    const first = await filled();
    expect(await files()).toHaveLength(1);
    await first.close();
    const second = openVector();
    await second.buildIndex({ indexName });
    expect(await nearest(second, 1_234)).toBe("v1234");
    expect(await files()).toHaveLength(1);
  });

  it("knows changes, deletions and new entries at once", async () => {
    const vector = await filled();
    await vector.updateVector({ indexName, id: "v100", update: { vector: spiral(2_900.5) } });
    expect(await nearest(vector, 2_900.5)).toBe("v100");
    await vector.deleteVector({ indexName, id: "v100" });
    expect(await nearest(vector, 100)).not.toBe("v100");
    expect(await nearest(vector, 2_900.5)).not.toBe("v100");
    await vector.upsert({ indexName, vectors: [spiral(100)], ids: ["new"] });
    expect(await nearest(vector, 100)).toBe("new");
  });

  it("knows what another connection changed", async () => {
    const vector = await filled();
    const other = openVector();
    await other.upsert({ indexName, vectors: [spiral(7.5)], ids: ["other"] });
    expect(await nearest(vector, 7.5)).toBe("other");
    await vector.upsert({ indexName, vectors: [spiral(8.5)], ids: ["mine"] });
    await other.buildIndex({ indexName });
    expect(await nearest(other, 8.5)).toBe("mine");
  });

  it("answers in full when a filter or deletions leave little of what it proposes", async () => {
    const vector = await filled();
    const rare = await vector.query({
      indexName,
      queryVector: spiral(0),
      topK: 5,
      filter: { index: { $gte: 2_990 } },
    });
    expect(rare).toHaveLength(5);
    await vector.deleteVectors({ indexName, filter: { index: { $lt: 700 } } });
    const left = await vector.query({ indexName, queryVector: spiral(0), topK: 3 });
    expect(left).toHaveLength(3);
    expect(left.every(({ metadata }) => (metadata!["index"] as number) >= 700)).toBe(true);
  });

  it.each([
    ["is gone", (path: string) => rm(path)],
    ["was cut short", (path: string) => writeFile(path, "")],
    ["was changed", (path: string) => appendFile(path, "x")],
  ])("is made again when its file %s", async (_, damage) => {
    const first = await filled();
    await first.close();
    const [file] = await files();
    await damage(join(folder, file!));
    const second = openVector();
    expect(await nearest(second, 42)).toBe("v42");
    await second.buildIndex({ indexName });
    expect(await nearest(second, 43)).toBe("v43");
    expect(await files()).not.toContain(file);
    expect(await files()).toHaveLength(1);
  });

  it("takes in what happened after its file was saved", async () => {
    const first = await filled();
    await first.close();
    // Without the graph: the file is behind now.
    const plain = new LibSQLVector({ url: `file:${join(folder, "v.db")}`, approximateFrom: false });
    await plain.upsert({ indexName, vectors: [spiral(5.5)], ids: ["later"] });
    await plain.deleteVector({ indexName, id: "v6" });
    await plain.close();
    const second = openVector();
    await second.buildIndex({ indexName });
    expect(await nearest(second, 5.5)).toBe("later");
    expect(await nearest(second, 6)).not.toBe("v6");
  });

  it("goes with its index", async () => {
    const vector = await filled();
    await vector.deleteIndex({ indexName });
    expect(await files()).toEqual([]);
  });

  it("holds while several processes write, search and are killed", { tags: ["long"] }, async () => {
    const vector = await filled();
    const script = fileURLToPath(new URL("__fixtures__/vector-writer.ts", import.meta.url));
    const children = [0, 1, 2].map((number) =>
      spawn(
        process.execPath,
        ["--conditions=selvedge-source", script, join(folder, "v.db"), String(number)],
        { stdio: ["ignore", "pipe", "inherit"] },
      ),
    );
    const exits = children.map((child) => once(child, "exit"));
    // The first writer is killed in the middle; the others finish.
    await once(children[0]!.stdout, "data");
    children[0]!.kill("SIGKILL");
    await Promise.all(exits);
    expect(children.slice(1).map((child) => child.exitCode)).toEqual([0, 0]);
    for (const number of [1, 2]) {
      for (let index = 0; index < 60; index++) {
        const [x, y] = spiral(index * 40);
        const queryVector = [x!, y!, 0, 0, 0, 0, 0, 1 + number];
        const [found] = await vector.query({ indexName, queryVector, topK: 1 });
        expect(found!.id).toBe(`p${number}-${index}`);
      }
    }
    const { count } = await vector.describeIndex({ indexName });
    const database = new Database(join(folder, "v.db"));
    expect(database.prepare("SELECT count(*) AS n FROM selvedge_vectors_1").get()).toMatchObject({
      n: count,
    });
    database.close();
  });
});

describe("files of the first layout", () => {
  it("gain words, keys and counts when they are opened", async () => {
    const folder = await mkdtemp(join(tmpdir(), "selvedge-"));
    const path = join(folder, "v.db");
    const old = new Database(path);
    old.exec(
      "CREATE TABLE selvedge_vector_indexes (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, " +
        "dimension INTEGER NOT NULL, metric TEXT NOT NULL); " +
        "INSERT INTO selvedge_vector_indexes (name, dimension, metric) VALUES ('docs', 2, 'cosine'); " +
        "CREATE TABLE selvedge_vectors_1 (id TEXT PRIMARY KEY, vector F32_BLOB(2) NOT NULL, length REAL NOT NULL, " +
        "metadata TEXT, document TEXT); " +
        "INSERT INTO selvedge_vectors_1 VALUES ('a', vector32('[1, 0]'), 1, '{\"n\":1}', 'a loom'), " +
        "('b', vector32('[0, 1]'), 1, NULL, NULL)",
    );
    old.close();
    const vector = new LibSQLVector({ url: `file:${path}` });
    expect(await vector.describeIndex({ indexName })).toMatchObject({ count: 2 });
    expect(await vector.queryText({ indexName, queryText: "looms" })).toMatchObject([{ id: "a" }]);
    expect(await vector.query({ indexName, queryVector: [0, 1], topK: 1 })).toMatchObject([{ id: "b" }]);
    await vector.upsert({ indexName, vectors: [[1, 1]], ids: ["a"] });
    expect(await vector.describeIndex({ indexName })).toMatchObject({ count: 2 });
    await vector.close();
    await rm(folder, { recursive: true });
  });
});
