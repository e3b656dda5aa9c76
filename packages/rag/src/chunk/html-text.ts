import { Parser } from "htmlparser2";
import type { Span } from "./split-text.ts";

/** An element that opens a section, with its position in the text. */
export interface HtmlMark {
  element: string;
  /** The text of a heading, or the `id`, `title` or `aria-label` of another element. */
  name: string;
  start: number;
  /** Where the text after a heading starts; `start` for other elements. */
  body: number;
}

// Not the head: its end tag may be omitted, and nothing in it is visible anyway.
const SKIPPED = new Set(["script", "style", "template", "noscript", "svg", "title", "iframe", "object"]);
const BLOCKS = new Set(
  (
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure footer form " +
    "h1 h2 h3 h4 h5 h6 header hr html legend li main menu nav ol optgroup option p pre section summary table tbody td tfoot th thead tr ul"
  ).split(" "),
);
const PARAGRAPHS = new Set(
  "p h1 h2 h3 h4 h5 h6 ul ol dl table blockquote pre article section figure".split(" "),
);
const HEADING = /^h[1-6]$/;

/** The nesting limit of browsers. Deeper elements are treated as siblings. */
const MAX_DEPTH = 512;

/** Some tags search all open elements, so their number is limited. */
class ShallowParser extends Parser {
  depth = 0;
  /** How many of the open elements are invisible. */
  skipped = 0;
  #isLeaf: boolean | undefined;
  #isClosing = false;

  override onopentagname(start: number, end: number): void {
    this.#isLeaf = undefined;
    super.onopentagname(start, end);
  }

  override onclosetag(start: number, end: number): void {
    this.#isClosing = true;
    super.onclosetag(start, end);
    this.#isClosing = false;
  }

  /** A void element is not kept open. Called twice per element, before and after it is reported. */
  protected override isVoidElement(name: string): boolean {
    if (super.isVoidElement(name) || this.#isClosing) return super.isVoidElement(name);
    this.#isLeaf ??= this.depth >= MAX_DEPTH && (this.skipped > 0 || !SKIPPED.has(name));
    return this.#isLeaf;
  }
}

/** The visible text of a page, where elements of the wanted names start, and which parts are preformatted. */
export function htmlText(
  html: string,
  wanted: ReadonlySet<string> = new Set(),
): { text: string; marks: HtmlMark[]; preformatted: Span[] } {
  const parts: string[] = [];
  const spans: Span[] = [];
  const marks: HtmlMark[] = [];
  const open: HtmlMark[] = [];
  /** Marks whose first word has not arrived yet. */
  let waiting: HtmlMark[] = [];
  let length = 0;
  let preformatted = 0;
  /** Line breaks pending before the next word, and whether a space is. */
  let breaks = 0;
  let blank = false;
  const put = (text: string): void => {
    parts.push(text);
    length += text.length;
  };
  const settle = (): void => {
    if (length > 0) put(breaks > 0 ? "\n".repeat(breaks) : blank ? " " : "");
    breaks = 0;
    blank = false;
    for (const mark of waiting) mark.start = length;
    waiting = [];
  };
  const breakLine = (element: string): void => {
    breaks = Math.max(breaks, PARAGRAPHS.has(element) ? 2 : 1);
  };
  const parser = new ShallowParser(
    {
      onopentag(element, attributes) {
        parser.depth++;
        if (SKIPPED.has(element)) parser.skipped++;
        if (parser.skipped > 0) return;
        if (BLOCKS.has(element)) breakLine(element);
        if (element === "br") breaks = Math.min(breaks + 1, 2);
        if (element === "pre") preformatted++;
        if (wanted.has(element)) {
          const name = attributes.id ?? attributes.title ?? attributes["aria-label"] ?? "";
          const mark = { element, name: HEADING.test(element) ? "" : name, start: -1, body: -1 };
          marks.push(mark);
          open.push(mark);
          waiting.push(mark);
        }
      },
      ontext(data) {
        if (parser.skipped > 0) return;
        if (preformatted > 0) {
          settle();
          const start = length;
          put(data);
          // Marked-up text inside arrives in several pieces.
          if (spans.at(-1)?.end === start) spans.at(-1)!.end = length;
          else spans.push({ start, end: length });
          return;
        }
        for (const word of data.split(/([ \t\r\n\f]+)/)) {
          if (word === "") continue;
          if (/^[ \t\r\n\f]/.test(word)) blank = true;
          else {
            settle();
            put(word);
          }
        }
      },
      onclosetag(element) {
        parser.depth--;
        if (SKIPPED.has(element)) parser.skipped = Math.max(0, parser.skipped - 1);
        if (parser.skipped > 0) return;
        if (element === "pre") preformatted = Math.max(0, preformatted - 1);
        if (BLOCKS.has(element)) breakLine(element);
        const mark = wanted.has(element) ? open.pop() : undefined;
        if (mark) mark.body = HEADING.test(element) ? length : mark.start;
      },
    },
    { decodeEntities: true, lowerCaseTags: true },
  );
  parser.write(html);
  parser.end();
  const text = parts.join("");
  for (const mark of marks) {
    if (mark.start < 0) mark.start = length;
    if (mark.body < mark.start) mark.body = mark.start;
    if (HEADING.test(mark.element)) mark.name = text.slice(mark.start, mark.body).trim();
  }
  return { text, marks, preformatted: spans };
}
