const SNIFFED = 8 * 1024;
const BOM = "\uFEFF";

export interface TextFile {
  /** Without a byte order mark. */
  text: string;
  hasBom: boolean;
  /** The line ending of most lines. */
  lineEnding: "\n" | "\r\n";
}

/** Reads UTF-8 text, or returns what the bytes are instead. The content decides, not the file's name. */
export function toText(bytes: Uint8Array): TextFile | string {
  if (startsWith(bytes, [0xff, 0xfe]) || startsWith(bytes, [0xfe, 0xff])) return "UTF-16 text";
  if (bytes.subarray(0, SNIFFED).includes(0)) return "binary data";
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return "text in an encoding other than UTF-8";
  }
  const hasBom = text.startsWith(BOM);
  if (hasBom) text = text.slice(1);
  const breaks = text.split("\n").length - 1;
  const windows = text.split("\r\n").length - 1;
  return { text, hasBom, lineEnding: windows > breaks / 2 ? "\r\n" : "\n" };
}

/** The bytes of a text, with the byte order mark that its file had. */
export function fromText({ text, hasBom }: Pick<TextFile, "text" | "hasBom">): string {
  return hasBom ? BOM + text : text;
}

/** Lines without their endings. A final line ending starts no further line. */
export function toLines(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function startsWith(bytes: Uint8Array, start: readonly number[]): boolean {
  return start.every((byte, index) => bytes[index] === byte);
}
