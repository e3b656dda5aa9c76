import { stem } from "../../vector/stem.ts";
import { splitNames, toWords } from "../../vector/to-words.ts";

const LINES = 12;
const MAX_LINE = 300;

/** The lines of a text that contain most words of a query, with their numbers. */
export function excerpt(
  text: string,
  query: string,
  firstLine: number,
): { start: number; end: number; text: string } {
  const lines = text.split("\n");
  const wanted = new Set(wordsOf(query));
  const hits = lines.map((line) => new Set(wordsOf(line).filter((word) => wanted.has(word))));
  let best = 0;
  let most = -1;
  for (let at = 0; at === 0 || at + LINES <= lines.length; at++) {
    const window = hits.slice(at, at + LINES);
    const distinct = new Set(window.flatMap((words) => [...words])).size;
    const score = distinct * LINES + window.filter(({ size }) => size > 0).length;
    if (score > most) [best, most] = [at, score];
  }
  const shown = lines.slice(best, best + LINES);
  return {
    start: firstLine + best,
    end: firstLine + best + shown.length - 1,
    text: shown.map((line) => (line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line)).join("\n"),
  };
}

function wordsOf(text: string): string[] {
  return toWords(splitNames(text)).map(stem);
}
