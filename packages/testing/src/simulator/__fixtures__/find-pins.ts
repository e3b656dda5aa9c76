import { PLANTED_FAULTS, worldsWith } from "../planted-faults.ts";
import { simulate } from "../simulate.ts";
import { LISTED_STATES } from "./listed-states.ts";

/** Seeds that take the tests straight to where they want to go. A change of the code can make them stale. */
export interface Pins {
  /** Worlds that reach every listed state between them. */
  states: number[];
  /** By the name of each planted fault, a world in which it is found. */
  faults: Record<string, number>;
}

/**
 * Worlds that reach every listed state between them, and one for each planted fault, among the pinned ones and the first
 * `seeds`. Pins that still work are kept.
 */
export async function findPins(
  pinned: Pins,
  seeds: number,
  onProgress: (line: string) => void,
): Promise<Pins> {
  const all = Array.from({ length: seeds }, (_, index) => index + 1);
  const states: number[] = [];
  const missing = new Set(LISTED_STATES);
  for (const seed of [...pinned.states, ...all]) {
    if (missing.size === 0) break;
    onProgress(`World ${seed}, ${missing.size} states are missing`);
    const { reached } = await simulate(seed);
    if (![...missing].some((state) => reached.has(state))) continue;
    states.push(seed);
    for (const state of reached) missing.delete(state);
  }
  if (missing.size > 0) throw new Error(`No world reaches: ${[...missing].join("; ")}`);
  const faults: Record<string, number> = {};
  for (const planted of PLANTED_FAULTS) {
    const { name } = planted;
    for (const seed of [pinned.faults[name] ?? 1, ...worldsWith(planted, seeds)]) {
      onProgress(`World ${seed}, ${name}`);
      if (!(await simulate(seed, { planted })).violation) continue;
      faults[name] = seed;
      break;
    }
  }
  return { states, faults };
}
