/** Most embedding models read about 8,000 tokens; this stays below that in any language. */
const PIECE = 6_000;
const MOST_PIECES = 32;

/** Splits a text into pieces an embedding model can read, at white space if possible. Very long tails are left out. */
export function textPieces(text: string): string[] {
  const pieces: string[] = [];
  let start = 0;
  while (start < text.length && pieces.length < MOST_PIECES) {
    const end = start + PIECE >= text.length ? text.length : cutBefore(text, start, start + PIECE);
    const piece = text.slice(start, end).trim().toWellFormed();
    if (piece !== "") pieces.push(piece);
    start = end;
  }
  return pieces;
}

function cutBefore(text: string, start: number, end: number): number {
  for (let at = end; at > start + PIECE / 2; at--) {
    if (/\s/.test(text.charAt(at))) return at;
  }
  return end;
}
