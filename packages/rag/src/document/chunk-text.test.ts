import fc from "fast-check";
import { growthOf } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import type { ChunkParams } from "./chunk-params.ts";
import { htmlToText } from "./html-to-text.ts";
import { MDocument } from "./mdocument.ts";

const segmenter = new Intl.Segmenter("und", { granularity: "grapheme" });
const borders = (text: string): Set<number> =>
  new Set([...[...segmenter.segment(text)].map(({ index }) => index), text.length]);

/** Everything that is hard to cut: flags, joined emoji, accents, conjuncts, blanks of many kinds, long words. */
const parts = fc.constantFrom(
  "a",
  "word ",
  "Sentence. ",
  "Why? ",
  "\n",
  "\n\n",
  "\r\n",
  " ",
  "\t",
  "\u00a0",
  "👩‍👩‍👧",
  "🇩🇪",
  "👍🏽",
  "e\u0301",
  " \u0301",
  "क्षि",
  "한국",
  "文字。",
  "# Title\n",
  "```\n",
  "\\section{A}\n",
  "function f() {}\n",
  "<|endoftext|>",
);
const texts = fc.oneof(
  fc.array(parts, { maxLength: 120 }).map((list) => list.join("")),
  fc.string({ unit: "binary", maxLength: 200 }),
  fc.string({ unit: "grapheme", maxLength: 200 }),
);
/** No sign of the list above is longer than this, so none has to be broken. */
const LONGEST_SIGN = 12;
const limits = fc
  .tuple(fc.integer({ min: LONGEST_SIGN, max: 80 }), fc.double({ min: 0, max: 0.999, noNaN: true }))
  .map(([size, share]) => ({ size, overlap: Math.floor(size * share) }));

const BY_LENGTH: ChunkParams[] = [
  { strategy: "recursive" },
  { strategy: "recursive", separator: "\n" },
  { strategy: "recursive", separators: ["\n\n", "word"], keepSeparator: "start" },
  { strategy: "recursive", stripWhitespace: false },
  { strategy: "recursive", language: "ts" },
  { strategy: "character", separator: "." },
  { strategy: "character", separator: "[aeiou]", isSeparatorRegex: true, keepSeparator: "start" },
  { strategy: "sentence" },
  { strategy: "sentence", minSize: 5, sentenceEnders: ["d"] },
  { strategy: "markdown" },
  { strategy: "markdown", headers: [["#", "title"]] },
  { strategy: "semantic-markdown", joinThreshold: 20 },
  {
    strategy: "semantic",
    minSize: 5,
    embedder: { id: "length", embed: async (list) => list.map((text) => [text.length % 3, 1]) },
  },
  { strategy: "latex" },
  { strategy: "code", language: "js" },
  { strategy: "code" },
];

describe("every strategy that cuts text", () => {
  for (const params of BY_LENGTH) {
    const name = JSON.stringify(params);

    it(`keeps to the limit, the text and the overlap, loses nothing and breaks no sign: ${name}`, async () => {
      await fc.assert(
        fc.asyncProperty(texts, limits, async (text, limit) => {
          const chunks = await MDocument.fromText(text).chunk({ ...params, ...limit });
          const border = borders(text);
          const longest = Math.max(0, ...[...segmenter.segment(text)].map(({ segment }) => segment.length));
          let end = 0;
          for (const chunk of chunks) {
            const start = chunk.startIndex!;
            expect(chunk.text.length).toBeLessThanOrEqual(limit.size);
            expect(chunk.text).not.toBe("");
            expect(text.startsWith(chunk.text, start)).toBe(true);
            expect(chunk.content).toBe(chunk.text);
            if (longest <= limit.size) {
              expect(border).toContain(start);
              expect(border).toContain(start + chunk.text.length);
            }
            expect(end - start).toBeLessThanOrEqual(limit.overlap);
            // What lies between two chunks is white space, and none of it if that is to be kept.
            expect(text.slice(end, start).trim()).toBe("");
            if (params.stripWhitespace === false) expect(start).toBeLessThanOrEqual(end);
            expect(start + chunk.text.length).toBeGreaterThan(end);
            end = start + chunk.text.length;
          }
          expect(text.slice(end).trim()).toBe("");
        }),
        { numRuns: 150 },
      );
    });
  }

  it("splits a sentence only if it alone is too long", async () => {
    const text = "One is here. Two is here. Three is a sentence that does not fit.";
    const chunks = await MDocument.fromText(text).chunk({ strategy: "sentence", maxSize: 30, overlap: 0 });
    expect(chunks.map((chunk) => chunk.text)).toEqual([
      "One is here. Two is here.",
      "Three is a sentence that does",
      "not fit.",
    ]);
  });

  it("cuts the same way with a length function that says the length", async () => {
    await fc.assert(
      fc.asyncProperty(texts, limits, async (text, limit) => {
        const lengthFunction = (part: string): number => part.length;
        const chunks = await MDocument.fromText(text).chunk({ ...limit, lengthFunction });
        let end = 0;
        for (const { text: chunk, startIndex } of chunks) {
          expect(chunk.length).toBeLessThanOrEqual(limit.size);
          expect(end - startIndex!).toBeLessThanOrEqual(limit.overlap);
          expect(text.slice(end, startIndex).trim()).toBe("");
          end = startIndex! + chunk.length;
        }
        expect(text.slice(end).trim()).toBe("");
      }),
      { numRuns: 150 },
    );
  });

  it("repeats exactly the overlap where no word begins in it", async () => {
    const chunks = await MDocument.fromText("x".repeat(1_000)).chunk({ size: 100, overlap: 30 });
    for (const [index, { startIndex }] of chunks.entries()) expect(startIndex).toBe(index * 70);
  });

  it("ends for an overlap just below the size, and refuses one that is not", async () => {
    const text = "one two three ".repeat(20);
    expect(await MDocument.fromText(text).chunk({ size: 20, overlap: 19 })).not.toEqual([]);
    for (const overlap of [20, 21, -1, 1.5, Number.NaN]) {
      const refused = MDocument.fromText(text).chunk({ size: 20, overlap });
      await expect(refused).rejects.toMatchObject({ code: "invalid-argument" });
    }
  });

  it("breaks a sign only where it alone is over the limit, and never a code point", async () => {
    const zalgo = `a${"\u0301".repeat(50)}`;
    const chunks = await MDocument.fromText(zalgo).chunk({ size: 10, overlap: 0 });
    expect(chunks.map(({ text }) => text).join("")).toBe(zalgo);
    expect((await MDocument.fromText("😀😀").chunk({ size: 3, overlap: 0 })).map(({ text }) => text)).toEqual(
      ["😀", "😀"],
    );
    const tooSmall = MDocument.fromText("😀").chunk({ size: 1, overlap: 0 });
    await expect(MDocument.fromText("😀a").chunk({ size: 1, overlap: 0 })).rejects.toMatchObject({
      code: "invalid-argument",
    });
    await expect(tooSmall).rejects.toMatchObject({ code: "invalid-argument" });
  });

  it("does not take longer per character for longer hostile texts", async () => {
    const hostile = [
      "a",
      "🇩🇪",
      "\u0301",
      "\n",
      ". ",
      "# ",
      "```",
      "- + ",
      "```\n",
      "<p>",
      '"',
      "\\section{",
      "$$",
    ];
    for (const sign of hostile) {
      for (const strategy of ["recursive", "sentence", "markdown", "html", "latex", "token"] as const) {
        const chunk = (size: number) =>
          MDocument.fromText(sign.repeat(size / sign.length)).chunk({ strategy });
        expect(await growthOf(chunk, 10_000), `${strategy} ${sign}`).toBeLessThan(1.5);
      }
    }
  });
});

describe("recursive", () => {
  it("prefers paragraphs to lines, lines to sentences, sentences to words", async () => {
    const cut = async (text: string): Promise<string[]> =>
      (await MDocument.fromText(text).chunk({ size: 20, overlap: 0 })).map((chunk) => chunk.text);
    expect(await cut("first para.\n\nnext line\nmore text")).toEqual(["first para.", "next line\nmore text"]);
    expect(await cut("a first line\na second line")).toEqual(["a first line", "a second line"]);
    expect(await cut("A sentence. Another one.")).toEqual(["A sentence.", "Another one."]);
    expect(await cut("some words without end")).toEqual(["some words without", "end"]);
    expect(await cut("five5 five5 five5 ab five5")).toEqual(["five5 five5 five5 ab", "five5"]);
  });

  it("begins an overlap at a word", async () => {
    const chunks = await MDocument.fromText("alpha beta gamma delta epsilon").chunk({ size: 16, overlap: 8 });
    expect(chunks.map(({ text }) => text)).toEqual(["alpha beta gamma", "gamma delta", "delta epsilon"]);
  });

  it("measures with the caller's function", async () => {
    const lengthFunction = (text: string): number => text.split(/\s+/).filter(Boolean).length;
    const chunks = await MDocument.fromText("a b c d e f g").chunk({ size: 3, overlap: 1, lengthFunction });
    expect(chunks.map(({ text }) => text)).toEqual(["a b c", "c d e", "e f g"]);
    const never = MDocument.fromText("a b").chunk({ size: 3, overlap: 0, lengthFunction: () => 9 });
    await expect(never).rejects.toMatchObject({ code: "invalid-argument" });
  });
});

describe("token", () => {
  it("counts tokens, not characters, and loses nothing", async () => {
    const { countTokens } = await import("gpt-tokenizer/encoding/cl100k_base");
    await fc.assert(
      fc.asyncProperty(texts, fc.integer({ min: 30, max: 60 }), async (text, size) => {
        const chunks = await MDocument.fromText(text).chunk({ strategy: "token", size, overlap: 0 });
        expect(chunks.map((chunk) => chunk.text).join("")).toBe(text);
        for (const chunk of chunks) {
          const tokens = countTokens(chunk.text, { disallowedSpecial: new Set() });
          expect(tokens).toBeLessThanOrEqual(size);
        }
      }),
      { numRuns: 100 },
    );
  });

  it("takes the encoding of a model and refuses one it does not know", async () => {
    const text = "hello world ".repeat(50);
    const chunk = async (params: ChunkParams): Promise<number> =>
      (await MDocument.fromText(text).chunk({ strategy: "token", size: 20, ...params })).length;
    expect(await chunk({ modelName: "gpt-4o" })).toBeGreaterThan(1);
    expect(await chunk({ encodingName: "gpt2" })).toBeGreaterThan(1);
    await expect(chunk({ encodingName: "nope" })).rejects.toMatchObject({ code: "invalid-argument" });
    await expect(chunk({ modelName: "nope" })).rejects.toMatchObject({ code: "invalid-argument" });
  });
});

describe("sentence", () => {
  it("ends chunks at sentences", async () => {
    const text = 'He said "no." She left. It was 3.5 metres. Then silence!';
    const chunks = await MDocument.fromText(text).chunk({ strategy: "sentence", size: 30, overlap: 0 });
    expect(chunks.map((chunk) => chunk.text)).toEqual([
      'He said "no." She left.',
      "It was 3.5 metres.",
      "Then silence!",
    ]);
  });

  it("leaves a long sentence whole when it may not be cut", async () => {
    const text = "A very long sentence that goes on and on. Short one.";
    const params = { strategy: "sentence", size: 20, overlap: 0 } as const;
    const chunks = await MDocument.fromText(text).chunk({ ...params, fallbackToWords: false });
    expect(chunks.map((chunk) => chunk.text)).toEqual([
      "A very long sentence that goes on and on.",
      "Short one.",
    ]);
  });
});

describe("markdown", () => {
  const text = [
    "intro",
    "# One",
    "first",
    "```",
    "# not a heading",
    "```",
    "## Sub #",
    "second",
    "Two",
    "===",
    "third",
  ].join("\n");

  it("opens a section at each heading it was told of, outside code, and names them in the metadata", async () => {
    const headers: [string, string][] = [
      ["#", "title"],
      ["##", "part"],
    ];
    const chunks = await MDocument.fromMarkdown(text, { from: "test" }).chunk({ headers });
    expect(chunks.map((chunk) => [chunk.text.split("\n")[0], chunk.metadata])).toEqual([
      ["intro", { from: "test" }],
      ["# One", { from: "test", title: "One" }],
      ["## Sub #", { from: "test", title: "One", part: "Sub" }],
      ["Two", { from: "test", title: "Two" }],
    ]);
    expect(chunks[1]!.text).toContain("# not a heading");
    const stripped = await MDocument.fromMarkdown(text).chunk({ headers, stripHeaders: true });
    expect(stripped.at(-1)).toMatchObject({ text: "third", metadata: { title: "Two" } });
    const lines = await MDocument.fromMarkdown(text).chunk({ headers, returnEachLine: true });
    expect(lines.at(-1)!.text).toBe("third");
  });

  it("joins small sections up to a number of tokens", async () => {
    const sections = Array.from({ length: 6 }, (_, index) => `## S${index}\n${"word ".repeat(20)}\n`).join(
      "",
    );
    const chunks = await MDocument.fromMarkdown(sections).chunk({
      strategy: "semantic-markdown",
      size: 2_000,
      joinThreshold: 60,
    });
    expect(chunks.map((chunk) => chunk.metadata.title)).toEqual(["S0", "S2", "S4"]);
  });
});

describe("html", () => {
  const tags = fc.constantFrom(
    "<p>",
    "</p>",
    "<h1>",
    "</h1>",
    "<section id=x>",
    "</section>",
    "<pre>",
    "<!--",
    "&amp;",
    "&#x1F600;",
  );

  it("cuts any page, however broken, as it cuts its text", async () => {
    const pages = fc.array(fc.oneof(parts, tags), { maxLength: 80 }).map((list) => list.join(""));
    await fc.assert(
      fc.asyncProperty(pages, limits, async (page, limit) => {
        const chunks = await MDocument.fromHTML(page).chunk({
          ...limit,
          headers: [["h1", "title"]],
          sections: [["section", "name"]],
        });
        const text = htmlToText(page);
        let end = 0;
        for (const chunk of chunks) {
          expect(chunk.text.length).toBeLessThanOrEqual(limit.size);
          expect(text.startsWith(chunk.text, chunk.startIndex)).toBe(true);
          expect(end - chunk.startIndex!).toBeLessThanOrEqual(limit.overlap);
          expect(text.slice(end, chunk.startIndex).trim()).toBe("");
          end = chunk.startIndex! + chunk.text.length;
        }
        expect(text.slice(end).trim()).toBe("");
      }),
      { numRuns: 200 },
    );
  });

  it("does not work longer on each element the more there are around it", async () => {
    const pages: [name: string, page: (count: number) => string][] = [
      ["nested", (count) => `${"<b>".repeat(count)}word${"</b>".repeat(count)}`],
      ["never closed", (count) => "<p><b>word ".repeat(count)],
      ["closed but never opened", (count) => `${"<b>".repeat(count)}word${"</i>".repeat(count)}`],
      ["not seen", (count) => `${"<svg>".repeat(count)}word${"</svg>".repeat(count)}`],
      ["lists", (count) => "<ul><li>word".repeat(count)],
    ];
    for (const [name, page] of pages)
      expect(await growthOf((size) => htmlToText(page(size)), 2_000), name).toBeLessThan(1.5);
  });

  it("reads what is nested deeper than browsers go, and still shows no scripts and pictures", () => {
    const deep = (inner: string): string =>
      `${"<div>".repeat(2_000)}${inner}${"</div>".repeat(2_000)}<p>after`;
    expect(htmlToText(deep("a <b>b</b><p>c</p>d"))).toBe("a b\n\nc\n\nd\n\nafter");
    expect(htmlToText(deep("a<script>evil()</script><svg><text>no</text><path d='M0'/></svg>b"))).toBe(
      "ab\n\nafter",
    );
    expect(htmlToText(deep("a<br>b<hr>c<img>"))).toBe("a\nb\nc\n\nafter");
  });

  const html =
    "<html><head><title>T</title><style>p{}</style></head><body><h1>A &amp; B</h1><p>one <b>two</b>\n three</p>" +
    "<script>evil()</script><h2>Sub</h2><ul><li>x</li><li>y</li></ul><pre>  kept\n  so</pre><h1>C</h1>end</body></html>";

  it("cuts what a reader sees", async () => {
    expect(htmlToText(html)).toBe("A & B\n\none two three\n\nSub\n\nx\ny\n\n  kept\n  so\n\nC\n\nend");
    // The tags around a head and a body may be left out.
    expect(htmlToText("<head><title>T</title><meta name=a><p>text")).toBe("text");
    expect(htmlToText("<title>T</title><!-- <h1>no</h1> --><p>text<script>'<h1>'</script>")).toBe("text");
    const chunks = await MDocument.fromHTML(html).chunk({ size: 15, overlap: 0 });
    const text = htmlToText(html);
    for (const chunk of chunks) expect(text.startsWith(chunk.text, chunk.startIndex)).toBe(true);
  });

  it("opens a section at each heading or element it was told of", async () => {
    const chunks = await MDocument.fromHTML(html).chunk({
      headers: [
        ["h1", "title"],
        ["h2", "part"],
      ],
    });
    expect(chunks.map((chunk) => chunk.metadata)).toEqual([
      { title: "A & B" },
      { title: "A & B", part: "Sub" },
      { title: "C" },
    ]);
    const page = '<section id="s1">one</section><section id="s2"><h1>Two</h1>text</section>';
    const parts = await MDocument.fromHTML(page).chunk({ sections: [["section", "name"]] });
    expect(parts.map((chunk) => [chunk.text, chunk.metadata.name])).toEqual([
      ["one", "s1"],
      ["Two\n\ntext", "s2"],
    ]);
  });
});

describe("json", () => {
  const values = fc.jsonValue({ maxDepth: 4, stringUnit: "grapheme" });

  it("gives JSON within the limit that together holds every value, in order", async () => {
    await fc.assert(
      fc.asyncProperty(values, fc.boolean(), fc.boolean(), async (value, convertLists, ensureAscii) => {
        // Room for the keys of the way to any value.
        const size = 60 + longestPath(value);
        const chunks = await MDocument.fromJSON(JSON.stringify(value)).chunk({
          size,
          convertLists,
          ensureAscii,
        });
        for (const chunk of chunks) {
          expect(chunk.text.length).toBeLessThanOrEqual(size);
          if (ensureAscii) expect(chunk.text).toMatch(/^[\x20-\x7e]*$/);
        }
        const found = chunks.flatMap((chunk) => leaves(JSON.parse(chunk.text)));
        expect(joinStrings(found)).toEqual(joinStrings(leaves(JSON.parse(JSON.stringify(value)))));
      }),
      { numRuns: 300 },
    );
  });

  it("keeps the way from the root, and goes on with a long string under the same path", async () => {
    const chunks = await MDocument.fromJSON({ a: { long: "x".repeat(70), n: 1 }, b: [1, 2] }).chunk({
      size: 60,
    });
    expect(chunks.map((chunk) => JSON.parse(chunk.text))).toEqual([
      { a: { long: "x".repeat(43) } },
      { a: { long: "x".repeat(27), n: 1 }, b: [1, 2] },
    ]);
    expect(chunks[0]!.startIndex).toBeUndefined();
  });

  it("says that a document is not JSON, too deep, or that the size cannot hold its keys", async () => {
    const chunk = (text: string): Promise<unknown> => MDocument.fromJSON(text).chunk({ size: 20 });
    await expect(chunk("{")).rejects.toMatchObject({ code: "invalid-argument" });
    await expect(chunk(`{"${"k".repeat(40)}":1}`)).rejects.toMatchObject({ code: "invalid-argument" });
    const deep = `${"[".repeat(5_000)}1${"]".repeat(5_000)}`;
    await expect(MDocument.fromJSON(deep).chunk({ size: 4_000 })).rejects.toMatchObject({
      code: "limit-exceeded",
    });
  });
});

describe("semantic", () => {
  it("parts a text where the subject changes", async () => {
    const embedder = {
      id: "two-subjects",
      embed: async (list: string[]) => list.map((text) => (text.includes("loom") ? [1, 0] : [0, 1])),
    };
    const text = "The loom is old. A loom holds warp. The loom creaks. Bread needs salt. Bread needs time.";
    const params = { strategy: "semantic", embedder, breakShare: 0.25, minSize: 10 } as const;
    const chunks = await MDocument.fromText(text).chunk(params);
    expect(chunks.map((chunk) => chunk.text)).toEqual([
      "The loom is old. A loom holds warp. The loom creaks.",
      "Bread needs salt. Bread needs time.",
    ]);
    await expect(MDocument.fromText(text).chunk({ strategy: "semantic" })).rejects.toMatchObject({
      code: "invalid-argument",
    });
  });
});

describe("params", () => {
  it("takes both spellings of the size", async () => {
    const text = "word ".repeat(100);
    const chunk = (params: ChunkParams): Promise<unknown> => MDocument.fromText(text).chunk(params);
    expect(await chunk({ maxSize: 50, overlap: 5 })).toEqual(await chunk({ size: 50, overlap: 5 }));
    await expect(chunk({ size: 50, maxSize: 60 })).rejects.toMatchObject({ code: "invalid-argument" });
  });

  it("refuses what it does not understand, by name", async () => {
    const refused: [unknown, RegExp][] = [
      [{ strategy: "poetic" }, /strategy must be one of recursive/],
      [{ headers: [["#", "x"]] }, /recursive accepts .* but not "headers"/],
      [{ chunkSize: 5 }, /but not "chunkSize"/],
      [{ size: 0 }, /size/],
      [{ size: "5" }, /size/],
      [{ size: Number.NaN }, /size/],
      [{ separator: 5 }, /separator/],
      [{ separators: "x" }, /separators/],
      [{ separator: "(", isSeparatorRegex: true }, /regular expression/],
      [{ keepSeparator: "middle" }, /keepSeparator/],
      [{ lengthFunction: 1 }, /lengthFunction/],
      [{ language: "klingon" }, /language/],
      [{ strategy: "markdown", headers: [["h1", "x"]] }, /"#" to "######"/],
      [{ strategy: "markdown", headers: ["#"] }, /headers/],
      [{ strategy: "markdown", headers: [["#", "__proto__"]] }, /headers/],
      [{ strategy: "sentence", size: 10, targetSize: 20 }, /targetSize/],
      [{ strategy: "semantic", breakShare: 2 }, /breakShare/],
    ];
    for (const [params, message] of refused) {
      const chunked = MDocument.fromText("some text").chunk(params as ChunkParams);
      await expect(chunked, JSON.stringify(params)).rejects.toMatchObject({
        code: "invalid-argument",
        message: expect.stringMatching(message),
      });
    }
  });
});

function leaves(value: unknown, path = ""): [string, unknown][] {
  if (typeof value !== "object" || value === null) return [[path, value]];
  const entries = Object.entries(value);
  if (entries.length === 0) return [[path, "{}"]];
  // Places in lists may shift from one chunk to the next; only names count.
  return entries.flatMap(([key, child]) => leaves(child, /^\d+$/.test(key) ? `${path}.*` : `${path}.${key}`));
}

/** Strings of one path that follow one another may be pieces of one. */
function joinStrings(list: [string, unknown][]): [string, unknown][] {
  const joined: [string, unknown][] = [];
  for (const [path, value] of list) {
    const before = joined.at(-1);
    if (before && before[0] === path && typeof value === "string" && typeof before[1] === "string")
      before[1] += value;
    else joined.push([path, value]);
  }
  return joined;
}

function longestPath(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const lengths = Object.entries(value).map(([key, child]) => 6 * key.length + 6 + longestPath(child));
  return Math.max(0, ...lengths);
}
