import { quantile, summarise } from "./stats.ts";

/** Alternates two kinds of work in blocks, and compares neighbours: both meet the same machine. CPU time per call, in ms. */
export async function compare(
  rounds: number,
  block: number,
  first: () => Promise<void>,
  second: () => Promise<void>,
): Promise<{ first: number; second: number; ratio: number }> {
  const cpuOf = async (work: () => Promise<void>): Promise<number> => {
    const before = process.cpuUsage();
    for (let i = 0; i < block; i++) await work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000 / block;
  };
  const warm = async (work: () => Promise<void>) => {
    for (let i = 0; i < block * 3; i++) await work();
  };
  await warm(first);
  await warm(second);
  const all = { first: [] as number[], second: [] as number[], ratio: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    const [a, b] = [await cpuOf(first), await cpuOf(second)];
    all.first.push(a);
    all.second.push(b);
    all.ratio.push(b / a);
  }
  const ratios = all.ratio.toSorted((x, y) => x - y);
  return {
    first: summarise(all.first).median,
    second: summarise(all.second).median,
    ratio: quantile(ratios, 0.5),
  };
}
