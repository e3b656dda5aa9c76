import { toTitle } from "../thread-title.ts";
import { escapeNotes } from "./escape-notes.ts";
import { repairNotes } from "./repair-notes.ts";

export interface ParseOptions {
  /** Extractors whose value is a tag of the output. */
  slugs?: readonly string[] | undefined;
  /** Resource scope: the conversations that were shown. Notes under another id go to the first. */
  threadIds?: readonly string[] | undefined;
}

/** What a model wrote about one conversation, safe to be shown in a prompt. */
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
      /** All of it; with threads, what stands outside of their blocks too. */
      notes: Notes;
      /** In resource scope, by thread. */
      threads: ReadonlyMap<string, Notes>;
    }
  | { ok: false; reason: "empty" | "repetitive" };

const LONGEST_VALUE = 10_000;

/**
 * Reads the answer of an observer or reflector. A tag counts only at the start of a line. Without `<observations>`, the
 * list lines of the text are used. Repetition is repaired; only an answer that consists of little else is refused.
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

interface Block {
  /** `undefined` for text outside of all elements. */
  tag: string | undefined;
  threadId: string | undefined;
  lines: string[];
}

const TAG_LINE = /^<(\/?)([a-z][a-z0-9-]*)(?:\s+id="([^"]*)")?\s*>(.*)$/;

/** The elements of an output, and the text between them. An element that is never closed ends where the next begins. */
function readBlocks(output: string, tags: ReadonlySet<string>, threadIds: readonly string[]): Block[] {
  const blocks: Block[] = [];
  let threadId: string | undefined;
  /** The element that text belongs to once the present one is closed. */
  let outer: string | undefined;
  const open = (tag: string | undefined): Block => {
    const block: Block = { tag, threadId, lines: [] };
    blocks.push(block);
    return block;
  };
  let block = open(undefined);
  for (const line of output.split(/\r\n|\r|\n/)) {
    const [, slash, tag = "", id, rest = ""] = TAG_LINE.exec(line) ?? [];
    if (tag === "thread" && threadIds.length > 0) {
      threadId = slash ? undefined : threadIds.includes(id ?? "") ? id : threadIds[0];
      block = open(outer);
      if (rest.trim() !== "") block.lines.push(rest);
    } else if (!tags.has(tag)) {
      block.lines.push(line);
    } else if (slash) {
      outer = tag === "observations" ? undefined : outer;
      block = open(tag === "observations" ? undefined : outer);
    } else {
      block = open(tag);
      if (tag === "observations") outer = tag;
      const close = `</${tag}>`;
      const end = rest.trimEnd();
      block.lines.push(end.endsWith(close) ? end.slice(0, -close.length) : rest);
      if (end.endsWith(close)) block = open(tag === "observations" ? (outer = undefined) : outer);
    }
  }
  for (const one of blocks) stripClose(one);
  return blocks;
}

/** A closing tag at the end of the last line closes the element, too. */
function stripClose({ tag, lines }: Block): void {
  const last = lines.findLastIndex((line) => line.trim() !== "");
  if (tag === undefined || last < 0) return;
  lines[last] = lines[last]!.replace(new RegExp(`</${tag}>\\s*$`), "");
}

const LIST_LINE = /^\s*(?:[-*•]|\d+[.)])\s+\S/;
const HEADING = /^\s*(?:#+\s*)?(?:Date:\s*)?\d{4}-\d{2}-\d{2}/;

function listLines(blocks: readonly Block[]): string {
  return blocks
    .filter(({ tag }) => tag === undefined)
    .flatMap(({ lines }) => lines.filter((line) => LIST_LINE.test(line) || HEADING.test(line)))
    .join("\n");
}
