import { expect, it } from "vitest";
import { weightsFor } from "./word-weights.ts";

const hits = (...documents: string[]): { id: string; score: number; document: string }[] =>
  documents.map((document, index) => ({ id: String(index), score: 1, document }));

it("lets words decide where a hit holds the rare ones, and vectors where only common words were met", () => {
  const named = hits("What is it?", "The warp-factor is set here.", "It is what it is.", "Is it?");
  expect(weightsFor("What is the warp-factor?", named, 0.1).text).toBeGreaterThan(0.95);
  const asked = hits("How do I do this?", "How do you do?", "I do.", "Do it.");
  expect(weightsFor("How do I reset my password?", asked, 0.4).vector).toBeGreaterThan(0.95);
});

it("trusts vectors the more the farther apart they put the passages", () => {
  const found = hits("The warp is set up before the weft.", "The weft.", "A warp.");
  const shares = [0, 0.05, 0.2, 0.5, 2].map((spread) => weightsFor("warp and weft", found, spread).vector);
  expect(shares).toEqual(shares.toSorted((a, b) => a - b));
  expect(shares[0]).toBe(0);
  expect(shares.at(-1)).toBeGreaterThan(0.99);
});

it("gives shares that are together 1", () => {
  for (const spread of [-1, 0, 1e-12, 0.3, 2]) {
    const { vector, text } = weightsFor("warp", hits("A warp."), spread);
    expect(vector + text).toBeCloseTo(1);
    expect(Math.min(vector, text)).toBeGreaterThanOrEqual(0);
  }
});

it("takes other forms of a word for the word", () => {
  expect(weightsFor("priorities", hits("One priority."), 0.05).text).toBeGreaterThan(0.9);
});

it("leaves everything to vectors where words found nothing", () => {
  expect(weightsFor("anything", [], 0.2)).toEqual({ vector: 1, text: 0 });
  expect(weightsFor("anything", [], 0)).toEqual({ vector: 1, text: 0 });
  expect(weightsFor("?", hits("x"), 0.2).text).toBe(0);
});
