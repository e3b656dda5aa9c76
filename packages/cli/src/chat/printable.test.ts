import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { oneLine, printable } from "./printable.ts";

describe("printable", () => {
  it.each([
    ["a colour", "a\u001b[31mb\u001b[0mc", "abc"],
    ["a title", "a\u001b]0;title\u0007b", "ab"],
    ["a link", "\u001b]8;;https://evil.example\u001b\\text\u001b]8;;\u001b\\", "text"],
    ["the clipboard", "a\u001b]52;c;aGk=\u0007b", "ab"],
    ["a device string", "a\u001bPq#0\u001b\\b", "ab"],
    ["an 8-bit sequence", "a\u009b2Jb", "ab"],
    ["a half sequence", "a\u001b[", "a["],
    ["a carriage return that hides text", "rm -rf /\rls", "rm -rf /\nls"],
    ["a backspace", "abc\u0008\u0008", "abc"],
    ["the other direction", "a\u202eb\u2066c", "abc"],
  ])("leaves out %s", (_, text, expected) => {
    expect(printable(text)).toBe(expected);
  });

  it("keeps words, lines and emoji, and turns tabs into spaces", () => {
    expect(printable("日本語 👩‍👩‍👧 é\n\tx")).toBe("日本語 👩‍👩‍👧 é\n    x");
  });

  it("never leaves a control character, and changes nothing the second time", () => {
    const pieces = fc.constantFrom(
      "\u001b",
      "[",
      "]",
      "0;",
      "m",
      "\u0007",
      "\\",
      "\u009b",
      "\r",
      "\n",
      "a",
      "\u202e",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => {
        const text = printable(parts.join(""));
        expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
        expect(printable(text)).toBe(text);
      }),
    );
  });
});

describe("oneLine", () => {
  it("is one line, cut where it is too long", () => {
    expect(oneLine(" a\n\n b ")).toBe("a b");
    expect(oneLine("abcdef", 3)).toBe("abc…");
    expect(oneLine("x".repeat(1_000_000), 3)).toBe("xxx…");
  });
});
