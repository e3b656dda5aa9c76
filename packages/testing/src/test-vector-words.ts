import type { Vector, VectorFilter } from "@selvedge/core/vector";
import { expect } from "vitest";
import { indexName, type VectorTest, type VectorTestBody } from "./vector-test.ts";

const TEXTS: Record<string, string> = {
  loom: "A loom holds the warp under tension.",
  warp: "The warp, the warp and once more the warp.",
  weft: "The weft passes over and under.",
  café: "Un café près du métier à tisser.",
  many: `${"The long and the short of it. ".repeat(30)} A loom.`,
};

/** Search by words. Stores without full-text search pass by not having it. */
export function testVectorWords(outer: VectorTest): void {
  const test = (title: string, body: VectorTestBody): void =>
    outer(title, async (vector, harness) => {
      if (!vector.queryText) return;
      await vector.createIndex({ indexName, dimension: 2 });
      await vector.upsert({
        indexName,
        vectors: Object.keys(TEXTS).map(() => [1, 0]),
        ids: Object.keys(TEXTS),
        documents: Object.values(TEXTS),
        metadata: Object.keys(TEXTS).map((id) => ({ id, long: id === "many" })),
      });
      await body(vector, harness);
    });
  const ids = async (vector: Vector, queryText: string, filter?: VectorFilter): Promise<string[]> => {
    const results = await vector.queryText!({ indexName, queryText, ...(filter && { filter }) });
    expect(results.every(({ score }) => score > 0 && score <= 1)).toBe(true);
    expect(results.map(({ score }) => score)).toEqual(
      results.map(({ score }) => score).toSorted((a, b) => b - a),
    );
    return results.map(({ id }) => id);
  };

  test("finds entries that hold any of the words", async (vector) => {
    expect((await ids(vector, "loom weft")).toSorted()).toEqual(["loom", "many", "weft"]);
    expect(await ids(vector, "nothing has zzz")).toEqual([]);
  });

  test("puts first what speaks of the words more", async (vector) => {
    expect(await ids(vector, "warp")).toEqual(["warp", "loom"]);
    expect(await ids(vector, "loom")).toEqual(["loom", "many"]);
  });

  test("counts a word as often as it is asked for", async (vector) => {
    await vector.upsert({
      indexName,
      vectors: [
        [1, 0],
        [1, 0],
      ],
      ids: ["reed", "temple"],
      documents: ["A reed of steel.", "A temple of wood."],
    });
    expect(await ids(vector, "reed, temple, temple")).toEqual(["temple", "reed"]);
    expect(await ids(vector, "reed, temple, reed")).toEqual(["reed", "temple"]);
  });

  test("finds other forms of an English word", async (vector) => {
    expect(await ids(vector, "looms passing")).toEqual(["weft", "loom", "many"]);
  });

  test("does not let words decide that say nothing about a subject", async (vector) => {
    await vector.upsert({
      indexName,
      vectors: [[1, 0]],
      ids: ["talk"],
      documents: ["What is it, how is it, and what should I do with it? What is it for?"],
    });
    expect(await ids(vector, "What should I do with the weft, and how?")).toEqual(["weft"]);
  });

  test("scores by how much of the question an entry holds, whatever the others hold", async (vector) => {
    const scores = async (queryText: string): Promise<number[]> =>
      (await vector.queryText!({ indexName, queryText })).map(({ score }) => score);
    const [whole] = await scores("weft");
    const [half] = await scores("weft zzqqx");
    const [little] = await scores("weft zzqqx zzqqy zzqqz zzqqw");
    expect(half).toBeLessThan(whole! * 0.6);
    expect(little).toBeLessThan(half! * 0.6);
  });

  test("overlooks case and accents", async (vector) => {
    expect(await ids(vector, "CAFE")).toEqual(["café"]);
    expect(await ids(vector, "Café")).toEqual(["café"]);
  });

  test("takes a question for words, whatever signs are in it", async (vector) => {
    const signs = [
      '"loom',
      "loom*",
      "loom AND",
      "-loom",
      "document:loom",
      "(loom",
      "loom')--",
      "loom & !",
      "lo\0",
    ];
    for (const queryText of signs) await ids(vector, queryText);
    expect(await ids(vector, 'What is a "loom"?', { long: false })).toContain("loom");
    for (const queryText of ["", "   ", '"', "?!", "\0"]) expect(await ids(vector, queryText)).toEqual([]);
  });

  test("filters before it takes the best, and gives what was asked for", async (vector) => {
    expect(await ids(vector, "loom", { long: true })).toEqual(["many"]);
    const [first, ...rest] = await vector.queryText!({
      indexName,
      queryText: "loom",
      topK: 1,
      includeVector: true,
    });
    expect(rest).toEqual([]);
    expect(first).toMatchObject({
      id: "loom",
      document: TEXTS.loom,
      metadata: { id: "loom" },
      vector: [1, 0],
    });
    const refused = vector.queryText!({ indexName, queryText: "loom", filter: { id: { $regex: "x" } } });
    await expect(refused).rejects.toMatchObject({ code: "invalid-argument" });
    const missing = vector.queryText!({ indexName: "none", queryText: "loom" });
    await expect(missing).rejects.toMatchObject({ code: "not-found" });
  });

  test("reads metadata.text where there is no document", async (vector) => {
    await vector.upsert({
      indexName,
      vectors: [[1, 0]],
      ids: ["meta"],
      metadata: [{ text: "a shuttle of boxwood" }],
    });
    expect(await ids(vector, "boxwood")).toEqual(["meta"]);
    await vector.updateVector({
      indexName,
      id: "meta",
      update: { metadata: { text: "a shuttle of beech" } },
    });
    expect(await ids(vector, "boxwood")).toEqual([]);
    expect(await ids(vector, "beech")).toEqual(["meta"]);
  });

  test("sees changes at once", async (vector) => {
    expect(await ids(vector, "heddle")).toEqual([]);
    await vector.upsert({ indexName, vectors: [[1, 0]], ids: ["weft"], documents: ["a heddle"] });
    expect(await ids(vector, "heddle")).toEqual(["weft"]);
    expect(await ids(vector, "passes")).toEqual([]);
    await vector.deleteVector({ indexName, id: "weft" });
    await vector.deleteVectors({ indexName, filter: { id: "café" } });
    expect(await ids(vector, "heddle café")).toEqual([]);
    await vector.deleteIndex({ indexName });
    await vector.createIndex({ indexName, dimension: 2 });
    expect(await ids(vector, "loom warp")).toEqual([]);
  });

  test("tells by its revision that an index changed, where it can tell", async (vector) => {
    const revision = async (): Promise<string | undefined> =>
      (await vector.describeIndex({ indexName })).revision;
    const before = await revision();
    if (before === undefined) return;
    expect(await revision()).toBe(before);
    await vector.updateVector({ indexName, id: "loom", update: { vector: [0, 1] } });
    const updated = await revision();
    await vector.deleteVector({ indexName, id: "loom" });
    const deleted = await revision();
    await vector.deleteIndex({ indexName });
    await vector.createIndex({ indexName, dimension: 2 });
    expect(new Set([before, updated, deleted, await revision()]).size).toBe(4);
  });
}
