import { stripVTControlCharacters } from "node:util";
import { cutOutput } from "../cut-output.ts";

/** Where `read_file` finds the whole output of a call. */
export const OUTPUT_FOLDER = ".selvedge/output/";

const FIRST_LINES = 50;
const LAST_LINES = 150;

export interface ShowOptions {
  /** Only this many of the last lines; 0 means all. Default: the first 50 and the last 150 lines. */
  tail?: number | undefined;
  maxTokens: number;
  /** Bytes already left out in the middle. */
  leftOutBytes?: number;
  /** Where the whole output can be read. */
  path?: string | undefined;
}

/** Output for a model: without control codes, beginning and end if it is long. */
export function showOutput(output: string, { tail, maxTokens, leftOutBytes = 0, path }: ShowOptions): string {
  const plain = stripVTControlCharacters(output).replace(/\r\n/g, "\n").replace(/\n$/, "");
  const lines = plain.split("\n");
  const shown = cutOutput(cutLines(lines, tail, leftOutBytes).join("\n"), maxTokens);
  const hint =
    shown !== plain && path ? `\nThe whole output is in ${path}: use read_file with offset and limit.` : "";
  return shown + hint;
}

function cutLines(lines: string[], tail: number | undefined, leftOutBytes: number): string[] {
  if (tail === 0) return lines;
  const [first, last] = tail === undefined ? [FIRST_LINES, LAST_LINES] : [0, tail];
  const left = lines.length - first - last;
  if (left <= 0) return lines;
  const more = leftOutBytes > 0 ? ` and ${leftOutBytes.toLocaleString("en")} bytes` : "";
  const note = `… ${left.toLocaleString("en")} lines${more} left out …`;
  return [...lines.slice(0, first), note, ...lines.slice(-last)];
}
