/** Beyond about this many characters the model reads nothing, so they cost nothing. */
const READ = 400;
/** Characters of a batch, shorter texts counted like the longest: they are filled up to it. A tenth of a second or so. */
const BATCH_CHARACTERS = 400;
const BATCH_TEXTS = 32;

/**
 * Which texts are computed together, by their positions. Short ones are quicker together than one after the other, long
 * ones are not; a text beside a longer one costs almost as much as that, so each has its like beside it.
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
