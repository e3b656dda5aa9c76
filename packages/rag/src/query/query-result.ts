import type { VectorResult } from "@selvedge/core/vector";

/** What a tool gives as a source: everything needed to refer to where a passage comes from. */
export interface QueryResult {
  id: string;
  // What an app put there, and reads without a cast.
  // oxlint-disable-next-line typescript/no-explicit-any
  metadata: any;
  /** Empty unless vectors were asked for. */
  vector: number[];
  score: number;
  /** Empty where the store has no text. */
  document: string;
}

/** What the tools of this package answer. */
export interface RetrievalOutput {
  /** The texts of the passages found, the best first. */
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

/** The text of a result: its document, or what apps keep in the metadata. */
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

/** What the model reads: the texts once, and no vectors. */
export function toModelOutput({ relevantContext, sources }: RetrievalOutput): unknown {
  const named = sources.map(({ id, score, metadata }) => {
    const { text: _text, content: _content, ...rest } = metadata as Record<string, unknown>;
    return { id, score, metadata: rest };
  });
  return { type: "json", value: { relevantContext, sources: named } };
}
