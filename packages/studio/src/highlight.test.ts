import { describe, expect, it } from "vitest";
import { highlight } from "./highlight.ts";

const kinds = (code: string, language: string): string[] =>
  highlight(code, language)
    .filter(({ kind }) => kind !== "plain")
    .map(({ kind, text }) => `${kind} ${text}`);

describe("highlight", () => {
  it.each([
    ["ts", 'const a = "x"; // why', ["keyword const", 'string "x"', "comment // why"]],
    ["py", "def f(): # why\n  return 12", ["keyword def", "comment # why", "keyword return", "number 12"]],
    ["sql", "SELECT 'it''s' -- why", ["keyword SELECT", "string 'it'", "string 's'", "comment -- why"]],
    ["ts", "/* never closed", ["comment /* never closed"]],
    ["text", "const a = 1", []],
  ])("colours %s: %s", (language, code, expected) => {
    expect(kinds(code, language)).toEqual(expected);
  });

  it.each(["`${a", '"open\nnext', "a".repeat(50_000), "\\", "'\\", "/*/", "é ü 😀 // x"])(
    "loses nothing of %.20s",
    (code) => {
      expect(
        highlight(code, "ts")
          .map(({ text }) => text)
          .join(""),
      ).toBe(code);
    },
  );
});
