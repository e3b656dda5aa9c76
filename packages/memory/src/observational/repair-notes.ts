import { escapeNotes } from "./escape-notes.ts";
import { isDateHeading } from "./log-lines.ts";
import { OBSERVER_TASK, REFLECTOR_TASK, SUMMARY_TASK } from "./om-texts.ts";

export type RepairedNotes = { ok: true; text: string } | { ok: false; reason: "empty" | "repetitive" };

const LONGEST_LINE = 10_000;
/** Shorter texts are never refused for repetition. */
const LONG_TEXT = 4_000;
const LEAST_SHARE = 0.1;

/**
 * Cleans notes: merges equal lines with a count, cuts endless ones, drops lines that repeat the instructions, and
 * escapes markup.
 */
export function repairNotes(text: string): RepairedNotes {
  const lines = dropEmptyHeadings(mergeLines(toLines(text)));
  const repaired = lines.join("\n").trim();
  if (!lines.some((line) => !isDateHeading(line))) return { ok: false, reason: "empty" };
  if (text.length >= LONG_TEXT && repaired.length < text.trim().length * LEAST_SHARE) {
    return { ok: false, reason: "repetitive" };
  }
  return { ok: true, text: repaired };
}

function toLines(text: string): string[] {
  const repeated = instructionLines();
  return escapeNotes(text)
    .split("\n")
    .map((line) => cut(collapse(line)).trimEnd())
    .filter((line) => line.trim() !== "" && !/^\s*```/.test(line) && !repeated(line));
}

function cut(line: string): string {
  return line.length <= LONGEST_LINE ? line : `${line.slice(0, LONGEST_LINE - 1).toWellFormed()}…`;
}

/** A unit that a line repeats ten times and more is written once, with a count. */
function collapse(line: string): string {
  if (line.length < 1000) return line;
  return line
    .slice(0, LONGEST_LINE * 10)
    .replaceAll(/(.{1,80}?)\1{9,}/g, (all: string, unit: string) =>
      unit.trim() === "" ? " " : ` ${unit.trim()} (×${all.length / unit.length}) `,
    );
}

/** Lines that are equal under one date become one, with a count. Details are compared within their fact. */
function mergeLines(lines: readonly string[]): string[] {
  const merged: { line: string; count: number }[] = [];
  const places = new Map<string, { line: string; count: number }>();
  let date = "";
  let fact = "";
  for (const line of lines) {
    if (isDateHeading(line)) {
      fact = "";
      if (line.trim() === date) continue;
      date = line.trim();
      merged.push({ line, count: 1 });
      continue;
    }
    const isDetail = /^\s{2,}/.test(line);
    if (!isDetail) fact = line;
    const key = `${date}\n${isDetail ? fact : ""}\n${line.trim()}`;
    const known = places.get(key);
    if (known) known.count++;
    else {
      const entry = { line, count: 1 };
      places.set(key, entry);
      merged.push(entry);
    }
  }
  return merged.map(({ line, count }) => (count > 1 ? `${line} (×${count})` : line));
}

function dropEmptyHeadings(lines: readonly string[]): string[] {
  return lines.filter((line, index) => {
    if (!isDateHeading(line)) return true;
    const next = lines[index + 1];
    return next !== undefined && !isDateHeading(next);
  });
}

const LEAST_WORDS = 6;

/** Recognises lines that repeat the instructions. */
function instructionLines(): (line: string) => boolean {
  const known = new Set(
    [OBSERVER_TASK, REFLECTOR_TASK, SUMMARY_TASK].flatMap((text) => text.split(/\n|(?<=[.!?]) /)).map(plain),
  );
  return (line) => {
    const sentences = line.split(/(?<=[.!?]) /).map(plain);
    return sentences.some((one) => one.split(" ").length >= LEAST_WORDS && known.has(one));
  };
}

function plain(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .replace(/^\s*(?:\d{1,2} \d{2} )?/, "")
    .trim();
}
