export interface Passage {
  text: string;
  /** Line numbers, from 1. */
  start: number;
  end: number;
  /** Where the text starts in these lines: above 0 in a very long line. */
  offset: number;
}

const LINES = 200;
/** A passage ends up to this many lines earlier, if there is an empty line. */
const EARLIER = 40;
const MAX_CHARACTERS = 16_000;

/** Cuts a text into passages of about 200 lines. Very long lines are cut, too. */
export function* toPassages(text: string, startLineOffset = 0): Generator<Passage> {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (let first = 0; first < lines.length;) {
    const last = endOf(lines, first);
    const passage = lines.slice(first, last).join("\n");
    const range = { start: first + 1 + startLineOffset, end: last + startLineOffset };
    for (let at = 0; at === 0 || at < passage.length; at += MAX_CHARACTERS)
      yield { text: passage.slice(at, at + MAX_CHARACTERS), ...range, offset: at };
    first = last;
  }
}

function endOf(lines: readonly string[], first: number): number {
  let last = first;
  let size = 0;
  while (last < lines.length && last - first < LINES) {
    size += lines[last]!.length + 1;
    if (size > MAX_CHARACTERS && last > first) return last;
    last++;
  }
  if (last === lines.length) return last;
  for (let at = last; at > last - EARLIER; at--) if (lines[at - 1]!.trim() === "") return at;
  return last;
}

/** The text of a passage in its file. Empty if the file has become shorter. */
export function passageIn(
  text: string,
  { start, end, offset }: Omit<Passage, "text">,
  startLineOffset = 0,
): string {
  const lines = text.split("\n").slice(start - 1 - startLineOffset, end - startLineOffset);
  return lines.join("\n").slice(offset, offset + MAX_CHARACTERS);
}
