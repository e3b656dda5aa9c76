import type { CodeLanguage } from "./code-separators.ts";
import { markdownVerbatim } from "./markdown-lines.ts";
import type { Span } from "./split-text.ts";

/** The blocks of a text whose lines do not matter to its structure, for languages with an end mark for them. */
export function verbatimIn(text: string, language: CodeLanguage | undefined): Span[] {
  if (language === "markdown" || language === "md") return markdownVerbatim(text);
  if (language === "latex") return latexVerbatim(text);
  return language === "html" ? htmlVerbatim(text) : [];
}

/** Verbatim environments and formulas. Escaped or commented marks open nothing. */
function latexVerbatim(text: string): Span[] {
  const opening =
    /\\begin\{(verbatim\*?|Verbatim|lstlisting|minted|alltt|comment|filecontents\*?)\}|\\[^]|%[^\n]*|\$\$/g;
  const spans: Span[] = [];
  for (let found = opening.exec(text); found; found = opening.exec(text)) {
    const start = found.index;
    const behind = opening.lastIndex;
    let end = behind;
    if (found[1] !== undefined) end = endOf(text, `\\end{${found[1]}}`, behind);
    else if (found[0] === "$$") end = formulaEnd(text, behind) ?? behind;
    if (end > behind) spans.push({ start, end });
    opening.lastIndex = end;
  }
  return spans;
}

/** After the closing mark of a formula. A formula contains no empty line. */
function formulaEnd(text: string, from: number): number | undefined {
  const closing = /\\[^]|%[^\n]*|\$\$|\n[ \t\r]*\n/g;
  closing.lastIndex = from;
  for (let found = closing.exec(text); found; found = closing.exec(text)) {
    if (found[0] === "$$") return closing.lastIndex;
    if (found[0].startsWith("\n")) return undefined;
  }
  return undefined;
}

function htmlVerbatim(text: string): Span[] {
  const opening = /<(?:!--|(pre|script|style|textarea)(?=[\s>]))/gi;
  const spans: Span[] = [];
  for (let found = opening.exec(text); found; found = opening.exec(text)) {
    const end =
      found[1] === undefined
        ? endOf(text, "-->", opening.lastIndex)
        : closeTagEnd(text, found[1], opening.lastIndex);
    spans.push({ start: found.index, end });
    opening.lastIndex = end;
  }
  return spans;
}

function closeTagEnd(text: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}\\s*>`, "gi");
  closing.lastIndex = from;
  return closing.exec(text) ? closing.lastIndex : text.length;
}

/** After the next mark, or the end of the text if there is none. */
function endOf(text: string, mark: string, from: number): number {
  const index = text.indexOf(mark, from);
  return index < 0 ? text.length : index + mark.length;
}
