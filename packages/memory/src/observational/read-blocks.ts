/** An element of a model's output. */
export interface Block {
  /** `undefined` for text outside of all elements. */
  tag: string | undefined;
  threadId: string | undefined;
  lines: string[];
}

const TAG_LINE = /^<(\/?)([a-z][a-z0-9-]*)(?:\s+id="([^"]*)")?\s*>(.*)$/;

/** The elements of an output, and the text between them. An unclosed element ends where the next starts. */
export function readBlocks(output: string, tags: ReadonlySet<string>, threadIds: readonly string[]): Block[] {
  const blocks: Block[] = [];
  let threadId: string | undefined;
  /** The element that text belongs to after the current one is closed. */
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
