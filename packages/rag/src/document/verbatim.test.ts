import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ChunkParams } from "./chunk-params.ts";
import { htmlToText } from "./html-to-text.ts";
import { MDocument } from "./mdocument.ts";

interface Block {
  text: string;
  isCode: boolean;
}

const SIZE = 240;
const prose = fc
  .array(fc.constantFrom("warp", "weft", "loom.", "a", "selvedge", "1.", "#"), {
    minLength: 1,
    maxLength: 40,
  })
  .map((words) => words.join(" "));
const code = (lines: string[]): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...lines), { minLength: 1, maxLength: 4 }).map((list) => list.join("\n"));

/** Documents of prose and of blocks of code that are small beside a chunk. */
const documents = (heading: string, blocks: fc.Arbitrary<string>, newline = "\n"): fc.Arbitrary<Block[]> => {
  const toBlock =
    (isCode: boolean) =>
    (text: string): Block => ({ text: `${text}\n`.replaceAll("\n", newline), isCode });
  return fc.array(
    fc.oneof(
      prose.map(toBlock(false)),
      fc.constantFrom(heading, "").map(toBlock(false)),
      blocks.map(toBlock(true)),
    ),
    { minLength: 1, maxLength: 25 },
  );
};

async function expectWholeBlocks(blocks: readonly Block[], params: ChunkParams): Promise<void> {
  const text = blocks.map((block) => block.text).join("");
  const chunks = await MDocument.fromText(text).chunk({ size: SIZE, overlap: 0, ...params });
  let start = 0;
  for (const block of blocks) {
    const end = start + block.text.trimEnd().length;
    // Blanks before the first chunk of a text are left out.
    const inside = end - block.text.trim().length;
    if (block.isCode) {
      for (const chunk of chunks) {
        for (const cut of [chunk.startIndex!, chunk.startIndex! + chunk.text.length]) {
          expect(cut > inside && cut < end, `${JSON.stringify(block.text)} cut at ${cut - start}`).toBe(
            false,
          );
        }
      }
    }
    start += block.text.length;
  }
}

describe("small blocks of code", () => {
  const marks = fc.constantFrom(["```", "```"], ["```js", "```"], ["~~~", "~~~~"], ["  ````", " ````"]);
  const fenced = fc
    .tuple(marks, code(["# comment", "## more", "", "---", "text", "```js x", "***"]))
    .map(([[open, close], body]) => `${open}\n${body}\n${close}`);
  const comment = code(["# no heading", "", "text"]).map((body) => `<!-- hidden\n${body}\n-->`);
  const pre = code(["# no heading", "", "~~~"]).map((body) => `<pre>\n${body}\n</pre>`);
  const verbatim = code(["\\section{no}", "", "% $$", "\\begin{itemize}", "$$"]).map(
    (body) => `\\begin{verbatim}\n${body}\n\\end{verbatim}`,
  );
  const formula = code(["x^2", "\\$\\$", "% $$ in a comment"]).map((body) => `$$\n${body}\n$$`);
  const script = code(["<p>no", "<div>", "", "x < y"]).map((body) => `<script>\n${body}\n</script>`);
  const CASES: [string, ChunkParams, fc.Arbitrary<Block[]>][] = [
    ["Markdown", { strategy: "markdown" }, documents("# T", fc.oneof(fenced, comment, pre))],
    [
      "Markdown with CRLF",
      { strategy: "markdown" },
      documents("# T", fc.oneof(fenced, comment, pre), "\r\n"),
    ],
    [
      "Markdown with headers",
      { strategy: "markdown", headers: [["#", "title"]] },
      documents("# T", fc.oneof(fenced, comment, pre)),
    ],
    [
      "Markdown, joined",
      { strategy: "semantic-markdown", joinThreshold: 100 },
      documents("# T", fc.oneof(fenced, comment, pre)),
    ],
    ["code in Markdown", { strategy: "code", language: "md" }, documents("# T", fenced)],
    ["LaTeX", { strategy: "latex" }, documents("\\section{T}", fc.oneof(verbatim, formula))],
    ["recursive LaTeX", { strategy: "recursive", language: "latex" }, documents("\\section{T}", verbatim)],
    [
      "code in HTML",
      { strategy: "code", language: "html" },
      documents("<div>", fc.oneof(script, pre, comment)),
    ],
  ];

  for (const [name, params, blocks] of CASES) {
    it(`stay whole in ${name}`, async () => {
      await fc.assert(
        fc.asyncProperty(blocks, async (list) => expectWholeBlocks(list, params)),
        { numRuns: 200 },
      );
    });
  }
});

describe("preformatted text of a page", () => {
  it("stays whole where it is small", async () => {
    const pre = code(["for (;;) {", "", "  x", "<b>bold</b> # no"]);
    const page = fc.array(
      fc.oneof(
        prose.map((text) => `<p>${text}</p>`),
        pre.map((text) => `<pre>${text}</pre>`),
      ),
    );
    await fc.assert(
      fc.asyncProperty(page, async (elements) => {
        const html = elements.join("\n");
        const chunks = await MDocument.fromHTML(html).chunk({ size: SIZE, overlap: 0 });
        for (const element of elements.filter((text) => text.startsWith("<pre>"))) {
          const text = htmlToText(element).trim();
          expect(text === "" || chunks.some((chunk) => chunk.text.includes(text))).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe("long blocks of code", () => {
  const lines = (line: string): string => `${line}\n`.repeat(40);

  it("are cut at their lines and not at what looks like a heading", async () => {
    for (const [open, close] of [
      ["```", "```"],
      ["~~~", ""],
      ["   ```sh", "```"],
      ["<!--", "-->"],
    ] as const) {
      const text = `# Title\n\n${open}\n${"x = 1\n\ny = 2\n# not a heading\nz = 3\n".repeat(12)}${close}\n`;
      const chunks = await MDocument.fromMarkdown(text).chunk({ size: 120, overlap: 0 });
      expect(chunks.length).toBeGreaterThan(3);
      for (const chunk of chunks.slice(1)) expect(text.slice(0, chunk.startIndex)).toMatch(/\n\n$/);
    }
  });

  it("end with their list item", async () => {
    const headers: [string, string][] = [["#", "title"]];
    const list = ["- ```sh", "  # one", "  ```", "# First", "1. x", "   ```", "   # two", "# Second"].join(
      "\n",
    );
    const chunks = await MDocument.fromMarkdown(list).chunk({ headers });
    expect(chunks.map((chunk) => chunk.metadata.title)).toEqual([undefined, "First", "Second"]);
  });

  it("are not mistaken for it where they never end", async () => {
    const headers: [string, string][] = [["#", "title"]];
    const chunks = await MDocument.fromMarkdown(`# A\n\n\`\`\`\n# b\n${lines("# c")}`).chunk({ headers });
    expect(new Set(chunks.map((chunk) => chunk.metadata.title))).toEqual(new Set(["A"]));
  });

  it("leaves the front matter of a document out of its headings", async () => {
    const headers: [string, string][] = [
      ["#", "title"],
      ["##", "part"],
    ];
    const text = "---\n# made by a tool\ntitle: Looms\n---\n# One\ntext";
    const chunks = await MDocument.fromMarkdown(text).chunk({ headers });
    expect(chunks.map((chunk) => chunk.metadata)).toEqual([{}, { title: "One" }]);
    const rules = await MDocument.fromMarkdown("---\nText\n\n# One\n\n---\n").chunk({ headers });
    expect(rules.map((chunk) => chunk.metadata)).toEqual([{}, { title: "One" }]);
  });
});

describe("texts with a byte order mark", () => {
  it("are read as without it", async () => {
    const headers: [string, string][] = [["#", "title"]];
    for (const text of ["# One\ntext", "```\n# no\n```\n# One\ntext", "---\na: 1\n---\n# One\ntext"]) {
      const bare = await MDocument.fromMarkdown(text).chunk({ headers });
      const marked = await MDocument.fromMarkdown(`\uFEFF${text}`).chunk({ headers });
      expect(marked.map((chunk) => [chunk.text, chunk.metadata])).toEqual(
        bare.map((chunk) => [chunk.text, chunk.metadata]),
      );
      expect(marked[0]!.startIndex).toBe(1);
    }
    const json = await MDocument.fromJSON('\uFEFF{"a":1}').chunk();
    expect(json.map((chunk) => chunk.text)).toEqual(['{"a":1}']);
  });
});

describe("texts with CRLF", () => {
  it("are cut where the same text with LF is", async () => {
    const text = fc.array(fc.constantFrom("warp and weft", "loom. Why", "", "# T", "- item"), {
      maxLength: 60,
    });
    for (const strategy of ["recursive", "markdown", "latex", "code"] as const) {
      await fc.assert(
        fc.asyncProperty(text, async (lines) => {
          const chunks = await MDocument.fromText(lines.join("\r\n")).chunk({
            strategy,
            size: 60,
            overlap: 0,
          });
          // Every piece begins and ends at a line: each line here is short enough.
          for (const chunk of chunks) {
            for (const line of chunk.text.trim().split("\r\n")) expect([...lines]).toContain(line);
          }
        }),
        { numRuns: 100 },
      );
    }
  });
});
