import { InMemoryVector, type Vector } from "@selvedge/core/vector";
import { describe, expect, it } from "vitest";
import { LibSQLVector } from "./libsql-vector.ts";

const indexName = "texts";

async function fill(texts: readonly string[]): Promise<[Vector, LibSQLVector]> {
  const stores: [Vector, LibSQLVector] = [new InMemoryVector(), new LibSQLVector({ url: ":memory:" })];
  for (const store of stores) {
    await store.createIndex({ indexName, dimension: 1 });
    await store.upsert({
      indexName,
      vectors: texts.map(() => [1]),
      ids: texts.map((_, index) => String(index).padStart(5, "0")),
      documents: [...texts],
    });
  }
  return stores;
}

async function scoresOf(store: Vector, queryText: string): Promise<[string, number][]> {
  const results = await store.queryText!({ indexName, queryText, topK: 10_000 });
  return results.map(({ id, score }) => [id, Number(score.toPrecision(9))]);
}

const ROOTS =
  "weav loom happ relat hop fil conflat vibr trad oper feud rati just compil rol y cr agre s".split(" ");
const ENDINGS = (
  "- s es ies ed eed ied ing y e er ational tional ation ator izer ize ization logi bly ally ently ely ously alism iveness " +
  "fulness ousness ality ivity bility icate ative alize icity ical ful ness al ance ence ic able ible ant ement ment ent ion " +
  "sion tion ou ism ate ity ous ive ll lling ssed zzing"
).split(" ");
const WORDS = ROOTS.flatMap((root) => ENDINGS.map((ending) => root + ending.replace("-", "")));

describe("search by words", () => {
  it("cuts words to the same stems in a file and in memory", async () => {
    const [memory, file] = await fill(WORDS);
    // Which entries share a stem is all that scores of single words can say, and all that matters.
    for (const word of WORDS) expect(await scoresOf(file, word)).toEqual(await scoresOf(memory, word));
  });

  it("scores the same in a file and in memory, also words that stand nearly everywhere and words that are nowhere", async () => {
    const texts = Array.from({ length: 40 }, (_, index) =>
      [
        index > 4 ? "A common loom. " : "",
        "Warps ".repeat(index % 7),
        index % 5 === 0 ? `weft${index}, once ` : "",
        "long ".repeat((index * 13) % 60),
      ].join(""),
    );
    const [memory, file] = await fill(texts);
    for (const question of [
      "common",
      "the warp, the warping and weft10 on a common loom",
      "weft5 nowhere loom warp",
      "of the",
      texts.join(" "),
    ]) {
      const found = await scoresOf(memory, question);
      expect(await scoresOf(file, question)).toEqual(found);
    }
    expect(await scoresOf(file, "common warp")).toHaveLength(39);
  });
});
