import type { TextSpan } from "./safe-pattern.ts";
import type { Passage, WaitingText } from "./text-gate.ts";

/** A finding in a text. */
export interface TextHit extends TextSpan {
  type: string;
  value: string;
}

/** A match that ends this close to the end of the received text may still change. */
const LOOKAHEAD = 16;
/** However long a match is, at most this much is held back for its end. */
const MAX_WAITING = 4096;
const MAX_VALUES = 100;
/** Text is searched when this share of `holdBack` has arrived since. */
const LOOK_SHARE = 0.25;

/** A source of hits. */
export interface HitSource {
  /** How many characters are held back in case a match spans two chunks. */
  holdBack: number;
  /** Hits that start at `from` or later. */
  find(text: string, from: number): (TextSpan & { type: string })[];
  /** More hits, from a model. It is called when this much text is waiting, or the text is over. */
  ask?: { blockSize: number; find(text: string): Promise<(TextSpan & { type: string })[]> } | undefined;
}

/** The decided part of a waiting text, and the hits in it. */
export async function decidedHits(
  waiting: WaitingText,
  { holdBack, find, ask }: HitSource,
): Promise<{ used: number; hits: TextHit[] }> {
  const { text, before, ended } = waiting;
  // Searching at every chunk would read each character many times.
  if (!ended && text.length < holdBack + (ask?.blockSize ?? holdBack * LOOK_SHARE))
    return { used: 0, hits: [] };
  const spans = find(before + text, before.length).map(({ start, end, type }) => ({
    start: start - before.length,
    end: end - before.length,
    type,
  }));
  if (ask && text.trim() !== "") for (const span of await ask.find(text)) spans.push(span);
  const used = decidedLength(waiting, holdBack, spans);
  return { used, hits: mergeHits(text, spans).filter(({ start }) => start < used) };
}

/** All positions of values in a text. */
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

/** Hits in order. Overlapping ones are merged, with the type of the longest. */
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

/** How much of a text is decided: later text can neither start nor extend a match before it. */
function decidedLength({ text, ended }: WaitingText, holdBack: number, hits: readonly TextSpan[]): number {
  if (ended) return text.length;
  let cut = Math.max(0, text.length - holdBack);
  for (const { start, end } of hits.toSorted((a, b) => b.start - a.start))
    if (start < cut && (end > cut || text.length - end < LOOKAHEAD)) cut = start;
  return text.length - cut > MAX_WAITING + holdBack ? text.length : wholeCharacters(text, cut);
}

/** The text up to `used`, with each hit replaced. */
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
