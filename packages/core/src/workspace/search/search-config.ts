import { AgentError, showValue } from "../../errors.ts";
import type { System } from "../../system.ts";
import type { Vector } from "../../vector/vector.ts";
import type { WorkspaceFilesystem } from "../workspace-filesystem.ts";
import { SearchIndex } from "./search-index.ts";
import { type SearchEmbedder, toEmbed } from "./search-embedder.ts";
import { WorkspaceSearch } from "./workspace-search.ts";

export interface WorkspaceSearchOptions {
  /** Search by words. `true` means `{ k1: 1.5, b: 0.75 }`. */
  bm25?: boolean | { k1?: number; b?: number; tokenize?: TokenizeOptions };
  /** Search by meaning, together with `embedder`. */
  vectorStore?: Vector;
  embedder?: SearchEmbedder;
  /** The name of the index in the vector store. Default: the workspace's id with `_search`. */
  searchIndexName?: string;
  /** Paths and globs that are indexed by `init()`, or before the first search. */
  autoIndexPaths?: string[];
}

/** How a text becomes words. Without it, words are split as everywhere in Selvedge, and reduced to their stems. */
export interface TokenizeOptions {
  /** Default: true. */
  lowercase?: boolean;
  /** `false` splits only at white space. Default: true. */
  removePunctuation?: boolean;
  /** Shorter words do not count. Default: 2. */
  minLength?: number;
  /** Words that do not count. Default: none. */
  stopwords?: Iterable<string>;
}

type BM25Options = Exclude<NonNullable<WorkspaceSearchOptions["bm25"]>, boolean>;

const K1 = 1.5;
const B = 0.75;
const MAX_NAME = 63;

/** The search of a workspace: one index for each of its filesystems. */
export class SearchConfig {
  readonly canBM25: boolean;
  readonly canVector: boolean;
  readonly #options: WorkspaceSearchOptions;
  readonly #indexName: string;
  readonly #system: System;
  readonly #searches = new WeakMap<object, WorkspaceSearch>();

  constructor(options: WorkspaceSearchOptions & { filesystem?: unknown }, id: string, system: System) {
    this.#options = options;
    this.#system = system;
    this.canBM25 = Boolean(options.bm25);
    this.canVector = options.vectorStore !== undefined;
    this.#indexName =
      options.searchIndexName ?? `${id}_search`.replaceAll(/\W/g, "_").replace(/^\d/, "_$&").slice(-MAX_NAME);
    if (typeof options.bm25 === "object") checkBM25(options.bm25);
    if (this.canVector !== (options.embedder !== undefined))
      throw new AgentError("invalid-argument", "A search by vectors needs both vectorStore and embedder.");
    if (!/^[A-Za-z_]\w{0,62}$/.test(this.#indexName)) {
      throw new AgentError(
        "invalid-argument",
        `searchIndexName must contain only letters, digits and _, at most ${MAX_NAME}, but got ${showValue(this.#indexName)}.`,
      );
    }
    if (this.canVector && typeof options.filesystem === "function") {
      throw new AgentError(
        "invalid-argument",
        "A workspace whose filesystem is a function cannot have a vectorStore: its tenants would share one index. Create a workspace for each.",
      );
    }
    if (options.autoIndexPaths && !this.isOn)
      throw new AgentError("invalid-argument", "autoIndexPaths needs bm25, or vectorStore and embedder.");
  }

  get isOn(): boolean {
    return this.canBM25 || this.canVector;
  }

  /** The index of a filesystem; `undefined` without search. */
  of(files: WorkspaceFilesystem | undefined): WorkspaceSearch | undefined {
    if (!this.isOn) return undefined;
    const key = files ?? this;
    let search = this.#searches.get(key);
    if (!search) this.#searches.set(key, (search = this.#open(files)));
    return search;
  }

  #open(files: WorkspaceFilesystem | undefined): WorkspaceSearch {
    const { bm25, vectorStore, embedder, autoIndexPaths = [] } = this.#options;
    const index = new SearchIndex({
      bm25: bm25 ? toBM25(bm25 === true ? {} : bm25) : undefined,
      vectors: vectorStore && {
        store: vectorStore,
        embed: toEmbed(embedder!),
        indexName: this.#indexName,
      },
    });
    return new WorkspaceSearch({ files, index, autoIndexPaths, system: this.#system });
  }
}

function checkBM25({ k1 = K1, b = B, tokenize = {} }: BM25Options): void {
  const refuse = (name: string, rule: string, value: unknown) => {
    throw new AgentError("invalid-argument", `bm25.${name} must be ${rule}, but got ${showValue(value)}.`);
  };
  if (!(Number.isFinite(k1) && k1 >= 0)) refuse("k1", "a number of at least 0", k1);
  if (!(b >= 0 && b <= 1)) refuse("b", "a number from 0 to 1", b);
  const { minLength = 1 } = tokenize;
  if (!(Number.isInteger(minLength) && minLength >= 1))
    refuse("tokenize.minLength", "a positive integer", minLength);
}

function toBM25({ k1 = K1, b = B, tokenize }: BM25Options): {
  k1: number;
  b: number;
  toWords?: (text: string) => string[];
} {
  return { k1, b, ...(tokenize && { toWords: tokenizer(tokenize) }) };
}

function tokenizer({
  lowercase = true,
  removePunctuation = true,
  minLength = 2,
  stopwords = [],
}: TokenizeOptions): (text: string) => string[] {
  const isStopword = new Set(stopwords);
  const separator = removePunctuation ? /[^\p{L}\p{N}\p{M}_]+/u : /\s+/;
  return (text) =>
    (lowercase ? text.toLowerCase() : text)
      .split(separator)
      .filter((word) => word.length >= minLength && !isStopword.has(word));
}
