import fc from "fast-check";
import { readFile } from "node:fs/promises";
import { growthOf } from "@selvedge/testing";
import { beforeAll, describe, expect, it } from "vitest";
import { loadReference, type Reference } from "./__fixtures__/reference.ts";
import { Tokenizer } from "./tokenizer.ts";

describe("Tokenizer", () => {
  let reference: Reference["tokenizer"];
  let tokenizer: Tokenizer;

  beforeAll(async () => {
    reference = (await loadReference()).tokenizer;
    tokenizer = new Tokenizer(reference.vocabulary);
  });

  const expectSame = (text: string, most: number): void => {
    expect(tokenizer.encode(text, most)).toEqual(reference.encode(text).slice(0, most));
  };

  it("splits any text as the makers of the model do", () => {
    const symbol = fc.constantFrom(...Array.from("aeqzxst.:=?1 \u2581\n\t日本😀éﬁ½\u200b"));
    fc.assert(fc.property(fc.array(symbol), (symbols) => expectSame(symbols.join(""), 1_000)));
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) =>
        expectSame(text.toWellFormed(), 20),
      ),
    );
  });

  it("splits real text the same way, also when it stops early", async () => {
    const text = await readFile(new URL("../../../AGENTS.md", import.meta.url), "utf8");
    for (let start = 0; start + 900 < text.length; start += 450)
      expectSame(text.slice(start, start + 900), 128);
    expectSame(text.slice(0, 4_000), 10_000);
  });

  it("takes time in proportion to a text without spaces", async () => {
    expect(await growthOf((size) => tokenizer.encode("ab".repeat(size), Infinity), 5_000)).toBeLessThan(1.5);
  });
});
