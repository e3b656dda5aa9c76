import type { Span } from "./split-text.ts";

/**
 * A line with its line break, without a byte order mark. `first` and `further` lines belong to a block that is not
 * Markdown.
 */
export interface MarkdownLine extends Span {
  text: string;
  kind: "markdown" | "first" | "further";
}

interface Block {
  ends(line: string, isFirst: boolean): boolean;
  /** The column of the enclosing list item: a line further left is outside of both. */
  column: number;
}

/**
 * The lines of a Markdown text, separated from blocks that only look like it: fenced code, comments, raw HTML such as
 * `<pre>`, and front matter. An unclosed block ends with its list item, or with the text.
 */
export function* markdownLines(text: string): Generator<MarkdownLine> {
  let block = frontMatter(text);
  /** The columns of the open list items, outermost first. */
  const items: number[] = [];
  for (let start = 0; start < text.length;) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found + 1;
    const line = text.slice(start === 0 ? markLength(text) : start, end);
    if (block && block.column > 0 && columnOf(line) < block.column && line.trim() !== "") block = undefined;
    const isFirst = block === undefined || start === 0;
    if (!block && mayOpen(line, items)) block = opened(line, items);
    yield { start, end, text: line, kind: !block ? "markdown" : isFirst ? "first" : "further" };
    if (block?.ends(line, isFirst)) block = undefined;
    start = end;
  }
}

/** The blocks of a text that contain no Markdown, without the line break after them. */
export function markdownVerbatim(text: string): Span[] {
  const spans: Span[] = [];
  for (const { start, end: next, text: line, kind } of markdownLines(text)) {
    if (kind === "markdown") continue;
    const end = next - (line.endsWith("\r\n") ? 2 : line.endsWith("\n") ? 1 : 0);
    if (kind === "first") spans.push({ start, end });
    else spans.at(-1)!.end = end;
  }
  return spans;
}

/** A first line of three dashes, then something like a key. A text may also start with a rule. */
const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n\s*(?:#|---|[\w"'-]+[ \t]*:)/;
const FRONT_MATTER_END = /\n(?:---|\.\.\.)[ \t]*\r?(?:\n|$)/;

function frontMatter(text: string): Block | undefined {
  if (!FRONT_MATTER.test(text) || !FRONT_MATTER_END.test(text)) return undefined;
  return { column: 0, ends: (line, isFirst) => !isFirst && /^(?:---|\.\.\.)\s*$/.test(line) };
}

function markLength(text: string): number {
  return text.startsWith("\uFEFF") ? 1 : 0;
}

/** Most lines start with a letter and do not affect blocks. */
function mayOpen(line: string, items: readonly number[]): boolean {
  return items.length > 0 || /^[ \t]*[-*+\d`~<]/.test(line);
}

function opened(line: string, items: number[]): Block | undefined {
  if (line.trim() === "") return undefined;
  const at = enterItems(line, items);
  const column = items.at(-1) ?? 0;
  if (columnOf(line, at) - column > 3) return undefined;
  return fence(line, at, column) ?? rawHtml(line, at, column);
}

const MARKER = /(?:[-*+]|\d{1,9}[.)])(?=\s|$)/y;
const RULE = /^([-*])[ \t]*(?:\1[ \t]*){2,}[\r\n]*$/;
/** The nesting limit for lists; deeper ones count as text. */
const DEEPEST = 32;

/** Leaves the list items a line is not part of and enters those it starts. Returns where its text starts. */
function enterItems(line: string, items: number[]): number {
  while (items.length > 0 && columnOf(line) < items.at(-1)!) items.pop();
  let at = firstSign(line, 0);
  while (items.length < DEEPEST && columnOf(line, at) - (items.at(-1) ?? 0) <= 3) {
    MARKER.lastIndex = at;
    const marker = MARKER.exec(line)?.[0].length ?? 0;
    if (marker === 0 || RULE.test(line.slice(at))) break;
    const next = firstSign(line, at + marker);
    const width = columnOf(line, next) - columnOf(line, at + marker);
    // Further indentation makes it code, and the item starts right after the marker.
    const isNear = width <= 4 && next < line.trimEnd().length;
    items.push(isNear ? columnOf(line, next) : columnOf(line, at + marker) + 1);
    at = next;
  }
  return at;
}

function fence(line: string, at: number, column: number): Block | undefined {
  const sign = line[at]!;
  if (sign !== "`" && sign !== "~") return undefined;
  const length = runLength(line, at, sign);
  // A line such as ```code``` is inline code.
  if (length < 3 || (sign === "`" && line.includes("`", at + length))) return undefined;
  return {
    column,
    ends: (other, isFirst) => {
      const from = firstSign(other, 0);
      const run = runLength(other, from, sign);
      const isMark = run >= length && other.slice(from + run).trim() === "";
      return !isFirst && isMark && columnOf(other, from) - column <= 3;
    },
  };
}

const RAW = /<(?:!--|(pre|script|style|textarea)(?=[\s>]|$))/iy;

function rawHtml(line: string, at: number, column: number): Block | undefined {
  RAW.lastIndex = at;
  const found = RAW.exec(line);
  if (!found) return undefined;
  const end = found[1] === undefined ? "-->" : `</${found[1].toLowerCase()}>`;
  return { column, ends: (other) => other.toLowerCase().includes(end) };
}

function firstSign(line: string, from: number): number {
  let index = from;
  while (line[index] === " " || line[index] === "\t") index++;
  return index;
}

/** The column of an index in a line, or of its first character. Tab stops are every four columns. */
function columnOf(line: string, index: number = firstSign(line, 0)): number {
  let column = 0;
  for (let at = 0; at < index; at++) column += line[at] === "\t" ? 4 - (column % 4) : 1;
  return column;
}

function runLength(line: string, from: number, sign: string): number {
  let index = from;
  while (line[index] === sign) index++;
  return index - from;
}
