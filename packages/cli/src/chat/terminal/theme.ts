import type { EditorTheme, MarkdownTheme } from "@earendil-works/pi-tui";
import { highlight, type Piece } from "@selvedge/studio";
import { createStyle, type Style } from "../../style.ts";

/** The looks of everything in a terminal chat. */
export interface Theme extends Style {
  markdown: MarkdownTheme;
  editor: EditorTheme;
}

export function createTheme(color: boolean): Theme {
  const style = createStyle(color);
  const { bold, dim, italic, underline, green, yellow, cyan, magenta } = style;
  const plain = (text: string): string => text;
  const paints: Record<Piece["kind"], (text: string) => string> = {
    plain,
    comment: dim,
    string: green,
    number: yellow,
    keyword: magenta,
  };
  return {
    ...style,
    markdown: {
      heading: bold,
      link: underline,
      linkUrl: dim,
      code: cyan,
      codeBlock: plain,
      codeBlockBorder: dim,
      quote: italic,
      quoteBorder: dim,
      hr: dim,
      listBullet: cyan,
      bold,
      italic,
      strikethrough: plain,
      underline,
      highlightCode: (code, language = "") =>
        highlight(code, language)
          // A style ends with its line: lines are drawn one by one.
          .map(({ kind, text }) => text.split("\n").map(paints[kind]).join("\n"))
          .join("")
          .split("\n"),
    },
    editor: {
      borderColor: dim,
      selectList: {
        selectedPrefix: cyan,
        selectedText: bold,
        description: dim,
        scrollInfo: dim,
        noMatch: dim,
      },
    },
  };
}
