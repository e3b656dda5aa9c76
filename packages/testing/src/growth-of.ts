/** Shorter measurements say little. */
const MIN_CPU_MS = 5;
const FACTOR = 8;
/** A growth below this needs no second measurement. */
const SURELY_LINEAR = 1.25;
const ATTEMPTS = 4;

/**
 * How the CPU time of work grows with its input, as an exponent: about 1 when its cost is linear, 2 when it is quadratic.
 * `size` is where it begins. It is doubled until the work can be measured. A busy or slow machine makes no difference.
 */
export async function growthOf(work: (size: number) => unknown, size: number): Promise<number> {
  let small = size;
  while ((await cpuMs(work, small)) < MIN_CPU_MS) small *= 2;
  let [few, many] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  let growth = 0;
  // The least of several counts: the others had to share a core or to collect garbage.
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    few = Math.min(few, await cpuMs(work, small));
    many = Math.min(many, await cpuMs(work, FACTOR * small));
    growth = Math.log(many / few) / Math.log(FACTOR);
    if (growth < SURELY_LINEAR) break;
  }
  return growth;
}

async function cpuMs(work: (size: number) => unknown, size: number): Promise<number> {
  const before = process.cpuUsage();
  await work(size);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
