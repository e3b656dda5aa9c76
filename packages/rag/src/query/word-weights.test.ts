import { expect, it } from "vitest";
import { weightsFor } from "./word-weights.ts";

const hits = (...documents: string[]): { id: string; score: number; document: string }[] =>
  documents.map((document, index) => ({ id: String(index), score: 1, document }));

it("lets words decide where the best hit holds the rare ones", () => {
  const found = hits("The warp-factor is set here.", "What is it?", "It is what it is.", "Is it?");
  expect(weightsFor("What is the warp-factor?", found)).toEqual({ vector: 0, text: 1 });
});

it("lets vectors decide where only common words were met", () => {
  const found = hits("How do I do this?", "How do you do?", "I do.", "Do it.");
  expect(weightsFor("How do I reset my password?", found)).toEqual({ vector: 1, text: 0 });
});

it("takes other forms of a word for the word", () => {
  expect(weightsFor("priorities", hits("One priority.")).text).toBe(1);
});

it("leaves everything to vectors where words found nothing", () => {
  expect(weightsFor("anything", [])).toEqual({ vector: 1, text: 0 });
  expect(weightsFor("?", hits("x")).text).toBe(0);
});
