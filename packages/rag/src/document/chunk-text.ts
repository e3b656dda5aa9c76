import { AgentError } from "@selvedge/core/errors";
import { toEmbedder } from "@selvedge/core/vector";
import { codeSeparators } from "../chunk/code-separators.ts";
import { htmlText } from "../chunk/html-text.ts";
import { jsonChunks } from "../chunk/json-chunks.ts";
import { markdownSections, type Section } from "../chunk/markdown-sections.ts";
import { lengthRuler, weightRuler, type Ruler } from "../chunk/ruler.ts";
import { semanticSpans } from "../chunk/semantic-spans.ts";
import { sentenceSeparator } from "../chunk/sentence-separator.ts";
import { askedSeparators, textSeparators } from "../chunk/separators.ts";
import { splitText, type Separator, type Span } from "../chunk/split-text.ts";
import { type CountTokens, loadTokenizer } from "../chunk/tokenizer.ts";
import { verbatimIn } from "../chunk/verbatim.ts";
import { weighText } from "../chunk/weigh-text.ts";
import type { CheckedParams, ChunkStrategy } from "./chunk-params.ts";

/** A chunk before it belongs to a document. `startIndex` is absent if chunks are not parts of the text. */
export interface Piece {
  text: string;
  startIndex?: number;
  metadata?: Record<string, unknown>;
}

type Chunker = (text: string, params: CheckedParams) => Piece[] | Promise<Piece[]>;

/** How each strategy splits a text. */
export const CHUNKERS: Readonly<Record<ChunkStrategy, Chunker>> = {
  recursive: (text, params) => {
    const strip = params.stripWhitespace ?? params.language === undefined;
    const verbatim = verbatimIn(text, params.language);
    return pieces(
      text,
      split(text, whole(text), params, askedSeparators(text, params, strip), { strip, verbatim }),
    );
  },
  character: (text, params) => {
    const strip = params.stripWhitespace ?? true;
    return pieces(text, split(text, whole(text), params, askedSeparators(text, params, strip), { strip }));
  },
  code: (text, params) => {
    const strip = params.stripWhitespace ?? false;
    const separators = [
      ...(params.language ? codeSeparators(params.language) : []),
      ...textSeparators(text, strip),
    ];
    const verbatim = verbatimIn(text, params.language);
    return pieces(text, split(text, whole(text), params, separators, { strip, verbatim }));
  },
  latex: (text, params) => {
    const strip = params.stripWhitespace ?? true;
    const separators = [...codeSeparators("latex"), ...textSeparators(text, strip)];
    const verbatim = verbatimIn(text, "latex");
    return pieces(text, split(text, whole(text), params, separators, { strip, verbatim }));
  },
  sentence: chunkSentences,
  token: async (text, params) => {
    const count = await loadTokenizer(params);
    const ruler = weightRuler(weighText(text, whole(text), params.size, count), params);
    return pieces(text, splitText(text, whole(text), { ruler, separators: [], strip: false }));
  },
  markdown: chunkMarkdown,
  "semantic-markdown": chunkJoinedMarkdown,
  html: chunkHtml,
  json: (text, params) =>
    jsonChunks(parseJson(text), {
      size: params.size,
      convertLists: params.convertLists ?? false,
      ensureAscii: params.ensureAscii ?? false,
    }).map((chunk) => ({ text: chunk })),
  semantic: async (text, params) => {
    const model = params.embedder ?? params.model;
    if (!model) {
      throw new AgentError("invalid-argument", "Chunk params: the strategy semantic needs an embedder");
    }
    const strip = params.stripWhitespace ?? true;
    const spans = await semanticSpans(text, toEmbedder(model), {
      breakShare: params.breakShare ?? 0.1,
      minSize: Math.min(params.minSize ?? 50, params.size),
      enders: params.sentenceEnders,
    });
    const separators = [sentenceSeparator(params.sentenceEnders), ...textSeparators(text, strip)];
    return pieces(
      text,
      spans.flatMap((span) => split(text, span, params, separators, { strip })),
    );
  },
};

function chunkSentences(text: string, params: CheckedParams): Piece[] {
  const { size, overlap, fallbackToWords = true, fallbackToCharacters = true } = params;
  const strip = params.stripWhitespace ?? true;
  const target = Math.max(params.targetSize ?? size, params.minSize ?? 0, overlap + 1);
  const sized = { ...params, size: Math.min(size, target) };
  const ends = params.keepSeparator === false ? "drop" : "after";
  // A sentence is split only if it alone is too long.
  const separators: Separator[] = [{ ...sentenceSeparator(params.sentenceEnders), cut: ends, first: true }];
  if (fallbackToWords) separators.push({ text: " ", cut: strip ? "drop" : "after" });
  const isWhole = !fallbackToCharacters || !fallbackToWords;
  return pieces(text, split(text, whole(text), sized, separators, { strip, keepWhole: isWhole }));
}

function chunkMarkdown(text: string, params: CheckedParams): Piece[] {
  const strip = params.stripWhitespace ?? true;
  const separators = [...codeSeparators("markdown"), ...textSeparators(text, strip)];
  const rules = { strip, verbatim: verbatimIn(text, "markdown") };
  if (!params.headers) return pieces(text, split(text, whole(text), params, separators, rules));
  const keys = new Map(params.headers.map(([mark, key]) => [headingLevel(mark), key]));
  const sections = markdownSections(text, (level) => keys.has(level));
  return sections.flatMap((section) => {
    const metadata = headingMetadata(section, keys);
    const start = params.stripHeaders ? section.body : section.start;
    const spans = params.returnEachLine
      ? lines(text, { start, end: section.end })
      : [{ start, end: section.end }];
    return spans.flatMap((span) => pieces(text, split(text, span, params, separators, rules), metadata));
  });
}

function headingLevel(mark: string): number {
  if (/^#{1,6}$/.test(mark)) return mark.length;
  throw new AgentError(
    "invalid-argument",
    `Chunk params: a Markdown heading is written "#" to "######", got ${JSON.stringify(mark)}`,
  );
}

function headingMetadata(section: Section, keys: ReadonlyMap<number, string>): Record<string, unknown> {
  const entries = [...keys].map(([level, key]) => [key, section.path[level]] as const);
  return Object.fromEntries(entries.filter(([, title]) => title !== undefined));
}

/** Sections are joined with the following ones up to a number of tokens; the last headings name the chunk. */
async function chunkJoinedMarkdown(text: string, params: CheckedParams): Promise<Piece[]> {
  const strip = params.stripWhitespace ?? true;
  const count = await loadTokenizer(params);
  const most = params.joinThreshold ?? 500;
  const sections = markdownSections(text, () => true);
  const joined: (Span & { title: string; tokens: number })[] = [];
  for (const { start, end, title } of sections) {
    const tokens = countLong(text.slice(start, end), count);
    const before = joined.at(-1);
    const fits = before && before.tokens + tokens <= most && end - before.start <= params.size;
    if (fits) Object.assign(before, { end, tokens: before.tokens + tokens });
    else joined.push({ start, end, title, tokens });
  }
  const separators = [...codeSeparators("markdown"), ...textSeparators(text, strip)];
  const rules = { strip, verbatim: verbatimIn(text, "markdown") };
  return joined.flatMap((span) => {
    const metadata = span.title === "" ? {} : { title: span.title };
    return pieces(text, split(text, span, params, separators, rules), metadata);
  });
}

/** Part by part: counting one long run of letters at once would be far too slow. */
function countLong(text: string, count: CountTokens): number {
  return weighText(text, whole(text), Infinity, count).weights.reduce((sum, weight) => sum + weight, 0);
}

function chunkHtml(html: string, params: CheckedParams): Piece[] {
  const strip = params.stripWhitespace ?? true;
  const headers = new Map((params.headers ?? []).map(([element, key]) => [element.toLowerCase(), key]));
  const parts = new Map((params.sections ?? []).map(([element, key]) => [element.toLowerCase(), key]));
  const { text, marks, preformatted } = htmlText(html, new Set([...headers.keys(), ...parts.keys()]));
  const separators = textSeparators(text, strip);
  const found: (Span & { metadata: Record<string, unknown> })[] = [];
  let metadata: Record<string, unknown> = {};
  let start = 0;
  const order = [...headers.keys()].sort();
  for (const mark of marks) {
    found.push({ start, end: mark.start, metadata });
    metadata = { ...metadata };
    // A heading ends the sections of its level and below.
    for (const element of order.slice(order.indexOf(mark.element))) {
      if (headers.has(mark.element)) delete metadata[headers.get(element)!];
    }
    metadata[(headers.get(mark.element) ?? parts.get(mark.element))!] = mark.name;
    start = params.stripHeaders ? mark.body : mark.start;
  }
  found.push({ start, end: text.length, metadata });
  return found.flatMap((span) =>
    pieces(text, split(text, span, params, separators, { strip, verbatim: preformatted }), span.metadata),
  );
}

function parseJson(text: string): unknown {
  try {
    // Files created on Windows often start with a byte order mark.
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (cause) {
    throw new AgentError("invalid-argument", `The document is not JSON: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function split(
  text: string,
  stretch: Span,
  params: CheckedParams,
  separators: readonly Separator[],
  rules: { strip: boolean; keepWhole?: boolean; verbatim?: readonly Span[] },
): Span[] {
  return splitText(text, stretch, { ruler: rulerFor(text, stretch, params), separators, ...rules });
}

function rulerFor(text: string, stretch: Span, params: CheckedParams): Ruler {
  const { lengthFunction: measure, size } = params;
  if (!measure) return lengthRuler(params);
  const weighed = weighText(text, stretch, size, measure);
  return weightRuler(weighed, params, (start, end) => measure(text.slice(start, end)) <= size);
}

const whole = (text: string): Span => ({ start: 0, end: text.length });

function lines(text: string, { start, end }: Span): Span[] {
  const found: Span[] = [];
  for (let from = start; from < end;) {
    const next = text.indexOf("\n", from);
    const to = next < 0 || next >= end ? end : next + 1;
    found.push({ start: from, end: to });
    from = to;
  }
  return found;
}

function pieces(text: string, spans: readonly Span[], metadata?: Record<string, unknown>): Piece[] {
  return spans.map(({ start, end }) => ({
    text: text.slice(start, end),
    startIndex: start,
    ...(metadata && { metadata }),
  }));
}
