import { AgentError } from "@selvedge/core";

/** Of a thread, without its working memory. Metadata is read with every list of threads. */
const MOST_BYTES = 64 << 10;

/** Refuses metadata of a thread that would be too large together with what is there. */
export function checkMetadata(
  given: Record<string, unknown> | undefined,
  present: Record<string, unknown> = {},
): void {
  if (given === undefined) return;
  const { workingMemory: _, ...kept } = present;
  const bytes = Buffer.byteLength(JSON.stringify({ ...kept, ...given }));
  if (bytes <= MOST_BYTES) return;
  throw new AgentError(
    "limit-exceeded",
    `The metadata of a thread has at most ${MOST_BYTES} bytes; this would make it ${bytes}.`,
  );
}
