import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { blockModule, FIRST_BLOCK_LINE } from "./block-module.ts";
import type { BlockSetUp, Topic } from "./block-set-up.ts";
import { type Block, extractBlocks } from "./extract-blocks.ts";
import { runBlock } from "./run-block.ts";
import { type Diagnostic, isSyntaxError, typeCheck } from "./type-check.ts";

/** What came of one block. */
export type Verdict = { block: Block } & (
  | { outcome: "passed"; ran: boolean }
  | { outcome: "pending"; waitsFor: string }
  | { outcome: "failed"; problem: string }
);

export interface Judgement {
  verdicts: Verdict[];
  /** Entries of the table whose block changed or is gone. */
  stale: string[];
}

interface Law {
  table: Record<string, BlockSetUp>;
  /** Modules of later work. A block that imports one waits for it; any other missing module is a failure. */
  laterModules: Record<string, Topic>;
}

const PROJECT = fileURLToPath(new URL("..", import.meta.url));

/** Judges every block of the documents in a folder; `undefined` where the folder is not there. */
export async function judgeDocuments(documents: string, law: Law): Promise<Judgement | undefined> {
  const blocks = await readBlocks(documents);
  if (!blocks) return undefined;
  const temporary = join(PROJECT, "conformance", "tmp");
  await mkdir(temporary, { recursive: true });
  const folder = await mkdtemp(join(temporary, "blocks-"));
  try {
    await linkPackages(folder);
    return { verdicts: await judgeBlocks(blocks, folder, law), stale: staleEntries(blocks, law.table) };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function readBlocks(documents: string): Promise<Block[] | undefined> {
  const files = await readdir(documents).catch(() => undefined);
  if (!files) return undefined;
  const numbered = files.filter((file) => /^[1-5]-.*\.md$/.test(file)).sort();
  const read = async (file: string) => extractBlocks(await readFile(join(documents, file), "utf8"), file);
  return (await Promise.all(numbered.map(read))).flat();
}

/** Puts our packages where `@mastra/*` is looked for, which is what an alias in `package.json` does. */
async function linkPackages(folder: string): Promise<void> {
  const scope = join(folder, "node_modules", "@mastra");
  await mkdir(scope, { recursive: true });
  for (const name of await readdir(join(PROJECT, "packages"))) {
    await symlink(join(PROJECT, "packages", name), join(scope, name), "junction");
  }
}

async function judgeBlocks(blocks: Block[], folder: string, law: Law): Promise<Verdict[]> {
  const fileOf = (block: Block) => `${block.name}.ts`;
  for (const block of blocks) {
    await writeFile(join(folder, fileOf(block)), blockModule(block, law.table[block.name]));
  }
  const diagnostics = Map.groupBy(await typeCheck(folder, blocks.map(fileOf)), ({ file }) => file);
  const verdicts: Verdict[] = [];
  for (const block of blocks) {
    const judged = judgeTypes(block, diagnostics.get(fileOf(block)) ?? [], law);
    verdicts.push(judged ?? (await judgeRun(block, join(folder, fileOf(block)), law.table[block.name])));
  }
  return verdicts;
}

/** The verdict on a block's types; `undefined` when they hold and are to hold. */
function judgeTypes(block: Block, diagnostics: Diagnostic[], law: Law): Verdict | undefined {
  const pending = law.table[block.name]?.pending;
  if (diagnostics.length === 0) {
    return (
      pending && {
        block,
        outcome: "failed",
        problem: `passes now: take pending "${pending}" out of the table`,
      }
    );
  }
  const waitsFor = pending ?? missingModule(diagnostics, law.laterModules);
  if (waitsFor && !diagnostics.some(isSyntaxError)) return { block, outcome: "pending", waitsFor };
  return { block, outcome: "failed", problem: diagnostics.map((each) => inDocument(block, each)).join("\n") };
}

async function judgeRun(block: Block, file: string, setUp: BlockSetUp | undefined): Promise<Verdict> {
  if (!setUp?.run) return { block, outcome: "passed", ran: false };
  const problem = await runBlock(block, file, setUp);
  return problem === undefined
    ? { block, outcome: "passed", ran: true }
    : { block, outcome: "failed", problem };
}

function missingModule(diagnostics: Diagnostic[], laterModules: Record<string, Topic>): string | undefined {
  for (const { code, message } of diagnostics) {
    const specifier = code === "TS2307" && /'(@mastra\/[^']+)'/.exec(message)?.[1];
    if (specifier && laterModules[specifier]) return `${laterModules[specifier]} (${specifier})`;
  }
  return undefined;
}

/** A diagnostic at its place in the document, or in the set-up around the block. */
function inDocument(block: Block, { line, column, code, message }: Diagnostic): string {
  const at = line - FIRST_BLOCK_LINE;
  const inBlock = at >= 0 && at < block.code.split("\n").length;
  return `${inBlock ? `${block.document}:${block.line + at}:${column}` : "set-up"} ${code} ${message}`;
}

function staleEntries(blocks: Block[], table: Record<string, BlockSetUp>): string[] {
  const found = new Map(blocks.map((block) => [block.name, block]));
  return Object.entries(table).flatMap(([name, { hash }]) => {
    const block = found.get(name);
    if (!block) return [`${name}: no such block`];
    return block.hash === hash
      ? []
      : [`${name}: changed, now ${block.hash} (${block.document}:${block.line})`];
  });
}
