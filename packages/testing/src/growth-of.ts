/** Shorter measurements say little. */
const MIN_CPU_MS = 4;
/** Large, so that noise of a factor of five on a busy machine does not make linear work look quadratic. */
const FACTOR = 32;
const ATTEMPTS = 6;
/** Input of this size keeps work that is not linear busy for minutes. */
const SURELY_FAST = 500_000;
/** Outside these bounds the growth needs no second measurement. */
const SURELY_LINEAR = 1.25;
const SURELY_NOT = 1.75;

/**
 * How the CPU time of work grows with its input, as an exponent: about 1 when its cost is linear, 2 when it is quadratic.
 * `size` is where it begins. It is doubled until the work can be measured. A busy or slow machine makes no difference.
 */
export async function growthOf(work: (size: number) => unknown, size: number): Promise<number> {
  let small = size;
  while ((await cpuMs(work, small)) < MIN_CPU_MS) {
    if (small > SURELY_FAST) return 1;
    small *= 2;
  }
  let [few, many] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  let growth = 0;
  // The least of several counts: the others had to share a core or to collect garbage.
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    few = Math.min(few, await cpuMs(work, small));
    many = Math.min(many, await cpuMs(work, FACTOR * small));
    growth = Math.log(many / few) / Math.log(FACTOR);
    if (growth < SURELY_LINEAR || growth > SURELY_NOT) break;
  }
  return growth;
}

async function cpuMs(work: (size: number) => unknown, size: number): Promise<number> {
  const before = process.cpuUsage();
  await work(size);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
