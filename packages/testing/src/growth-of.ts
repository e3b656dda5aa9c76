/** Shorter measurements say little. */
const MIN_CPU_MS = 8;
const TRIES = 3;

/**
 * How much more CPU time work takes on an input four times as large: about 4 when its cost is linear, 16 when it is quadratic.
 * `size` is where it begins. It is doubled until the work can be measured. A busy or slow machine makes no difference.
 */
export async function growthOf(work: (size: number) => unknown, size: number): Promise<number> {
  let small = size;
  while ((await cpuMs(work, small)) < MIN_CPU_MS) small *= 2;
  // The least of several: the others had to share a core or to collect garbage.
  return (await least(work, 4 * small)) / (await least(work, small));
}

async function least(work: (size: number) => unknown, size: number): Promise<number> {
  let ms = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < TRIES; attempt++) ms = Math.min(ms, await cpuMs(work, size));
  return ms;
}

async function cpuMs(work: (size: number) => unknown, size: number): Promise<number> {
  const before = process.cpuUsage();
  await work(size);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
