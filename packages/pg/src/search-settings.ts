import type { IndexRow } from "./tables.ts";

const DEFAULT_EF = 100;

/**
 * Settings of pgvector for one transaction. All numbers were checked to be whole, so that they may stand in the text:
 * SET takes no parameters.
 */
export function searchSettings(
  index: IndexRow,
  extensionVersion: string,
  topK: number,
  asked: { ef?: number; probes?: number },
): string {
  const { built } = index;
  // Since 0.8 an index goes on searching while a filter lets too little through.
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
