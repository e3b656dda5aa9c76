import type { IndexRow } from "./tables.ts";

const DEFAULT_EF = 100;

/**
 * pgvector settings for one transaction. All numbers were checked to be integers, so they may be part of the text: SET
 * accepts no parameters.
 */
export function searchSettings(
  index: IndexRow,
  extensionVersion: string,
  topK: number,
  asked: { ef?: number; probes?: number },
): string {
  const { built } = index;
  // Since 0.8 an index continues to scan while a filter lets too little through.
  const goesOn = !/^0\.[0-7]\./.test(extensionVersion);
  if (built.type === "hnsw") {
    const ef = asked.ef ?? Math.min(1_000, Math.max(DEFAULT_EF, 2 * topK));
    return `SET LOCAL hnsw.ef_search = ${ef}${goesOn ? "; SET LOCAL hnsw.iterative_scan = strict_order" : ""}`;
  }
  if (built.type === "ivfflat") {
    const probes = asked.probes ?? Math.ceil(Math.sqrt(built.lists ?? 1));
    return `SET LOCAL ivfflat.probes = ${probes}${goesOn ? "; SET LOCAL ivfflat.iterative_scan = relaxed_order" : ""}`;
  }
  return "";
}
