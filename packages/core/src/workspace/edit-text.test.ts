import { describe, expect, it } from "vitest";
import { editText } from "./edit-text.ts";

describe("editText", () => {
  it("replaces a text that occurs once, and says in which lines", () => {
    expect(editText("a\nb\nc\n", "b", "x\ny")).toEqual({
      text: "a\nx\ny\nc\n",
      ranges: [{ first: 2, last: 3 }],
    });
  });

  it("replaces every occurrence if asked to", () => {
    expect(editText("a a\na", "a", "bb", true)).toEqual({
      text: "bb bb\nbb",
      ranges: [
        { first: 1, last: 1 },
        { first: 1, last: 1 },
        { first: 2, last: 2 },
      ],
    });
  });

  it("matches across kinds of line endings, and keeps those of the file", () => {
    expect(editText("one\r\ntwo\r\nthree\r\n", "one\ntwo", "1\n2").text).toBe("1\r\n2\r\nthree\r\n");
    expect(editText("one\ntwo\n", "one\r\ntwo", "1\r\n2").text).toBe("1\n2\n");
  });

  it("refuses a text that occurs several times, with the lines", () => {
    expect(() => editText("x\ny\nx", "x", "z")).toThrow("occurs 2 times (lines 1, 3)");
  });

  it("shows similar lines for a text that is not there", () => {
    expect(() => editText("function  run() {\n}", "function run() {", "x")).toThrow("1: function  run() {");
    expect(() => editText("nothing", "something else", "x")).toThrow("Read the file again");
  });

  it("refuses an empty text and one that changes nothing", () => {
    expect(() => editText("a", "", "b")).toThrow("old_string is empty");
    expect(() => editText("a", "a", "a")).toThrow("are the same");
  });
});

it("shows a line that differs in a few letters from the one that was not found", () => {
  const text = "function add(a: number, b: number) {\n  return a + b;\n}\n";
  expect(() => editText(text, "function add(a: number, c: number) {", "x")).toThrow(
    "similar:\n1: function add(a: number, b: number) {",
  );
});
