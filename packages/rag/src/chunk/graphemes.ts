/**
 * Where a text may be split: between grapheme clusters, so that no code point, accent, flag or joined emoji is torn
 * apart.
 *
 * Every query names an anchor: a known boundary at or before the position. Between ordinary letters the two neighbours
 * decide; only around other characters is the text segmented, starting from the anchor.
 */
export class Graphemes {
  readonly #text: string;
  #segmenter: Intl.Segmenter | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  isBorder(anchor: number, index: number): boolean {
    return this.floor(anchor, index) === index;
  }

  /** The last boundary at or before `index`. */
  floor(anchor: number, index: number): number {
    if (this.#isPlainBorder(index)) return index;
    return this.#clusterAt(anchor, index, index + CODE_POINT).start;
  }

  /** The first boundary at or after `index`, or `limit` if there is none before it. */
  ceil(anchor: number, index: number, limit: number): number {
    if (this.#isPlainBorder(index)) return index;
    const { start, end } = this.#clusterAt(anchor, index, limit + CODE_POINT);
    return start === index ? index : Math.min(end, limit);
  }

  #isPlainBorder(index: number): boolean {
    const text = this.#text;
    if (index <= 0 || index >= text.length) return true;
    const before = text.charCodeAt(index - 1);
    const after = text.charCodeAt(index);
    return isPlain(before) && isPlain(after) && !(before === CR && after === LF);
  }

  /** The cluster that contains `index`, as far as visible before `limit`. */
  #clusterAt(anchor: number, index: number, limit: number): { start: number; end: number } {
    const from = this.#nearAnchor(anchor, index);
    this.#segmenter ??= new Intl.Segmenter("und", { granularity: "grapheme" });
    const segments = this.#segmenter.segment(this.#text.slice(from, limit));
    const found = segments.containing(index - from)!;
    return { start: from + found.index, end: from + found.index + found.segment.length };
  }

  /** A nearer anchor, if there is one within a few characters. */
  #nearAnchor(anchor: number, index: number): number {
    for (let near = index - 1; near > anchor && near > index - LOOK_BACK; near--) {
      if (this.#isPlainBorder(near)) return near;
    }
    return anchor;
  }
}

/** The last boundary between code points at or before `index`. */
export function codePointFloor(text: string, index: number): number {
  const isInside =
    index > 0 && index < text.length && isLow(text.charCodeAt(index)) && isHigh(text.charCodeAt(index - 1));
  return isInside ? index - 1 : index;
}

const CR = 13;
const LF = 10;
/** How much of the following character must be visible. */
const CODE_POINT = 2;
const LOOK_BACK = 64;

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** Characters that never join with a neighbour of the same kind. Not all of them: those most texts consist of. */
function isPlain(unit: number): boolean {
  if (unit < 0x300) return true;
  return (
    (unit >= 0x370 && unit <= 0x482) || // Greek, Cyrillic
    (unit >= 0x48a && unit <= 0x52f) ||
    (unit >= 0x2010 && unit <= 0x2027) || // dashes and quotes
    (unit >= 0x3001 && unit <= 0x3029) ||
    (unit >= 0x3041 && unit <= 0x3096) || // Hiragana
    (unit >= 0x30a1 && unit <= 0x30fa) || // Katakana
    (unit >= 0x4e00 && unit <= 0x9fff) || // Han
    (unit >= 0xff01 && unit <= 0xff60)
  );
}
