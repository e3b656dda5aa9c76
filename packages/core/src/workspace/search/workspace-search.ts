import { AgentError, showValue } from "../../errors.ts";
import type { System } from "../../system.ts";
import { type FileRules, fileRules } from "../file-rules.ts";
import { normalize } from "../find-entries.ts";
import { runScan } from "../scan/run-scan.ts";
import { turns } from "../scan/turns.ts";
import { toText } from "../text-file.ts";
import type { WorkspaceFilesystem } from "../workspace-filesystem.ts";
import type { FileFacts } from "./files-to-index.ts";
import type { SearchDocument, SearchHit, SearchIndex, SearchMode, SearchOptions } from "./search-index.ts";
import { passageIn } from "./to-passages.ts";

export interface SearchResult {
  /** The path of the document. */
  id: string;
  /** The passage. */
  content: string;
  /** Higher is better. */
  score: number;
  lineRange?: { start: number; end: number };
  metadata?: Record<string, unknown>;
  scoreDetails?: { bm25?: number; vector?: number };
}

export interface IndexOptions {
  metadata?: Record<string, unknown>;
  /** Added to line numbers, if the content is a part of a file. */
  startLineOffset?: number;
}

const MAX_DOCUMENTS = 20_000;
const MAX_BYTES = 1024 * 1024;
const REFRESH_MS = 30_000;
const REFRESH_LIMIT_MS = 60_000;
/** Files that are read and indexed together. */
const BATCH = 64;
/** Files that are read at once: what arrives together is handled in one turn of the event loop. */
const READ_TOGETHER = 16;

/** The index of a filesystem: files that are kept up to date, and texts that were added by hand. */
export class WorkspaceSearch {
  readonly #files: WorkspaceFilesystem | undefined;
  readonly #index: SearchIndex;
  readonly #paths: readonly string[];
  readonly #system: System;
  /** Files found by `autoIndexPaths`, as they were when they were indexed. */
  readonly #known = new Map<string, FileFacts>();
  /** Texts that were added by hand. */
  readonly #texts = new Map<string, { content: string; startLineOffset: number | undefined }>();
  #refreshedAt = Number.NEGATIVE_INFINITY;
  #work: Promise<unknown> = Promise.resolve();

  constructor(options: {
    files: WorkspaceFilesystem | undefined;
    index: SearchIndex;
    autoIndexPaths: readonly string[];
    system: System;
  }) {
    this.#files = options.files;
    this.#index = options.index;
    this.#paths = options.autoIndexPaths;
    this.#system = options.system;
  }

  modeOf(wanted: SearchMode | undefined): SearchMode {
    return this.#index.modeOf(wanted);
  }

  async index(path: string, content: string, options: IndexOptions = {}): Promise<void> {
    const key = keyOf(path);
    const { metadata, startLineOffset } = options;
    if (typeof content !== "string" || Buffer.byteLength(content) > MAX_BYTES) {
      throw new AgentError(
        "limit-exceeded",
        `${path}: the content to index must be a string of at most ${MAX_BYTES.toLocaleString("en")} bytes.`,
      );
    }
    await this.#inTurn(async () => {
      if (!this.#index.has(key) && this.#index.size >= MAX_DOCUMENTS) {
        throw new AgentError(
          "limit-exceeded",
          `The index is full: it has ${MAX_DOCUMENTS.toLocaleString("en")} documents. Remove some with removeFromIndex first.`,
        );
      }
      await this.#index.put([{ path: key, content, metadata, startLineOffset }], turns(this.#system));
      this.#texts.set(key, { content, startLineOffset });
      this.#known.delete(key);
    });
  }

  async remove(path: string): Promise<void> {
    await this.#inTurn(() => this.#forget([keyOf(path)]));
  }

  /** Indexes new and changed files, and forgets those that are gone. */
  async refresh(): Promise<void> {
    if (this.#paths.length === 0 || !this.#files) return;
    await this.#inTurn(async () => {
      if (this.#system.monotonic() - this.#refreshedAt < REFRESH_MS) return;
      const { sensitive } = await fileRules(this.#files);
      const there = new Set<string>();
      const changed: FileFacts[] = [];
      const take = (files: readonly FileFacts[]): void => {
        for (const file of files) {
          there.add(file.path);
          if (!isSame(file, this.#known.get(file.path))) changed.push(file);
        }
      };
      take(
        await runScan(
          this.#files!,
          "index",
          { paths: this.#paths, sensitive, most: MAX_DOCUMENTS, maxBytes: MAX_BYTES },
          { system: this.#system, timeLimitMs: REFRESH_LIMIT_MS, onPart: take },
        ),
      );
      await this.#forget([...this.#known.keys()].filter((path) => !there.has(path)));
      for (let at = 0; at < changed.length; at += BATCH) await this.#read(changed.slice(at, at + BATCH));
      this.#refreshedAt = this.#system.monotonic();
    });
  }

  /** Call it after a file was written or deleted. Never fails: the next refresh tries again. */
  async noteChange(path: string): Promise<void> {
    const key = normalize(path);
    // A path that is not known may be a new file of an indexed directory, or a directory.
    this.#refreshedAt = Number.NEGATIVE_INFINITY;
    if (!this.#index.has(key)) return;
    const done = this.#inTurn(async () => {
      const { isSensitive } = await fileRules(this.#files);
      const found = await this.#facts(key, isSensitive);
      await (found ? this.#read([found]) : this.#forget([key]));
    });
    await done.catch(() => {});
  }

  async search(query: string, options: SearchOptions = {}): Promise<SearchResult[]> {
    await this.refresh();
    const hits = await this.#index.search(query, options);
    const texts = new Map<string, string | undefined>();
    const results: SearchResult[] = [];
    for (const hit of hits) {
      if (!texts.has(hit.path)) texts.set(hit.path, await this.#textOf(hit.path));
      const text = texts.get(hit.path);
      const content = text && passageIn(text, hit, this.#texts.get(hit.path)?.startLineOffset);
      // The file is gone or has become shorter, and the next refresh notices it.
      if (content) results.push(toResult(hit, content));
    }
    return results;
  }

  async #read(files: readonly FileFacts[]): Promise<void> {
    const documents: SearchDocument[] = [];
    for (let at = 0; at < files.length; at += READ_TOGETHER) {
      const together = files.slice(at, at + READ_TOGETHER).map(async ({ path }): Promise<SearchDocument> => {
        this.#texts.delete(path);
        return { path, content: (await this.#textOf(path)) ?? "" };
      });
      documents.push(...(await Promise.all(together)));
    }
    await this.#index.put(documents, turns(this.#system));
    for (const file of files) this.#known.set(file.path, file);
  }

  async #facts(path: string, isSensitive: FileRules["isSensitive"]): Promise<FileFacts | undefined> {
    try {
      const { type, size, modifiedAt } = await this.#files!.stat(path);
      if (type !== "file" || size > MAX_BYTES || isSensitive(path)) return undefined;
      return { path, size, modifiedAt: modifiedAt.getTime() };
    } catch (error) {
      if (AgentError.is(error)) return undefined;
      throw error;
    }
  }

  /** The text of a document; `undefined` if the file is gone or binary. */
  async #textOf(path: string): Promise<string | undefined> {
    const given = this.#texts.get(path);
    if (given) return given.content;
    try {
      const file = toText((await this.#files!.readFile(path)) as Buffer);
      return typeof file === "string" ? undefined : file.text;
    } catch (error) {
      if (AgentError.is(error)) return undefined;
      throw error;
    }
  }

  async #forget(paths: readonly string[]): Promise<void> {
    if (paths.length === 0) return;
    for (const path of paths) {
      this.#known.delete(path);
      this.#texts.delete(path);
    }
    await this.#index.remove(paths);
  }

  /** Changes of the index are serial. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#work.then(work);
    this.#work = done.catch(() => {});
    return done;
  }
}

function keyOf(path: string): string {
  if (typeof path !== "string" || normalize(path) === "") {
    throw new AgentError(
      "invalid-argument",
      `path must be the name of a document, but got ${showValue(path)}.`,
    );
  }
  return normalize(path);
}

function isSame(file: FileFacts, known: FileFacts | undefined): boolean {
  return known?.size === file.size && known.modifiedAt === file.modifiedAt;
}

function toResult(
  { path, start, end, score, metadata, scoreDetails }: SearchHit,
  content: string,
): SearchResult {
  return {
    id: path,
    content,
    score,
    lineRange: { start, end },
    ...(metadata && { metadata }),
    scoreDetails,
  };
}
