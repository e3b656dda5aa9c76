/** Some lines of a file that is too large to be read whole. */
export interface FileLines {
  /** The wanted lines with their endings, as bytes. */
  content: Buffer;
  /** Lines of the whole file. */
  total: number;
  size: number;
  /** Whether `content` has only the beginning of the wanted lines. */
  isCut: boolean;
}

export interface LineRange {
  /** The first line. Lines count from 1. */
  offset: number;
  limit?: number | undefined;
  /** Most bytes to return. */
  maxBytes: number;
}

const PIECE = 1024 * 1024;
const LINE_FEED = 10;

/** Reads a file in pieces, and keeps the wanted lines. Needs no more memory for a larger file or a longer line. */
export async function readLines(
  file: { size: number; read(position: number, length: number): Promise<Buffer> },
  { offset, limit = Infinity, maxBytes }: LineRange,
): Promise<FileLines> {
  const kept: Buffer[] = [];
  let [keptBytes, line, position] = [0, 1, 0];
  let [isCut, endsWithBreak] = [false, false];
  const keep = (bytes: Buffer): void => {
    const part = bytes.subarray(0, maxBytes - keptBytes);
    isCut ||= part.length < bytes.length;
    // A copy, so that the piece can be freed.
    if (part.length > 0) kept.push(Buffer.from(part));
    keptBytes += part.length;
  };
  while (position < file.size) {
    const piece = await file.read(position, Math.min(PIECE, file.size - position));
    if (piece.length === 0) break;
    position += piece.length;
    let start = line >= offset ? 0 : -1;
    let at = -1;
    while ((at = piece.indexOf(LINE_FEED, at + 1)) >= 0) {
      line++;
      if (line === offset) start = at + 1;
      if (line === offset + limit && start >= 0) {
        keep(piece.subarray(start, at + 1));
        start = -1;
      }
    }
    if (start >= 0 && line < offset + limit) keep(piece.subarray(start));
    endsWithBreak = piece.at(-1) === LINE_FEED;
  }
  const total = position === 0 || endsWithBreak ? line - 1 : line;
  return { content: Buffer.concat(kept), total, size: file.size, isCut };
}
