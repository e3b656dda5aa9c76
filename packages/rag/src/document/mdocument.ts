import { AgentError, errorMessage } from "@selvedge/core/errors";
import { checkMetadata } from "@selvedge/core/storage";
import { checkParams, type ChunkParams, type ChunkStrategy } from "./chunk-params.ts";
import { CHUNKERS, type Piece } from "./chunk-text.ts";

export interface DocumentChunk {
  text: string;
  /** The same as `text`. */
  content: string;
  /** The document's metadata, plus what the strategy knows about the position. */
  metadata: Record<string, unknown>;
  /**
   * Where the chunk starts in its document's text: `text.startsWith(chunk.text, startIndex)`. For HTML, the text is
   * that of `htmlToText`. Absent for JSON, whose chunks are serialised again.
   */
  startIndex?: number;
}

export type DocumentType = "text" | "markdown" | "html" | "json" | "latex";

export interface DocumentSource {
  text: string;
  metadata?: Record<string, unknown>;
}

export type MDocumentOptions =
  | (DocumentSource & { type?: DocumentType })
  | { docs: DocumentSource[]; type?: DocumentType };

const STRATEGY_OF: Readonly<Record<DocumentType, ChunkStrategy>> = {
  text: "recursive",
  markdown: "markdown",
  html: "html",
  json: "json",
  latex: "latex",
};

/** One or several texts with metadata, to be split into chunks. */
export class MDocument {
  readonly type: DocumentType;
  readonly #sources: readonly Required<DocumentSource>[];

  constructor(options: MDocumentOptions) {
    const given: unknown = options;
    if (typeof given !== "object" || given === null || !("text" in given || "docs" in given)) {
      throw new AgentError(
        "invalid-argument",
        "A document is made of { text, metadata? } or { docs: [{ text, metadata? }] }",
      );
    }
    const type = options.type ?? "text";
    if (!Object.hasOwn(STRATEGY_OF, type)) {
      throw new AgentError(
        "invalid-argument",
        `The type of a document is one of ${Object.keys(STRATEGY_OF).join(", ")}, got ${JSON.stringify(type)}`,
      );
    }
    this.type = type;
    const sources = "docs" in options ? options.docs : [options];
    if (!Array.isArray(sources))
      throw new AgentError("invalid-argument", `docs must be an array, got ${typeof sources}`);
    this.#sources = sources.map(toSource);
  }

  static fromText(text: string, metadata?: Record<string, unknown>): MDocument {
    return new MDocument({ text, type: "text", ...(metadata && { metadata }) });
  }

  static fromMarkdown(text: string, metadata?: Record<string, unknown>): MDocument {
    return new MDocument({ text, type: "markdown", ...(metadata && { metadata }) });
  }

  static fromHTML(text: string, metadata?: Record<string, unknown>): MDocument {
    return new MDocument({ text, type: "html", ...(metadata && { metadata }) });
  }

  /** Accepts JSON as text, or a value to serialise. */
  static fromJSON(json: unknown, metadata?: Record<string, unknown>): MDocument {
    const text = typeof json === "string" ? json : writeJson(json);
    return new MDocument({ text, type: "json", ...(metadata && { metadata }) });
  }

  /**
   * Splits the document. Default: the strategy of its type. A document can be split several times in different ways.
   */
  async chunk(params: ChunkParams = {}): Promise<DocumentChunk[]> {
    const checked = checkParams({ ...params, strategy: params?.strategy ?? STRATEGY_OF[this.type] });
    const chunks: DocumentChunk[] = [];
    for (const { text, metadata } of this.#sources) {
      for (const piece of await CHUNKERS[checked.strategy](text, checked)) {
        chunks.push(toChunk(piece, metadata, checked.addStartIndex ?? false));
      }
    }
    return chunks;
  }

  getDocs(): DocumentSource[] {
    return this.#sources.map(({ text, metadata }) => ({ text, metadata: { ...metadata } }));
  }

  getText(): string[] {
    return this.#sources.map(({ text }) => text);
  }

  getMetadata(): Record<string, unknown>[] {
    return this.#sources.map(({ metadata }) => ({ ...metadata }));
  }
}

function writeJson(value: unknown): string {
  try {
    // Not a string for values JSON cannot represent, such as a function; refused like other documents without text.
    return JSON.stringify(value);
  } catch (cause) {
    throw new AgentError("invalid-argument", `The document has no JSON form: ${errorMessage(cause)}`, {
      cause,
    });
  }
}

function toSource(source: DocumentSource): Required<DocumentSource> {
  if (typeof source?.text !== "string") {
    throw new AgentError(
      "invalid-argument",
      `The text of a document must be a string, got ${typeof source?.text}`,
    );
  }
  const metadata = source.metadata === undefined ? {} : checkMetadata("metadata", source.metadata);
  return { text: source.text, metadata: { ...metadata } };
}

function toChunk(
  { text, startIndex, metadata: found }: Piece,
  metadata: Record<string, unknown>,
  addStartIndex: boolean,
): DocumentChunk {
  return {
    text,
    content: text,
    metadata: {
      ...metadata,
      ...found,
      ...(addStartIndex && startIndex !== undefined && { startIndex }),
    },
    ...(startIndex !== undefined && { startIndex }),
  };
}
