import { AgentError } from "@selvedge/core/errors";
import {
  OM_CHUNKS,
  OM_RECORDS,
  type OmChunkHints,
  type OmChunkRow,
  type OmState,
  type Storage,
  update,
} from "@selvedge/core/storage";

type Extracted = Pick<OmChunkHints, "extracted" | "places">;

/** The extracted values of a record, with those of chunks that follow. Newer values replace older ones. */
export function mergeExtracted(record: unknown, chunks: readonly Pick<OmChunkRow, "hints">[]): Extracted {
  const all = [record, ...chunks.map(({ hints }) => hints)].map((one) => (one ?? {}) as OmChunkHints);
  const merged = (key: keyof Extracted): object => Object.assign({}, ...all.map((one) => one[key]));
  return all.some(({ extracted }) => extracted)
    ? ({ extracted: merged("extracted"), places: merged("places") } as Extracted)
    : {};
}

/** What was extracted before the next observation of a thread. */
export function extractedSoFar({ record, chunks }: OmState, source: string): Record<string, unknown> {
  const buffered = chunks.filter((chunk) => chunk.state === "buffered" && chunk.source === source);
  return mergeExtracted(record?.hints, buffered).extracted ?? {};
}

const MOST_ATTEMPTS = 10;

/** Replaces the extracted values of a chunk: in the chunk while it is buffered, afterwards in the record. */
export async function changeHints(
  storage: Storage,
  chunk: { thread_id: string; id: string },
  changed: OmChunkHints,
): Promise<void> {
  const { thread_id } = chunk;
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const [[row], [record]] = await storage.selectAll([
      { table: OM_CHUNKS, where: chunk, limit: 1, columns: ["state"] },
      { table: OM_RECORDS, where: { thread_id, source: "" }, limit: 1, columns: ["version", "hints"] },
    ]);
    if (!row || !record) return;
    const { version } = record;
    const write =
      row.state === "buffered"
        ? update(OM_CHUNKS, {
            where: { ...chunk, state: "buffered" },
            merge: { hints: changed as never },
            require: true,
          })
        : update(OM_RECORDS, {
            where: { thread_id, source: "", version },
            set: { version: version + 1 },
            merge: { hints: mergeExtracted(record.hints, [{ hints: changed }]) as never },
            require: true,
          });
    try {
      await storage.commit([write]);
      return;
    } catch (error) {
      // It was activated meanwhile.
      if (!AgentError.is(error, "conflict")) throw error;
    }
  }
}
