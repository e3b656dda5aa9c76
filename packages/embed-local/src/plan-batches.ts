/** The model ignores text beyond about this many characters, so it costs nothing. */
const READ = 400;
/** Characters per batch; shorter texts count like the longest, since they are padded. About a tenth of a second. */
const BATCH_CHARACTERS = 400;
const BATCH_TEXTS = 32;

/**
 * Groups texts into batches, by position. Short texts are faster together, long ones are not; a text beside a longer
 * one costs almost as much as that one, so similar lengths are grouped.
 */
export function planBatches(lengths: readonly number[]): number[][] {
  const byLength = lengths.map((_, position) => position).sort((a, b) => lengths[b]! - lengths[a]!);
  const batches: number[][] = [];
  let batch: number[] = [];
  let room = 0;
  for (const position of byLength) {
    if (room === 0) {
      const cost = Math.max(1, Math.min(lengths[position]!, READ));
      room = Math.min(BATCH_TEXTS, Math.max(1, Math.floor(BATCH_CHARACTERS / cost)));
      batches.push((batch = []));
    }
    batch.push(position);
    room--;
  }
  return batches;
}
