import { AgentError } from "@selvedge/core/errors";
import { codePointFloor, Graphemes } from "./graphemes.ts";
import type { Ruler } from "./ruler.ts";

/** A part of a text, from `start` up to but not including `end`. */
export interface Span {
  start: number;
  end: number;
}

/**
 * A kind of separator, and on which side of it to split. `line` is after the line break the separator starts with;
 * `drop` removes the separator at a split.
 */
export interface Separator {
  text: string | RegExp;
  cut: "before" | "after" | "line" | "drop";
  /** Preferred to all others, wherever it is in a window. */
  first?: boolean;
}

export interface SplitRules {
  ruler: Ruler;
  /** Best first. If none is found, the text is split between two characters. */
  separators: readonly Separator[];
  /** Blocks whose lines do not matter to the structure of the text: code, comments. Sorted and not nested. */
  verbatim?: readonly Span[];
  /** Trim white space at both ends of a chunk. */
  strip: boolean;
  /** Let a stretch without separators exceed the limit instead of splitting it anywhere. */
  keepWhole?: boolean;
}

/**
 * Splits a stretch of text into spans, in order. Each is as long as the ruler allows and ends at the best separator of
 * its second half (or of the first, if there is none; positions in verbatim blocks are the last choice). It starts
 * within the overlap before the end of the previous one, at a word if there is one. Each window is scanned a bounded
 * number of times, so the work is linear in the output.
 */
export function splitText(text: string, stretch: Span, rules: SplitRules): Span[] {
  const { ruler, separators, strip, keepWhole, verbatim = [] } = rules;
  const graphemes = new Graphemes(text);
  const spans: Span[] = [];
  const last = strip ? trimEnd(text, stretch, graphemes) : stretch.end;
  let anchor = stretch.start;
  /** How far the chunks reach; the next one must reach further. */
  let covered = anchor;
  let start = strip ? skipSpace(text, anchor, anchor, last, graphemes) : anchor;
  while (start < last) {
    const limit = ruler.reach(start);
    if (limit >= last) {
      spans.push({ start, end: last });
      break;
    }
    const least = Math.min(Math.max(ruler.least(start), covered + 1), limit);
    const cut =
      findCut(text, { start, least, limit }, separators, graphemes, blocksIn(verbatim, start, limit)) ??
      (keepWhole ? nextCut(text, limit, last, separators) : signCut(text, start, limit, graphemes));
    anchor = start;
    if (cut.end <= covered) {
      // What follows is too long to share a chunk with the overlap.
      start = strip ? skipSpace(text, anchor, covered, last, graphemes) : covered;
      continue;
    }
    const end = strip ? trimEnd(text, { start, end: cut.end }, graphemes) : cut.end;
    if (end > Math.max(start, spans.at(-1)?.end ?? 0)) spans.push({ start, end });
    covered = cut.next;
    if (cut.next >= last) break;
    start = nextStart(text, { start, least }, cut, ruler, graphemes);
    if (strip) start = skipSpace(text, anchor, start, last, graphemes);
  }
  return spans;
}

/** Where a chunk ends, and where the text continues: after the separator, if that is dropped. */
interface Cut {
  end: number;
  next: number;
}

interface Window {
  start: number;
  least: number;
  limit: number;
}

function findCut(
  text: string,
  { start, least, limit }: Window,
  separators: readonly Separator[],
  graphemes: Graphemes,
  blocks: readonly Span[],
): Cut | undefined {
  const middle = start + ((limit - start) >> 1);
  const isGood = (cut: Cut | undefined, from: number): cut is Cut =>
    cut !== undefined &&
    cut.end >= from &&
    cut.end > start &&
    cut.end <= limit &&
    graphemes.isBorder(start, cut.end) &&
    graphemes.isBorder(start, cut.next);
  for (const separator of separators) {
    const cut = separator.first ? lastCut(text, least, limit, separator, blocks) : undefined;
    if (isGood(cut, least)) return cut;
  }
  for (const from of middle > least ? [middle, least] : [least]) {
    for (const separator of separators) {
      const cut = lastCut(text, from, limit, separator, blocks);
      if (isGood(cut, from)) return cut;
    }
    if (blocks.length === 0) continue;
    for (const separator of separators) {
      // Line starts have no meaning there.
      const cut = separator.cut === "line" ? undefined : lastCut(text, from, limit, separator, []);
      if (isGood(cut, from)) return cut;
    }
  }
  return undefined;
}

/** The last split position outside the blocks. */
function lastCut(
  text: string,
  from: number,
  limit: number,
  separator: Separator,
  blocks: readonly Span[],
): Cut | undefined {
  if (typeof separator.text === "string") {
    // What is split off may lie beyond the limit.
    const { length } = separator.text;
    const beyond = separator.cut === "after" ? 0 : separator.cut === "line" ? length - 1 : length;
    const window = text.slice(from, limit + beyond);
    let index = window.lastIndexOf(separator.text);
    for (let block = blocks.length - 1; index >= 0;) {
      const cut = toCut(from + index, length, separator.cut);
      while (block >= 0 && blocks[block]!.start >= cut.end) block--;
      if (block < 0 || cut.end >= blocks[block]!.end) return cut;
      const before = Math.min(index - 1, blocks[block]!.start - from);
      index = before < 0 ? -1 : window.lastIndexOf(separator.text, before);
    }
    return undefined;
  }
  const found = lastMatch(text.slice(from, limit), separator.text);
  return found && toCut(from + found.index, found.length, separator.cut);
}

/** The blocks that overlap a stretch. */
function blocksIn(blocks: readonly Span[], start: number, end: number): readonly Span[] {
  let first = 0;
  for (let high = blocks.length; first < high;) {
    const middle = (first + high) >>> 1;
    if (blocks[middle]!.end <= start) first = middle + 1;
    else high = middle;
  }
  let last = first;
  while (last < blocks.length && blocks[last]!.start < end) last++;
  return first === last ? NONE : blocks.slice(first, last);
}

const NONE: readonly Span[] = [];

function toCut(index: number, length: number, cut: Separator["cut"]): Cut {
  if (cut === "drop") return { end: index, next: index + length };
  const end = index + { before: 0, line: 1, after: length }[cut];
  return { end, next: end };
}

function lastMatch(window: string, pattern: RegExp): { index: number; length: number } | undefined {
  let last: { index: number; length: number } | undefined;
  for (const match of window.matchAll(pattern)) {
    if (match[0] !== "") last = { index: match.index, length: match[0].length };
  }
  return last;
}

/** The first separator after the limit, for texts that should be long rather than split. */
function nextCut(text: string, limit: number, last: number, separators: readonly Separator[]): Cut {
  let nearest: Cut = { end: last, next: last };
  for (const separator of separators) {
    const found = firstMatch(text.slice(limit, nearest.end), separator.text);
    const cut = found && toCut(limit + found.index, found.length, separator.cut);
    if (cut && cut.end > limit && cut.end < nearest.end) nearest = cut;
  }
  return nearest;
}

function firstMatch(text: string, wanted: string | RegExp): { index: number; length: number } | undefined {
  if (typeof wanted === "string") {
    const index = text.indexOf(wanted);
    return index < 0 ? undefined : { index, length: wanted.length };
  }
  const match = text.matchAll(wanted).next().value;
  return match && { index: match.index, length: match[0].length };
}

/** Between two characters; inside one only if it alone exceeds the chunk size. */
function signCut(text: string, start: number, limit: number, graphemes: Graphemes): Cut {
  let end = graphemes.floor(start, limit);
  if (end <= start) end = codePointFloor(text, limit);
  if (end <= start) {
    const sign = String.fromCodePoint(text.codePointAt(start)!);
    throw new AgentError(
      "invalid-argument",
      `The size of a chunk is too small for ${JSON.stringify(sign)} at index ${start}; a size of 2 fits every character`,
    );
  }
  return { end, next: end };
}

function nextStart(
  text: string,
  { start, least }: { start: number; least: number },
  cut: Cut,
  ruler: Ruler,
  graphemes: Graphemes,
): number {
  if (cut.end < least) return cut.next;
  const from = Math.max(ruler.back(cut.end), start + 1);
  if (from >= cut.end) return cut.next;
  const word = wordStart(text, from, cut.end, graphemes, start);
  const border = word ?? graphemes.ceil(start, from, cut.end);
  return border < cut.end ? border : cut.next;
}

/** The first start of a word in a stretch, if there is one. */
function wordStart(
  text: string,
  from: number,
  to: number,
  graphemes: Graphemes,
  anchor: number,
): number | undefined {
  for (let index = from; index < to; index++) {
    if (!isSpace(text.charCodeAt(index - 1)) || isSpace(text.charCodeAt(index))) continue;
    if (graphemes.isBorder(anchor, index)) return index;
  }
  return undefined;
}

function skipSpace(text: string, anchor: number, start: number, end: number, graphemes: Graphemes): number {
  let index = start;
  while (index < end && isSpace(text.charCodeAt(index))) index++;
  // A combining mark may follow the last space.
  return index < end && index > start && !graphemes.isBorder(anchor, index) ? index - 1 : index;
}

function trimEnd(text: string, { start, end }: Span, graphemes: Graphemes): number {
  let index = end;
  while (index > start && isSpace(text.charCodeAt(index - 1))) index--;
  return index < end && !graphemes.isBorder(start, index) ? graphemes.ceil(start, index, end) : index;
}

/** White space as defined by `String.trim`. */
function isSpace(unit: number): boolean {
  if (unit <= 32) return unit === 32 || (unit >= 9 && unit <= 13);
  if (unit < 0xa0) return false;
  return (
    unit === 0xa0 ||
    unit === 0x1680 ||
    (unit >= 0x2000 && unit <= 0x200a) ||
    unit === 0x2028 ||
    unit === 0x2029 ||
    unit === 0x202f ||
    unit === 0x205f ||
    unit === 0x3000 ||
    unit === 0xfeff
  );
}
