import type { VectorResult } from "@selvedge/core/vector";

/** A source as returned by a tool: everything needed to cite a passage. */
export interface QueryResult {
  id: string;
  // App data, readable without a cast.
  // oxlint-disable-next-line typescript/no-explicit-any
  metadata: any;
  /** Empty unless vectors were requested. */
  vector: number[];
  score: number;
  /** Empty if the store has no text. */
  document: string;
}

/** The result of this package's tools. */
export interface RetrievalOutput {
  /** The texts of the passages found, best first. */
  relevantContext: string;
  sources: QueryResult[];
}

export const RETRIEVAL_OUTPUT: Record<string, unknown> = {
  type: "object",
  properties: {
    relevantContext: { type: "string" },
    sources: { type: "array", items: { type: "object" } },
  },
  required: ["relevantContext", "sources"],
};

/** The text of a result: its document, or the text in its metadata. */
export function textOfResult({ document, metadata }: Pick<VectorResult, "document" | "metadata">): string {
  if (document !== undefined && document !== "") return document;
  for (const key of ["text", "content"]) {
    const text = metadata?.[key];
    if (typeof text === "string") return text;
  }
  return "";
}

function toQueryResult(result: VectorResult): QueryResult {
  return {
    id: result.id,
    metadata: result.metadata ?? {},
    vector: result.vector ?? [],
    score: result.score,
    document: textOfResult(result),
  };
}

export function toOutput(results: VectorResult[], includeSources: boolean): RetrievalOutput {
  const texts = results.map(textOfResult).filter((text) => text !== "");
  return { relevantContext: texts.join("\n\n"), sources: includeSources ? results.map(toQueryResult) : [] };
}

/** What the model reads: each text once, without vectors. */
export function toModelOutput({ relevantContext, sources }: RetrievalOutput): unknown {
  const named = sources.map(({ id, score, metadata }) => {
    const { text: _text, content: _content, ...rest } = metadata as Record<string, unknown>;
    return { id, score, metadata: rest };
  });
  return { type: "json", value: { relevantContext, sources: named } };
}
