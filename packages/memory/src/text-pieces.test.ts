import { describe, expect, it } from "vitest";
import { textPieces } from "./text-pieces.ts";

describe("textPieces", () => {
  it("keeps a short text whole and an empty one out", () => {
    expect(textPieces(" hello there ")).toEqual(["hello there"]);
    expect(textPieces("  \n ")).toEqual([]);
  });

  it("cuts a long text between words without losing any", () => {
    const words = Array.from({ length: 5_000 }, (_, at) => `word${at}`);
    const pieces = textPieces(words.join(" "));
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.every((piece) => piece.length <= 6_000)).toBe(true);
    expect(pieces.flatMap((piece) => piece.split(" "))).toEqual(words);
  });

  it("has an end, whatever is pasted", () => {
    expect(textPieces("x".repeat(10_000_000)).length).toBe(32);
  });
});
