import { AgentError } from "@selvedge/core/errors";
import { codePointFloor, Graphemes } from "./graphemes.ts";
import type { Span } from "./split-text.ts";
import type { Weighed } from "./ruler.ts";

/**
 * Runs of one kind are split into pieces of at most this length before weighing: some measures are slow on long runs.
 */
const LONGEST_PART = 256;

/**
 * Splits a text into words with their preceding spaces, as tokenizers do, and weighs each. A word heavier than `most`
 * is halved until its parts are not, between characters as long as there are several.
 */
export function weighText(
  text: string,
  stretch: Span,
  most: number,
  weigh: (part: string) => number,
): Weighed {
  const graphemes = new Graphemes(text);
  const weighed: Weighed = { starts: [], weights: [], end: stretch.end };
  const add = (start: number, end: number): void => {
    const weight = checkWeight(weigh(text.slice(start, end)));
    if (weight <= most) {
      weighed.starts.push(start);
      weighed.weights.push(weight);
      return;
    }
    const middle = middleOf(text, start, end, graphemes);
    if (middle === undefined) throw tooSmall(text.slice(start, end), weight, most);
    add(start, middle);
    add(middle, end);
  };
  let start = stretch.start;
  while (start < stretch.end) {
    const end = partEnd(text, start, stretch.end, graphemes);
    add(start, end);
    start = end;
  }
  return weighed;
}

/** The end of the word that starts here, after its preceding spaces. */
function partEnd(text: string, start: number, last: number, graphemes: Graphemes): number {
  const limit = Math.min(last, start + LONGEST_PART);
  let index = start;
  while (index < limit && isBlank(text.charCodeAt(index))) index++;
  while (index < limit && !isBlank(text.charCodeAt(index))) index++;
  if (index >= last) return last;
  const border = graphemes.floor(start, index);
  return border > start ? border : codePointFloor(text, index);
}

function middleOf(text: string, start: number, end: number, graphemes: Graphemes): number | undefined {
  const half = start + ((end - start) >> 1);
  const candidates = [
    graphemes.floor(start, half),
    graphemes.ceil(start, half, end),
    codePointFloor(text, half),
  ];
  const found = candidates.find((index) => index > start && index < end);
  return found ?? (codePointFloor(text, half + 1) > start && half + 1 < end ? half + 1 : undefined);
}

function isBlank(unit: number): boolean {
  return unit === 32 || (unit >= 9 && unit <= 13);
}

function checkWeight(weight: unknown): number {
  if (typeof weight === "number" && weight >= 0 && weight < Infinity) return weight;
  throw new AgentError(
    "invalid-argument",
    `lengthFunction must return a number, 0 or more, got ${String(weight)}`,
  );
}

function tooSmall(sign: string, weight: number, most: number): AgentError {
  return new AgentError(
    "invalid-argument",
    `The size of a chunk (${most}) is too small for ${JSON.stringify(sign)}, which measures ${weight}`,
  );
}
