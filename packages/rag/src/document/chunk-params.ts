import { AgentError } from "@selvedge/core/errors";
import { checkMetadata } from "@selvedge/core/storage";
import type { EmbedderConfig } from "@selvedge/core/vector";
import { isCodeLanguage, type CodeLanguage } from "../chunk/code-separators.ts";

const CHUNK_STRATEGIES = [
  "recursive",
  "character",
  "token",
  "sentence",
  "markdown",
  "semantic-markdown",
  "html",
  "json",
  "latex",
  "code",
  "semantic",
] as const;

export type ChunkStrategy = (typeof CHUNK_STRATEGIES)[number];

/** How to split a document. Each strategy accepts the options that apply to it and refuses the others. */
export interface ChunkParams {
  /** Default: `recursive`. */
  strategy?: ChunkStrategy;
  /**
   * The maximum chunk size: characters (UTF-16 units), or tokens for `token`. Default: 512, or 4096 for
   * `semantic-markdown`.
   */
  size?: number;
  /** The newer name of `size`. */
  maxSize?: number;
  /**
   * The most that is repeated from the end of the previous chunk. Default: 50, or less for small sizes. JSON does not
   * overlap.
   */
  overlap?: number;
  /** The preferred separator. */
  separator?: string;
  /** Separators, best first. */
  separators?: string[];
  /** Whether the separators are regular expressions. */
  isSeparatorRegex?: boolean;
  /** `"start"` or `true`: a separator starts the next chunk; `"end"`: it ends its chunk; `false`: it is dropped. */
  keepSeparator?: boolean | "start" | "end";
  /** Trim white space at both ends of each chunk. Default: `true`, but `false` for code. */
  stripWhitespace?: boolean;
  /** Also add the start index to the metadata of each chunk. */
  addStartIndex?: boolean;
  /** Measures a text, instead of its length. */
  lengthFunction?: (text: string) => number;
  /** The programming language. For `code` and `recursive`. */
  language?: CodeLanguage;
  /**
   * For `markdown` and `html`: headings that open a section, with their metadata keys: `["#", "title"]`, `["h1",
   * "title"]`.
   */
  headers?: [heading: string, key: string][];
  /** For `html`: elements that open a section, with the metadata key of their name: `["section", "part"]`. */
  sections?: [element: string, key: string][];
  /** Leave section headings out of the text; they stay in the metadata. */
  stripHeaders?: boolean;
  /** For `markdown` with `headers`: one chunk per line. */
  returnEachLine?: boolean;
  /**
   * For `sentence` and `semantic`: minimum chunk size where the text allows it. For `json`: accepted; chunks are as
   * full as possible.
   */
  minSize?: number;
  /** For `sentence`: the target size. Default: 80 % of the size. */
  targetSize?: number;
  /** For `sentence` and `semantic`: what ends a sentence, before white space. */
  sentenceEnders?: string[];
  /** For `sentence`: split a sentence that is too long between words. Default: `true`. */
  fallbackToWords?: boolean;
  /** For `sentence`: split a word that is too long anywhere. Default: `true`. */
  fallbackToCharacters?: boolean;
  /** For `token` and `semantic-markdown`. Default: `cl100k_base`. */
  encodingName?: string;
  /** For `token` and `semantic-markdown`: the encoding of an OpenAI model. */
  modelName?: string;
  /** For `semantic-markdown`: adjacent sections are joined up to this many tokens. Default: 500. */
  joinThreshold?: number;
  /** For `json`: lists become objects with their indexes as keys, so that elements keep their positions. */
  convertLists?: boolean;
  /** For `json`: escape non-ASCII characters. */
  ensureAscii?: boolean;
  /** For `semantic`: embeds the sentences. `model` is another name for it. */
  embedder?: EmbedderConfig;
  model?: EmbedderConfig;
  /** For `semantic`: the share of sentence boundaries to split at, least similar neighbours first. Default: 0.1. */
  breakShare?: number;
}

/** Validated params with defaults. */
export type CheckedParams = ChunkParams & { strategy: ChunkStrategy; size: number; overlap: number };

const COMMON = ["strategy", "size", "maxSize", "overlap", "addStartIndex"] as const;
const TEXT = [...COMMON, "stripWhitespace", "lengthFunction"] as const;
const SEPARATORS = ["separator", "separators", "isSeparatorRegex", "keepSeparator"] as const;
const TOKENS = ["encodingName", "modelName"] as const;

const ALLOWED: Readonly<Record<ChunkStrategy, readonly (keyof ChunkParams)[]>> = {
  recursive: [...TEXT, ...SEPARATORS, "language"],
  character: [...TEXT, ...SEPARATORS],
  token: [...COMMON, ...TOKENS],
  sentence: [
    ...TEXT,
    "minSize",
    "targetSize",
    "sentenceEnders",
    "fallbackToWords",
    "fallbackToCharacters",
    "keepSeparator",
  ],
  markdown: [...TEXT, "headers", "stripHeaders", "returnEachLine"],
  "semantic-markdown": [...TEXT, ...TOKENS, "joinThreshold"],
  html: [...TEXT, "headers", "sections", "stripHeaders"],
  json: [...COMMON, "minSize", "convertLists", "ensureAscii"],
  latex: TEXT,
  code: [...TEXT, "language"],
  semantic: [...TEXT, "minSize", "sentenceEnders", "embedder", "model", "breakShare"],
};

const DEFAULT_SIZE = 512;
/** Tokens are the limit here, unless a size is given. */
const DEFAULT_JOINED_SIZE = 4_096;
const DEFAULT_OVERLAP = 50;

/** Reads chunk params, or throws `invalid-argument` naming what is wrong. */
export function checkParams(params: ChunkParams = {}): CheckedParams {
  if (typeof params !== "object" || params === null) throw invalid(`must be an object, got ${typeof params}`);
  const strategy = params.strategy ?? "recursive";
  if (!CHUNK_STRATEGIES.includes(strategy)) {
    throw invalid(`strategy must be one of ${CHUNK_STRATEGIES.join(", ")}, got ${show(strategy)}`);
  }
  for (const key of Object.keys(params) as (keyof ChunkParams)[]) {
    if (params[key] !== undefined && !ALLOWED[strategy].includes(key)) {
      throw invalid(`the strategy ${strategy} accepts ${ALLOWED[strategy].join(", ")}, but not ${show(key)}`);
    }
  }
  if (params.size !== undefined && params.maxSize !== undefined && params.size !== params.maxSize) {
    throw invalid(`size and maxSize are the same option, got ${params.size} and ${params.maxSize}`);
  }
  const size = whole("size", params.size ?? params.maxSize ?? defaultSize(strategy), 1);
  const overlap = whole("overlap", params.overlap ?? Math.min(DEFAULT_OVERLAP, size >> 3), 0);
  if (overlap >= size) throw invalid(`overlap must be smaller than size (${size}), got ${overlap}`);
  checkOptions(params, size);
  return { ...params, strategy, size, overlap };
}

function defaultSize(strategy: ChunkStrategy): number {
  return strategy === "semantic-markdown" ? DEFAULT_JOINED_SIZE : DEFAULT_SIZE;
}

function checkOptions(params: ChunkParams, size: number): void {
  const { separator, separators, sentenceEnders, keepSeparator, lengthFunction, language } = params;
  if (separator !== undefined && typeof separator !== "string") {
    throw invalid(`separator must be a string, got ${show(separator)}`);
  }
  for (const [name, list] of Object.entries({ separators, sentenceEnders })) {
    if (list === undefined || (Array.isArray(list) && list.every((item) => typeof item === "string")))
      continue;
    throw invalid(`${name} must be an array of strings, got ${show(list)}`);
  }
  if (keepSeparator !== undefined && ![true, false, "start", "end"].includes(keepSeparator)) {
    throw invalid(`keepSeparator must be true, false, "start" or "end", got ${show(keepSeparator)}`);
  }
  if (lengthFunction !== undefined && typeof lengthFunction !== "function") {
    throw invalid(`lengthFunction must be a function, got ${show(lengthFunction)}`);
  }
  if (language !== undefined && !isCodeLanguage(language)) {
    throw invalid(`language ${show(language)} is not known; leave it out to cut at lines and blanks`);
  }
  for (const [name, pairs] of Object.entries({ headers: params.headers, sections: params.sections })) {
    if (pairs !== undefined) checkPairs(name, pairs);
  }
  if (params.targetSize !== undefined) within("targetSize", params.targetSize, size);
  if (params.minSize !== undefined) whole("minSize", params.minSize, 0);
  if (params.joinThreshold !== undefined) whole("joinThreshold", params.joinThreshold, 1);
  const { breakShare } = params;
  if (breakShare !== undefined && !(breakShare >= 0 && breakShare <= 1)) {
    throw invalid(`breakShare must be between 0 and 1, got ${show(breakShare)}`);
  }
}

function checkPairs(name: string, pairs: unknown): void {
  const isPair = (pair: unknown): boolean =>
    Array.isArray(pair) && pair.length === 2 && pair.every((item) => typeof item === "string" && item !== "");
  if (!Array.isArray(pairs) || !pairs.every(isPair)) {
    throw invalid(`${name} must be a list of [what, metadata key], got ${show(pairs)}`);
  }
  for (const [, key] of pairs as [string, string][]) checkMetadata(name, Object.fromEntries([[key, ""]]));
}

function whole(name: string, value: unknown, least: number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value;
  throw invalid(`${name} must be a whole number, ${least} or more, got ${show(value)}`);
}

function within(name: string, value: unknown, most: number): void {
  if (whole(name, value, 1) > most)
    throw invalid(`${name} must not be over size (${most}), got ${show(value)}`);
}

function invalid(problem: string): AgentError {
  return new AgentError("invalid-argument", `Chunk params: ${problem}`);
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
