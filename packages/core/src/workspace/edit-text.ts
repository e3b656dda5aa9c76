import { editDistance } from "../edit-distance.ts";
import { AgentError } from "../errors.ts";
import { toLines } from "./text-file.ts";

export interface Edit {
  text: string;
  /** The lines of each replacement in the new text, from 1. */
  ranges: { first: number; last: number }[];
}

const SHOWN_MATCHES = 5;
const SHOWN_CHARACTERS = 200;
/** The share of letters in which a similar line may differ, and the longest line that is compared by letters. */
const MOST_DIFFERENT = 0.25;
const MOST_COMPARED = 300;

/**
 * Replaces an exact text. It must occur once, or `all` must be set. Line endings in `before` match either kind, and
 * `after` gets those of the text. The error of a text that is not found shows lines that are similar.
 */
export function editText(text: string, before: string, after: string, all = false): Edit {
  if (before === "")
    throw new AgentError("invalid-argument", "old_string is empty. Use write_file to create a file.");
  if (before === after) throw new AgentError("invalid-argument", "old_string and new_string are the same.");
  const windows = text.includes("\r\n");
  const inLines = (part: string) => part.replaceAll(/\r?\n/g, windows ? "\r\n" : "\n");
  const wanted = text.includes(before) ? before : inLines(before);
  const places = positionsOf(text, wanted);
  if (places.length === 0) throw new AgentError("not-found", notFound(text, before));
  if (places.length > 1 && !all) throw new AgentError("ambiguous", notUnique(text, places));
  const replacement = inLines(after);
  let result = "";
  let end = 0;
  let line = 1;
  const ranges: Edit["ranges"] = [];
  for (const place of all ? places : places.slice(0, 1)) {
    const kept = text.slice(end, place);
    line += breaksIn(kept);
    ranges.push({ first: line, last: line + breaksIn(replacement) });
    line += breaksIn(replacement);
    result += kept + replacement;
    end = place + wanted.length;
  }
  return { text: result + text.slice(end), ranges };
}

function positionsOf(text: string, wanted: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) places.push(at);
  return places;
}

function notUnique(text: string, places: readonly number[]): string {
  const lines = places.slice(0, SHOWN_MATCHES).map((place) => 1 + breaksIn(text.slice(0, place)));
  const more = places.length > SHOWN_MATCHES ? ", …" : "";
  return `old_string occurs ${places.length} times (lines ${lines.join(", ")}${more}). Add surrounding lines to make it unique, or set replace_all.`;
}

function notFound(text: string, before: string): string {
  const wanted = squeeze(toLines(before).find((line) => line.trim() !== "") ?? before);
  const lines = toLines(text).map((line, index) => ({ line, number: index + 1 }));
  const near: typeof lines = [];
  for (const one of wanted === "" ? [] : lines) {
    if (isNear(squeeze(one.line), wanted)) near.push(one);
    if (near.length === SHOWN_MATCHES) break;
  }
  const hint =
    near.length > 0
      ? `These lines are similar:\n${near.map(({ line, number }) => `${number}: ${line.slice(0, SHOWN_CHARACTERS)}`).join("\n")}`
      : "Read the file again and copy the text exactly, including spaces.";
  return `old_string was not found. ${hint}`;
}

/** Whether a line contains the wanted one, apart from spaces, or differs from it in few letters. */
function isNear(line: string, wanted: string): boolean {
  if (line.includes(wanted)) return true;
  const most = Math.floor(wanted.length * MOST_DIFFERENT);
  if (Math.max(line.length, wanted.length) > MOST_COMPARED) return false;
  return Math.abs(line.length - wanted.length) <= most && editDistance(line, wanted) <= most;
}

function squeeze(line: string): string {
  return line.replaceAll(/\s+/g, " ").trim();
}

function breaksIn(text: string): number {
  return text.split("\n").length - 1;
}
