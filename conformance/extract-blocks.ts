import { createHash } from "node:crypto";

/** One TypeScript block of a document. */
export interface Block {
  /** Document number, slug of the heading above (up to a parenthesis), place among its namesakes: `3-startsse-2`. */
  name: string;
  /** File name of the document. */
  document: string;
  /** Line of the document, from 1, that holds the first line of `code`. */
  line: number;
  /** The headings that stand above the block, outermost first. */
  headings: string[];
  code: string;
  /** Changes with `code`. */
  hash: string;
  /** The XML that stands between this block and the next: what a model receives, say. */
  shows: string[];
}

const FENCE = /^([ \t>]*)(`{3,}|~{3,})[ \t]*([^\s`]*)/;
const HEADING = /^(#{1,6})\s+(.+?)(?:\s+#+)?\s*$/;
const LANGUAGES = new Set(["ts", "typescript"]);

/** The TypeScript blocks of a markdown text, in order, also those indented in lists or quotes. */
export function extractBlocks(markdown: string, document: string): Block[] {
  const blocks: Block[] = [];
  const count = new Map<string, number>();
  const headings: (string | undefined)[] = [];
  const lines = markdown.split(/\r?\n/);
  const number = /^\d+/.exec(document)?.[0] ?? document;

  for (let at = 0; at < lines.length; at += 1) {
    const heading = HEADING.exec(lines[at]!);
    if (heading) headings.splice(heading[1]!.length - 1, 6, heading[2]!.replaceAll("`", ""));
    const fence = FENCE.exec(lines[at]!);
    if (!fence) continue;

    const [, prefix = "", mark = "", language = ""] = fence;
    const first = at + 1;
    // A fence closes with at least as many of its own mark, so a longer fence may hold shorter ones as text.
    const closing = new RegExp(`^[ \\t>]*${mark[0]}{${mark.length},}\\s*$`);
    at = first;
    while (at < lines.length && !closing.test(lines[at]!)) at += 1;
    const code = lines
      .slice(first, at)
      .map((line) => withoutPrefix(line, prefix))
      .join("\n");
    if (language.toLowerCase() === "xml") blocks.at(-1)?.shows.push(code);
    if (!LANGUAGES.has(language.toLowerCase())) continue;

    const path = headings.filter((text) => text !== undefined);
    const slug = `${number}-${slugify(path.at(-1) ?? "top")}`;
    const ordinal = (count.get(slug) ?? 0) + 1;
    count.set(slug, ordinal);
    const hash = createHash("sha256").update(code).digest("hex").slice(0, 8);
    blocks.push({
      name: `${slug}-${ordinal}`,
      document,
      line: first + 1,
      headings: path,
      code,
      hash,
      shows: [],
    });
  }
  return blocks;
}

/** A line inside an indented or quoted fence, without what stands before the fence itself. */
function withoutPrefix(line: string, prefix: string): string {
  let kept = 0;
  while (kept < prefix.length && /[ \t>]/.test(line[kept] ?? "")) kept += 1;
  return line.slice(kept);
}

function slugify(heading: string): string {
  return heading
    .replace(/\(.*/, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}
