import { markdownLines } from "./markdown-lines.ts";
import type { Span } from "./split-text.ts";

/** A part of a document under its headings. `path` has the headings above it, by level. */
export interface Section extends Span {
  level: number;
  title: string;
  /** Where the text after the heading starts. */
  body: number;
  path: readonly (string | undefined)[];
}

/**
 * The sections of a Markdown text: one per heading of the requested levels. Code, comments and front matter have no
 * headings.
 */
export function markdownSections(text: string, isWanted: (level: number) => boolean): Section[] {
  const sections: Section[] = [{ start: 0, end: text.length, level: 0, title: "", body: 0, path: [] }];
  let path: (string | undefined)[] = [];
  for (const heading of headings(text)) {
    if (!isWanted(heading.level)) continue;
    sections.at(-1)!.end = heading.start;
    path = path.slice(0, heading.level);
    path[heading.level] = heading.title;
    sections.push({ ...heading, end: text.length, path: [...path] });
  }
  return sections.filter(({ start, end }) => end > start);
}

interface Heading {
  level: number;
  title: string;
  start: number;
  body: number;
}

function* headings(text: string): Generator<Heading> {
  let before: { start: number; line: string } | undefined;
  for (const { start, end, text: line, kind } of markdownLines(text)) {
    if (kind === "markdown") {
      const level = atxLevel(line);
      if (level > 0) yield { level, title: atxTitle(line), start, body: end };
      const under = before && underlineLevel(line);
      if (before && under) yield { level: under, title: before.line.trim(), start: before.start, body: end };
    }
    before = kind === "markdown" && isParagraphLine(line) ? { start, line } : undefined;
  }
}

function atxLevel(line: string): number {
  const at = indent(line);
  const level = runLength(line, at, "#");
  const after = line[at + level];
  const ends = after === undefined || after === " " || after === "\t" || after === "\n" || after === "\r";
  return at <= 3 && level <= 6 && ends ? level : 0;
}

function atxTitle(line: string): string {
  const at = indent(line);
  const title = line.slice(at + runLength(line, at, "#")).trim();
  let end = title.length;
  while (end > 0 && title[end - 1] === "#") end--;
  // Closing characters count only after a space.
  return end === 0 || /\s/.test(title[end - 1]!) ? title.slice(0, end).trim() : title;
}

function underlineLevel(line: string): 0 | 1 | 2 {
  const rule = line.trim();
  if (indent(line) > 3 || rule.length < 2) return 0;
  if (runLength(rule, 0, "=") === rule.length) return 1;
  return runLength(rule, 0, "-") === rule.length ? 2 : 0;
}

/** Whether an underline would make this line a heading: it is text, not a heading, list, quote, table or rule. */
function isParagraphLine(line: string): boolean {
  const text = line.trim();
  return text !== "" && indent(line) <= 3 && atxLevel(line) === 0 && !/^(?:[-*+>|=`~]|\d+[.)]\s)/.test(text);
}

function indent(line: string): number {
  let index = 0;
  while (line[index] === " ") index++;
  return index;
}

function runLength(line: string, from: number, sign: string): number {
  let index = from;
  while (line[index] === sign) index++;
  return index - from;
}
