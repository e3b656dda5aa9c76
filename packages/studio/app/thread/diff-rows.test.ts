import { expect, it } from "vitest";
import { diffRows } from "./diff-rows.ts";

it("puts lines beside those they replace, with the numbers of their files", () => {
  const diff = "@@ -3,4 +3,5 @@\n same\n-old one\n-old two\n+new\n end\n+more\n\\ No newline at end of file";
  expect(diffRows(diff)).toEqual([
    { hunk: "@@ -3,4 +3,5 @@" },
    { before: { line: 3, text: "same" }, after: { line: 3, text: "same" }, isSame: true },
    { before: { line: 4, text: "old one" }, after: { line: 4, text: "new" }, isSame: false },
    { before: { line: 5, text: "old two" }, after: undefined, isSame: false },
    { before: { line: 6, text: "end" }, after: { line: 5, text: "end" }, isSame: true },
    { before: undefined, after: { line: 6, text: "more" }, isSame: false },
  ]);
});
