import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { extractBlocks } from "./extract-blocks.ts";
import { judgeDocuments } from "./judge-documents.ts";
import { problems, report } from "./report.ts";

const TEXT = `
# Good
\`\`\`ts
export const warp: number = 1
\`\`\`
# Wrong
\`\`\`ts
const weft = 2

export const warp: string = weft
\`\`\`
# Not TypeScript
\`\`\`ts
const = 1
\`\`\`
# Later
\`\`\`ts
import { MCPClient } from '@mastra/loom'
\`\`\`
# Gone
\`\`\`ts
import { Agent } from '@mastra/spindle'
\`\`\`
# Done
\`\`\`ts
export const done = true
\`\`\`
# Throws
\`\`\`ts
export const reed = 3
\`\`\`
# Changed
\`\`\`ts
export const edge = 4
\`\`\`
`;

const documents = await mkdtemp(join(tmpdir(), "documents-"));
await writeFile(join(documents, "1-loom.md"), TEXT);
const hashes = new Map(extractBlocks(TEXT, "1-loom.md").map((block) => [block.name, block.hash]));
const hash = (name: string) => hashes.get(name)!;
const judgement = await judgeDocuments(documents, {
  laterModules: { "@mastra/loom": "mcp" },
  table: {
    "1-good-1": { hash: hash("1-good-1"), run: (exports) => expect(exports.warp).toBe(1) },
    "1-done-1": { hash: hash("1-done-1"), pending: "rag" },
    "1-throws-1": { hash: hash("1-throws-1"), run: (exports) => expect(exports.reed).toBe(4) },
    "1-changed-1": { hash: "another" },
    "1-vanished-1": { hash: "any" },
  },
});
afterAll(() => rm(documents, { recursive: true }));

const verdict = (name: string) => judgement?.verdicts.find((each) => each.block.name === name);

describe("judgeDocuments", () => {
  it("passes a block whose types hold and whose run does what its entry asks", () => {
    expect(verdict("1-good-1")).toMatchObject({ outcome: "passed", ran: true });
  });

  it("shows what is wrong at its place in the document", () => {
    expect(verdict("1-wrong-1")).toMatchObject({
      outcome: "failed",
      problem: expect.stringMatching(/^1-loom\.md:10:14 TS2322 /),
    });
  });

  it("judges the other blocks when one does not parse", () => {
    expect(verdict("1-not-typescript-1")).toMatchObject({
      outcome: "failed",
      problem: expect.stringContaining("TS1134"),
    });
  });

  it("lets a block wait for a module of later work, and for no other", () => {
    expect(verdict("1-later-1")).toMatchObject({ outcome: "pending", waitsFor: "mcp (@mastra/loom)" });
    expect(verdict("1-gone-1")).toMatchObject({ outcome: "failed" });
  });

  it("fails a pending block that passes", () => {
    expect(verdict("1-done-1")).toMatchObject({
      outcome: "failed",
      problem: expect.stringContaining("passes now"),
    });
  });

  it("fails a block that does not do what its entry asks", () => {
    expect(verdict("1-throws-1")).toMatchObject({
      outcome: "failed",
      problem: expect.stringContaining("expected 3 to be 4"),
    });
  });

  it("names the entries whose block changed or is gone", () => {
    expect(judgement?.stale).toEqual([
      expect.stringMatching(/^1-changed-1: changed/),
      "1-vanished-1: no such block",
    ]);
    expect(problems(judgement!)).toHaveLength(7);
  });

  it("counts by document and by what is waited for", () => {
    const text = report(judgement!);
    expect(text).toMatch(/1-loom\.md +8 +2 +1 +1 +5\n/);
    expect(text).toMatch(/not yet covered\n +1 +mcp \(@mastra\/loom\)/);
  });

  it("says so when there are no documents", async () => {
    expect(await judgeDocuments(join(documents, "absent"), { table: {}, laterModules: {} })).toBeUndefined();
  });
});
