import type { Graph } from "./knn-graph.ts";

/** Further steps would not change the ranking. */
const SETTLED = 1e-4;

/**
 * How often a walker is expected at each node, as shares that sum to 1. It starts at the seeds (by their weights),
 * takes `steps` steps along edges (by theirs), and before each step returns to the seeds with probability `restart`.
 * Computed exactly, so that the same query has the same result.
 */
export function walkShares(
  graph: Graph,
  seeds: ReadonlyMap<number, number>,
  { steps, restart }: { steps: number; restart: number },
): Float64Array {
  const { offsets, neighbours, shares } = graph;
  const count = offsets.length - 1;
  const home = new Float64Array(count);
  const sum = [...seeds.values()].reduce((total, weight) => total + weight, 0);
  for (const [node, weight] of seeds) home[node] = weight / sum;
  const reached = reachable(graph, seeds.keys());
  let here = home.slice();
  let next = new Float64Array(count);
  const visits = new Float64Array(count);
  for (let step = 0; step < steps; step++) {
    for (const node of reached) visits[node]! += here[node]!;
    let lost = 0;
    for (const node of reached) {
      const share = here[node]!;
      const end = offsets[node + 1]!;
      // A node without edges leads back to the seeds.
      if (offsets[node] === end) lost += share;
      else {
        const moving = share * (1 - restart);
        for (let edge = offsets[node]!; edge < end; edge++)
          next[neighbours[edge]!]! += moving * shares[edge]!;
        lost += share * restart;
      }
    }
    let change = 0;
    for (const node of reached) {
      next[node]! += lost * home[node]!;
      change += Math.abs(next[node]! - here[node]!);
      here[node] = 0;
    }
    [here, next] = [next, here];
    if (change < SETTLED) {
      const left = steps - step - 1;
      for (const node of reached) visits[node]! += left * here[node]!;
      break;
    }
  }
  for (const node of reached) visits[node]! /= steps;
  return visits;
}

/** Every node reachable from the seeds. */
function reachable({ offsets, neighbours }: Graph, seeds: Iterable<number>): Int32Array {
  const seen = new Uint8Array(offsets.length);
  const found = new Int32Array(offsets.length - 1);
  let count = 0;
  for (const node of seeds) {
    seen[node] = 1;
    found[count++] = node;
  }
  for (let place = 0; place < count; place++) {
    const node = found[place]!;
    for (let edge = offsets[node]!; edge < offsets[node + 1]!; edge++) {
      const other = neighbours[edge]!;
      if (seen[other] === 1) continue;
      seen[other] = 1;
      found[count++] = other;
    }
  }
  return found.subarray(0, count);
}
