import { describe, expect, it } from "vitest";
import { requiredText } from "./required-text.ts";

describe("requiredText", () => {
  it.each([
    ["needle", "needle"],
    ["get\\w+Name \\w+ err(or)?\\d+", "Name "],
    ["foo\\.bar\\(", "foo.bar("],
    ["ab+c", "ab"],
    ["abc?d", "ab"],
    ["abc{0,2}de", "ab"],
    ["a*", undefined],
    ["one|two", undefined],
    ["(one|two)x", "x"],
    ["(?=abc)d", "d"],
    ["(?!abc)d", "d"],
    ["[abc]d", "d"],
    ["\\bword\\b", "word"],
    ["\\x41\\u0042z", "z"],
    ["\\d\\n", undefined],
    ["ab{x", "ab"],
    ["\\1ab", "ab"],
  ])("finds in %s the text %s", (pattern, text) => {
    expect(requiredText({ pattern })).toBe(text);
  });

  it("finds none if case does not matter", () => {
    expect(requiredText({ pattern: "needle", caseSensitive: false })).toBeUndefined();
  });

  it("never rules out a text that matches", () => {
    const patterns = [
      "a(b|c)?d+e",
      "x{2,}y",
      "(ab)+c",
      "^a.b$",
      "a\\/b",
      "(?:q)w",
      "é+n",
      "a\\u{62}",
      "[^]a\\]b",
    ];
    const texts = ["abdde", "ade", "xxy", "ababc", "a.b", "a/b", "qw", "één", "a]b", "au{62}", "auuuub"];
    for (const pattern of patterns)
      for (const text of texts)
        if (new RegExp(pattern, "m").test(text))
          expect(text, pattern).toContain(requiredText({ pattern }) ?? "");
  });
});
