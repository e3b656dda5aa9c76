import { describe, expect, it } from "vitest";
import { extractBlocks } from "./extract-blocks.ts";

const TEXT = `# Looms

## Warp

\`\`\`typescript
const warp = 1
\`\`\`

\`\`\`bash
# not a heading, and not TypeScript
\`\`\`

\`\`\`xml
<cloth>one</cloth>
\`\`\`

### \`beat(count)\`

1. First:

   \`\`\`ts
   if (warp) {
     beat(warp)
   }
   \`\`\`

> \`\`\`ts
> quoted()
> \`\`\`

## Weft

\`\`\`\`md
\`\`\`ts
shown()
\`\`\`
\`\`\`\`

~~~ts
const a = \`
\`\`\`
\`
~~~

## Warp

\`\`\`ts
const warp = 2
`;

const blocks = extractBlocks(TEXT, "7-looms.md");
const named = (name: string) => blocks.find((block) => block.name === name);

describe("extractBlocks", () => {
  it("names a block by document number, nearest heading and place", () => {
    expect(blocks.map((block) => block.name)).toEqual([
      "7-warp-1",
      "7-beat-1",
      "7-beat-2",
      "7-weft-1",
      "7-warp-2",
    ]);
  });

  it("tells the line of the first line of code", () => {
    for (const block of blocks) {
      const line = TEXT.split("\n")[block.line - 1];
      expect(line).toContain(block.code.split("\n")[0]);
    }
  });

  it("knows the headings above a block, and takes no comment in code for one", () => {
    expect(named("7-beat-1")?.headings).toEqual(["Looms", "Warp", "beat(count)"]);
    expect(named("7-weft-1")?.headings).toEqual(["Looms", "Weft"]);
  });

  it("removes the indentation or the quote mark of the fence, and no more", () => {
    expect(named("7-beat-1")?.code).toBe("if (warp) {\n  beat(warp)\n}");
    expect(named("7-beat-2")?.code).toBe("quoted()");
  });

  it("takes a fence inside a longer or different fence as text", () => {
    expect(blocks.some((block) => block.code.includes("shown"))).toBe(false);
    expect(named("7-weft-1")?.code).toBe("const a = `\n```\n`");
  });

  it("keeps the XML that follows a block with it", () => {
    expect(blocks.map((block) => block.shows)).toEqual([["<cloth>one</cloth>"], [], [], [], []]);
  });

  it("ends an unclosed block at the end of the text", () => {
    expect(named("7-warp-2")?.code.trim()).toBe("const warp = 2");
  });

  it("gives changed code another hash, and the same code the same one", () => {
    const again = extractBlocks(TEXT.replace("const warp = 1", "const warp = 3"), "7-looms.md");
    expect(again[0]?.hash).not.toBe(blocks[0]?.hash);
    expect(again[1]?.hash).toBe(blocks[1]?.hash);
  });
});
