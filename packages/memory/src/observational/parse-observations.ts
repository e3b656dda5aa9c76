import { toTitle } from "../thread-title.ts";
import { escapeNotes } from "./escape-notes.ts";
import { type Block, readBlocks } from "./read-blocks.ts";
import { repairNotes } from "./repair-notes.ts";

export interface ParseOptions {
  /** Extractors whose value is a tag of the output. */
  slugs?: readonly string[] | undefined;
  /** Resource scope: the conversations that were shown. Notes under an unknown id go to the first. */
  threadIds?: readonly string[] | undefined;
}

/** A model's notes about one conversation, safe to show in a prompt. */
export interface Notes {
  observations: string;
  currentTask?: string | undefined;
  suggestedResponse?: string | undefined;
  threadTitle?: string | undefined;
  /** By slug. */
  extracted: Record<string, string>;
}

export type ParsedNotes =
  | {
      ok: true;
      /** All of it; with threads, including what is outside of their blocks. */
      notes: Notes;
      /** In resource scope, by thread. */
      threads: ReadonlyMap<string, Notes>;
    }
  | { ok: false; reason: "empty" | "repetitive" };

const LONGEST_VALUE = 10_000;

/**
 * Parses the answer of an observer or reflector. A tag counts only at the start of a line. Without `<observations>`,
 * the list lines of the text are used. Repetition is repaired; only an answer that consists of little else is refused.
 */
export function parseObservations(output: string, options: ParseOptions = {}): ParsedNotes {
  const threadIds = options.threadIds ?? [];
  const blocks = readBlocks(output.toWellFormed(), new Set([...TAGS, ...(options.slugs ?? [])]), threadIds);
  const noted = (threadId?: string): string =>
    blocks
      .filter((block) => block.tag === "observations" && (!threadId || block.threadId === threadId))
      .map((block) => block.lines.join("\n"))
      .join("\n");
  const repaired = repairNotes(noted().trim() === "" ? listLines(blocks) : noted());
  if (!repaired.ok) return repaired;
  const of = (threadId: string | undefined, observations: string): Notes => {
    const value = (tag: string): string | undefined => {
      const block = blocks.findLast((one) => one.tag === tag && one.threadId === threadId);
      const text = escapeNotes(block?.lines.join("\n").trim().slice(0, LONGEST_VALUE) ?? "");
      return text === "" ? undefined : text;
    };
    const title = toTitle(value("thread-title") ?? "");
    const extracted = (options.slugs ?? []).flatMap((slug) => {
      const text = value(slug);
      return text === undefined ? [] : [[slug, text] as const];
    });
    return {
      observations,
      currentTask: value("current-task"),
      suggestedResponse: value("suggested-response"),
      threadTitle: title === "" ? undefined : title,
      extracted: Object.fromEntries(extracted),
    };
  };
  const threads = new Map<string, Notes>();
  for (const threadId of threadIds) {
    const own = repairNotes(noted(threadId));
    if (own.ok) threads.set(threadId, of(threadId, own.text));
  }
  return { ok: true, notes: of(undefined, repaired.text), threads };
}

const TAGS = ["observations", "current-task", "suggested-response", "thread-title"];

const LIST_LINE = /^\s*(?:[-*•]|\d+[.)])\s+\S/;
const HEADING = /^\s*(?:#+\s*)?(?:Date:\s*)?\d{4}-\d{2}-\d{2}/;

function listLines(blocks: readonly Block[]): string {
  return blocks
    .filter(({ tag }) => tag === undefined)
    .flatMap(({ lines }) => lines.filter((line) => LIST_LINE.test(line) || HEADING.test(line)))
    .join("\n");
}
