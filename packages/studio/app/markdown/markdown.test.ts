import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { Markdown } from "./markdown.tsx";
import { toTokens, type Tokens } from "./tokens.ts";

const html = (text: string): string =>
  renderToStaticMarkup(createElement(Markdown, { text })).replace(/^<div class="markdown">|<\/div>$/g, "");

describe("Markdown", () => {
  it.each([
    ["**bold** and `a < b`", "<p><strong>bold</strong> and <code>a &lt; b</code></p>"],
    ["# Title", "<h3>Title</h3>"],
    ["- one\n- two", "<ul><li>one</li><li>two</li></ul>"],
    ["a &amp; b", "<p>a &amp; b</p>"],
    [
      "[x](https://example.com)",
      '<p><a href="https://example.com/" target="_blank" rel="noopener noreferrer">x</a></p>',
    ],
  ])("draws %j", (text, expected) => {
    expect(html(text)).toBe(expected);
  });

  it.each([
    "<img src=x onerror=alert(1)>",
    "text <script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "![x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](JaVaScRiPt:alert(1))",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](vbscript:x)",
  ])("shows %j as text", (text) => {
    const drawn = html(text);
    expect(drawn).not.toMatch(/<(img|script|a|iframe)\b/);
    expect(drawn).toMatch(/alert|PHNjcmlwdD4|vbscript/);
  });

  it("never loads an image: it is a link", () => {
    expect(html("![cat](https://example.com/cat.png)")).toMatch(/<a href="https:\/\/example.com\/cat.png"/);
  });
});

describe("toTokens", () => {
  const TEXT =
    "# A\n\nfirst *one*\n\n- x\n- y\n\n- z\n\n```ts\nconst a = 1;\n\nb();\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nlast\n\n1. q\n\n   more\n\nend";

  it("gives for a text that grows letter by letter what it gives for the whole", () => {
    let tokens: Tokens | undefined;
    for (let end = 1; end <= TEXT.length; end++) tokens = toTokens(TEXT.slice(0, end), tokens);
    expect(tokens!.tokens.map(({ raw }) => raw)).toEqual(toTokens(TEXT).tokens.map(({ raw }) => raw));
  });

  it("keeps finished blocks as they are, and reads only what is behind them", () => {
    const before = toTokens("a\n\nb\n\nc\n\nd");
    const after = toTokens("a\n\nb\n\nc\n\nd and more", before);
    expect(before.settled).toBeGreaterThan(0);
    expect(after.tokens[0]).toBe(before.tokens[0]);
  });

  it("starts anew when the text is another one", () => {
    const before = toTokens("a\n\nb\n\nc\n\nd");
    expect(toTokens("x", before).tokens.map(({ raw }) => raw)).toEqual(["x"]);
  });
});
