import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, extname, join, relative, resolve } from "node:path";
import { AgentError } from "@selvedge/core/errors";
import type { Embedder, Vector } from "@selvedge/core/vector";
import { MDocument, type DocumentChunk } from "@selvedge/rag";
import { findDocuments, isGone } from "./find-documents.ts";
import { IndexJournal, type IndexSettings } from "./index-journal.ts";

export interface IndexFolderOptions {
  folder: string;
  vector: Vector;
  embedder: Embedder;
  indexName: string;
  journalPath: string;
  size: number;
  overlap: number;
  /** Forget what was read before. */
  fresh: boolean;
  /** Give up what the index holds of another folder. */
  replace: boolean;
  /** Read also what is usually left out. */
  all: boolean;
  /** How many files are read at a time; 1 unless given. An embedder with several threads needs some to be busy. */
  filesAtOnce?: number;
  onProgress: (progress: IndexProgress) => void;
}

export interface IndexProgress {
  /** Files that are done with, of all. */
  done: number;
  total: number;
  /** How much of all is done, from 0 to 1: files that are being read count in part. */
  share: number;
  /** A file that is being read. */
  path: string;
  /** Of that file, once it is cut. */
  passages?: { done: number; total: number };
}

export interface IndexReport {
  read: number;
  unchanged: number;
  removed: number;
  /** Files that hold no text. */
  skipped: number;
  passages: number;
  /** Files and folders that `all` would have looked at. */
  leftOut: number;
  /** What could not be read, with the reason. What the index held of it stays. */
  unreadable: Map<string, unknown>;
}

/** Passages that are embedded and stored at once. */
const BATCH = 16;
/** The most passages of a file whose vectors are used again. */
const MAX_KNOWN = 10_000;

/** Brings an index up to date with a folder. May be stopped anywhere and called again. */
export async function indexFolder(options: IndexFolderOptions): Promise<IndexReport> {
  const { folder, vector, embedder, indexName } = options;
  const journal = await IndexJournal.open(options.journalPath);
  await prepare(options, journal);
  const { paths, leftOut, unreadable } = await findDocuments(folder, options);
  const report: IndexReport = {
    read: 0,
    unchanged: 0,
    removed: 0,
    skipped: 0,
    passages: 0,
    leftOut,
    unreadable,
  };
  const forget = async (path: string): Promise<void> => {
    await journal.begin(path);
    await vector.deleteVectors({ indexName, filter: { path } });
    await journal.forget(path);
    report.removed++;
  };
  const present = new Set(paths);
  for (const path of [...journal.files.keys(), ...journal.unsure]) {
    if (!present.has(path) && !isBelow(path, unreadable)) await forget(path);
  }
  let done = 0;
  const parts = new Map<string, number>();
  const tell = (path: string, passages?: { done: number; total: number }): void => {
    parts.set(path, passages ? passages.done / passages.total : 0);
    const share = (done + [...parts.values()].reduce((sum, part) => sum + part, 0)) / paths.length;
    options.onProgress({ done, total: paths.length, share, path, ...(passages && { passages }) });
  };
  const readOne = async (path: string): Promise<void> => {
    let bytes: Buffer;
    try {
      bytes = await readFile(join(folder, path));
    } catch (error) {
      if (!isGone(error)) unreadable.set(path, error);
      else if (journal.files.has(path) || journal.unsure.has(path)) await forget(path);
      return;
    }
    const hash = createHash("sha256").update(bytes).digest("hex");
    if (journal.files.get(path)?.hash === hash) {
      report.unchanged++;
      return;
    }
    const passages = bytes.includes(0) ? [] : await toPassages(path, bytes.toString("utf8"), options);
    const known = await knownVectors(path, options, journal);
    await journal.begin(path);
    await vector.deleteVectors({ indexName, filter: { path } });
    for (let start = 0; start < passages.length; start += BATCH) {
      tell(path, { done: start, total: passages.length });
      const batch = passages.slice(start, start + BATCH);
      const texts = batch.map(({ text }) => text);
      await vector.upsert({
        indexName,
        vectors: await embedUnknown(embedder, texts, known),
        ids: batch.map((_, index) => idOf(path, start + index)),
        documents: texts,
        metadata: batch.map(({ line }) => ({ path, line })),
      });
    }
    await journal.finish(path, { hash, passages: passages.length });
    if (passages.length > 0) report.read++;
    else report.skipped++;
  };
  const waiting = paths.values();
  let failed = false;
  const readSome = async (): Promise<void> => {
    for (const path of waiting) {
      if (failed) return;
      tell(path);
      try {
        await readOne(path);
        parts.delete(path);
        done++;
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  // All have settled before a failure is reported, because the caller closes the store.
  const readers = await Promise.allSettled(Array.from({ length: options.filesAtOnce ?? 1 }, readSome));
  for (const reader of readers) if (reader.status === "rejected") throw reader.reason;
  await journal.compact();
  report.passages = journal.passages;
  return report;
}

/** The vectors that the index holds of a file, by their texts. */
async function knownVectors(
  path: string,
  { vector, indexName }: IndexFolderOptions,
  journal: IndexJournal,
): Promise<Map<string, number[]>> {
  const passages = journal.files.get(path)?.passages ?? 0;
  const known = new Map<string, number[]>();
  if (passages === 0) return known;
  const { dimension } = await vector.describeIndex({ indexName });
  const held = await vector.query({
    indexName,
    // Which one does not matter: all of the file are asked for.
    queryVector: Array.from({ length: dimension }, () => 1),
    topK: Math.min(passages, MAX_KNOWN),
    filter: { path },
    includeVector: true,
  });
  for (const entry of held) {
    if (entry.document !== undefined && entry.vector) known.set(entry.document, entry.vector);
  }
  return known;
}

async function embedUnknown(
  embedder: Embedder,
  texts: string[],
  known: ReadonlyMap<string, number[]>,
): Promise<number[][]> {
  const unknown = texts.filter((text) => !known.has(text));
  const made = unknown.length > 0 ? (await embedder.embed(unknown)).values() : undefined;
  return texts.map((text) => known.get(text) ?? made!.next().value!);
}

/** Whether a path is one of these or inside of one. */
function isBelow(path: string, places: ReadonlyMap<string, unknown>): boolean {
  for (let end = path.length; end > 0; end = path.lastIndexOf("/", end - 1)) {
    if (places.has(path.slice(0, end))) return true;
  }
  return false;
}

/** Makes the index where it is absent or made otherwise, or where it does not hold what the journal says. */
async function prepare(options: IndexFolderOptions, journal: IndexJournal): Promise<void> {
  const { vector, embedder, indexName, size, overlap } = options;
  const settings: IndexSettings = {
    folder: relative(dirname(options.journalPath), options.folder),
    embedder: embedder.id,
    size,
    overlap,
  };
  const isThere = (await vector.listIndexes()).includes(indexName);
  if (isThere && !options.replace) checkOwner(options, journal, settings.folder);
  const isSame = JSON.stringify(journal.settings) === JSON.stringify(settings);
  if (isSame && isThere && !options.fresh) {
    for (const path of journal.unsure) await vector.deleteVectors({ indexName, filter: { path } });
    const { count } = await vector.describeIndex({ indexName });
    if (count === journal.passages) return;
  }
  const dimension = embedder.dimension ?? (await embedder.embed(["."]))[0]!.length;
  // The journal is written first: files without one are treated as foreign.
  await journal.reset(settings);
  if (isThere) await vector.deleteIndex({ indexName });
  await vector.createIndex({ indexName, dimension });
}

/** An index is of one folder; another one must not take its place unasked. */
function checkOwner(
  { indexName, journalPath }: IndexFolderOptions,
  journal: IndexJournal,
  folder: string,
): void {
  const held = journal.settings?.folder;
  if (held === folder) return;
  const holds =
    held === undefined
      ? "was not created by this command"
      : `contains the folder ${resolve(dirname(journalPath), held)}`;
  throw new AgentError(
    "conflict",
    `Index ${indexName} ${holds}. Choose another name with --name <name> to keep it, or replace it with --replace.`,
  );
}

async function toPassages(
  path: string,
  text: string,
  { size, overlap }: { size: number; overlap: number },
): Promise<{ text: string; line: number }[]> {
  const extension = extname(path).toLowerCase();
  const isHtml = extension === ".html" || extension === ".htm";
  const document = isHtml
    ? MDocument.fromHTML(text)
    : extension === ".md" || extension === ".mdx" || extension === ".markdown"
      ? MDocument.fromMarkdown(text)
      : MDocument.fromText(text);
  const strategy = document.type === "markdown" ? "markdown" : "recursive";
  const chunks = await document.chunk({ strategy, size, overlap });
  const lineOf = lineCounter(text);
  return chunks
    .filter((chunk) => chunk.text.trim() !== "")
    .map((chunk: DocumentChunk) => ({
      text: chunk.text,
      // The text of HTML is not that of the file.
      line: isHtml ? 1 : lineOf(chunk.startIndex ?? 0),
    }));
}

/** Lines of rising positions, in one pass over the text. */
function lineCounter(text: string): (position: number) => number {
  let at = 0;
  let line = 1;
  return (position) => {
    if (position < at) [at, line] = [0, 1];
    for (; at < position; at++) if (text.charCodeAt(at) === 10) line++;
    return line;
  };
}

function idOf(path: string, number: number): string {
  return `${createHash("sha256").update(path).digest("hex").slice(0, 32)}-${number}`;
}
