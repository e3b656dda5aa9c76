import { AgentError } from "@selvedge/core/errors";
import type { Embedder } from "@selvedge/core/vector";
import { cosine } from "../cosine.ts";
import { sentenceSeparator } from "./sentence-separator.ts";
import type { Span } from "./split-text.ts";

const BATCH = 128;

/**
 * Splits a text where its subject changes: between the least similar neighbouring sentences. `breakShare` of the
 * boundaries become splits, unless a piece would be shorter than `minSize`.
 */
export async function semanticSpans(
  text: string,
  embedder: Embedder,
  { breakShare, minSize, enders }: { breakShare: number; minSize: number; enders: string[] | undefined },
): Promise<Span[]> {
  const sentences = sentenceSpans(text, enders);
  if (sentences.length < 3) return [{ start: 0, end: text.length }];
  const vectors = await embedAll(embedder, text, sentences);
  const likeness = sentences.slice(1).map((_, index) => cosine(vectors[index]!, vectors[index + 1]!));
  const wanted = Math.floor(likeness.length * breakShare);
  // Ties are broken by position, so that the same text is always split the same way.
  const weakest = likeness
    .map((value, index) => ({ value, index }))
    .sort((a, b) => a.value - b.value || a.index - b.index)
    .slice(0, wanted);
  const breaks = new Set(weakest.map(({ index }) => index));
  const spans: Span[] = [];
  let start = 0;
  sentences.forEach(({ end }, index) => {
    const isLast = index === sentences.length - 1;
    if (!isLast && (!breaks.has(index) || end - start < minSize || text.length - end < minSize)) return;
    spans.push({ start, end: isLast ? text.length : end });
    start = end;
  });
  return spans;
}

function sentenceSpans(text: string, enders: string[] | undefined): Span[] {
  const separator = sentenceSeparator(enders);
  const spans: Span[] = [];
  let start = 0;
  for (const match of text.matchAll(separator.text as RegExp)) {
    const end = match.index + match[0].length;
    spans.push({ start, end });
    start = end;
  }
  if (text.slice(start).trim() !== "") spans.push({ start, end: text.length });
  return spans;
}

async function embedAll(embedder: Embedder, text: string, spans: Span[]): Promise<number[][]> {
  const vectors: number[][] = [];
  for (let first = 0; first < spans.length; first += BATCH) {
    const batch = spans.slice(first, first + BATCH).map(({ start, end }) => text.slice(start, end));
    vectors.push(...(await embedder.embed(batch)));
  }
  if (vectors.length !== spans.length) {
    throw new AgentError(
      "model-failed",
      `Embedder ${embedder.id} returned ${vectors.length} vectors for ${spans.length} texts`,
    );
  }
  return vectors;
}
