import { PLANTED_FAULTS } from "../planted-faults.ts";
import { simulate } from "../simulate.ts";
import { LISTED_STATES } from "./listed-states.ts";

/** Seeds that take the tests straight to where they want to go. A change of the code can make them stale. */
export interface Pins {
  /** Worlds that reach every listed state between them. */
  states: number[];
  /** By the name of each planted fault, a world in which it is found. */
  faults: Record<string, number>;
}

/** Few worlds that reach every listed state, and one for each planted fault, among the first `seeds`. */
export async function findPins(seeds: number, onProgress: (line: string) => void): Promise<Pins> {
  const reached = new Map<number, Set<string>>();
  for (let seed = 1; seed <= seeds; seed++) {
    if (seed % 100 === 0) onProgress(`${seed} of ${seeds} worlds`);
    reached.set(seed, (await simulate(seed)).reached);
  }
  const faults: Record<string, number> = {};
  for (const planted of PLANTED_FAULTS) {
    onProgress(planted.name);
    for (let seed = 1; seed <= seeds; seed++) {
      if (!(await simulate(seed, { planted })).violation) continue;
      faults[planted.name] = seed;
      break;
    }
  }
  return { states: cover(reached), faults };
}

/** The world that reaches most of what is missing, again and again. */
function cover(reached: ReadonlyMap<number, ReadonlySet<string>>): number[] {
  const missing = new Set(LISTED_STATES);
  const seeds: number[] = [];
  while (missing.size > 0) {
    let best = { seed: 0, found: [] as string[] };
    for (const [seed, states] of reached) {
      const found = [...missing].filter((state) => states.has(state));
      if (found.length > best.found.length) best = { seed, found };
    }
    if (best.found.length === 0) throw new Error(`No world reaches: ${[...missing].join("; ")}`);
    seeds.push(best.seed);
    for (const state of best.found) missing.delete(state);
  }
  return seeds;
}
