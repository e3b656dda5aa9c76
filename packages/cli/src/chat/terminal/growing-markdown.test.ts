import { describe, expect, it } from "vitest";
import { GrowingMarkdown } from "./growing-markdown.ts";
import { createTheme } from "./theme.ts";

const TEXT = `# Title

A paragraph with **bold** words
on two lines.

- one
- two

  still two

\`\`\`ts
const a = 1;

const b = 2;
\`\`\`

| a | b |
| - | - |
| 1 | 2 |

The end.
`;

const render = (markdown: GrowingMarkdown, text: string): string[] =>
  markdown.parts(text).map((part) =>
    part
      .render(60)
      .map((line) => line.trimEnd())
      .join("\n"),
  );

describe("GrowingMarkdown", () => {
  it("comes to the same whether it grows or not, and what is not last never changes", () => {
    const whole = render(new GrowingMarkdown(createTheme(false)), TEXT);
    expect(whole).toHaveLength(6);
    const growing = new GrowingMarkdown(createTheme(false));
    let before: string[] = [];
    for (let length = 1; length <= TEXT.length; length++) {
      const now = render(growing, TEXT.slice(0, length));
      expect(now.slice(0, Math.max(0, before.length - 1))).toEqual(before.slice(0, -1));
      before = now;
    }
    expect(before).toEqual(whole);
  });

  it("begins again with another text", () => {
    const markdown = new GrowingMarkdown(createTheme(false));
    render(markdown, "one\n\ntwo");
    expect(render(markdown, "three")).toEqual(["three"]);
  });

  it("reads only its last part again when it grows", () => {
    const growing = new GrowingMarkdown(createTheme(true));
    const before = [...growing.parts(TEXT)];
    const after = growing.parts(`${TEXT}More.\n\nStill more.`);
    expect(after.length).toBeGreaterThan(before.length);
    for (const [index, part] of before.slice(0, -1).entries()) expect(after[index]).toBe(part);
  });
});
