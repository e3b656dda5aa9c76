import type { TextSpan } from "./safe-pattern.ts";
import type { Passage, WaitingText } from "./text-gate.ts";

/** Something that was found in a text. */
export interface TextHit extends TextSpan {
  type: string;
  value: string;
}

/** A match that ends this close to the end of what has come may still change. */
const LOOKAHEAD = 16;
/** However long a match is, no more than this waits for its end. */
const MAX_WAITING = 4096;
const MAX_VALUES = 100;
/** Text is looked at when so much of `holdBack` has come since. */
const LOOK_SHARE = 0.25;

/** Where hits come from. */
export interface HitSource {
  /** How many characters wait in case a match is split over two chunks. */
  holdBack: number;
  /** Hits that begin at `from` or later. */
  find(text: string, from: number): (TextSpan & { type: string })[];
  /** More hits, from a model. It is asked when so much text waits, or the text is over. */
  ask?: { blockSize: number; find(text: string): Promise<(TextSpan & { type: string })[]> } | undefined;
}

/** What is decided of a text that waits: how much of it, and the hits in that. */
export async function decidedHits(
  waiting: WaitingText,
  { holdBack, find, ask }: HitSource,
): Promise<{ used: number; hits: TextHit[] }> {
  const { text, before, ended } = waiting;
  // Looking at every chunk would mean looking at each character many times.
  if (!ended && text.length < holdBack + (ask?.blockSize ?? holdBack * LOOK_SHARE))
    return { used: 0, hits: [] };
  const spans = find(before + text, before.length).map(({ start, end, type }) => ({
    start: start - before.length,
    end: end - before.length,
    type,
  }));
  if (ask && text.trim() !== "") spans.push(...(await ask.find(text)));
  const used = decidedLength(waiting, holdBack, spans);
  return { used, hits: mergeHits(text, spans).filter(({ start }) => start < used) };
}

/** All places of values in a text. */
export function findValues(
  text: string,
  values: readonly { type: string; value: string }[],
): (TextSpan & { type: string })[] {
  return values.slice(0, MAX_VALUES).flatMap(({ type, value }) => {
    const spans: (TextSpan & { type: string })[] = [];
    if (value.trim() === "") return spans;
    for (let start = text.indexOf(value); start >= 0; start = text.indexOf(value, start + value.length))
      spans.push({ start, end: start + value.length, type });
    return spans;
  });
}

/** Hits in order. Those that overlap become one, with the type of the longest. */
export function mergeHits(text: string, hits: readonly (TextSpan & { type: string })[]): TextHit[] {
  const merged: (TextHit & { longest: number })[] = [];
  for (const { start, end, type } of [...hits].sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (!last || start >= last.end) {
      merged.push({ start, end, type, value: "", longest: end - start });
      continue;
    }
    last.end = Math.max(last.end, end);
    if (end - start > last.longest) Object.assign(last, { type, longest: end - start });
  }
  return merged.map(({ longest: _, ...hit }) => ({ ...hit, value: text.slice(hit.start, hit.end) }));
}

/** How much of a text is decided: what comes later can neither begin nor lengthen a match before it. */
function decidedLength({ text, ended }: WaitingText, holdBack: number, hits: readonly TextSpan[]): number {
  if (ended) return text.length;
  let cut = Math.max(0, text.length - holdBack);
  for (const { start, end } of hits.toSorted((a, b) => b.start - a.start))
    if (start < cut && (end > cut || text.length - end < LOOKAHEAD)) cut = start;
  return text.length - cut > MAX_WAITING + holdBack ? text.length : wholeCharacters(text, cut);
}

/** The text up to `used`, with something else in the place of each hit. */
export function replaceHits(
  text: string,
  used: number,
  hits: readonly TextHit[],
  replacement: (hit: TextHit) => string,
): Passage {
  let result = "";
  let at = 0;
  for (const hit of hits) {
    if (hit.start >= used) break;
    result += text.slice(at, hit.start) + replacement(hit);
    at = hit.end;
  }
  return { used: Math.max(used, at), text: result + text.slice(at, Math.max(used, at)) };
}

function wholeCharacters(text: string, cut: number): number {
  const last = text.charCodeAt(cut - 1);
  return last >= 0xd800 && last < 0xdc00 ? cut - 1 : cut;
}
