import type { Violation } from "./world.ts";
import { simulate, type SimulateOptions, type SimulationResult } from "./simulate.ts";
import { simulateWorkflows } from "./workflow/simulate-workflows.ts";

/** What worlds consist of, and which flag of `npm run sim` simulates them. */
export interface KindOfWorld {
  simulate(seed: number, options: SimulateOptions): Promise<SimulationResult>;
  flag?: string;
}

export const THREAD_WORLDS: KindOfWorld = { simulate };
export const WORKFLOW_WORLDS: KindOfWorld = { simulate: simulateWorkflows, flag: "--workflows" };

export interface RunSimulationOptions extends SimulateOptions {
  /** How many worlds. */
  seeds: number;
  /** The first seed. 1 when absent. */
  from?: number;
  /** `THREAD_WORLDS` when absent. */
  kind?: KindOfWorld;
  /** Go on after a violation, up to so many. 1 when absent. */
  maxViolations?: number;
  onProgress?: (progress: { done: number; seeds: number; violations: number }) => void;
}

export interface SimulationFailure {
  seed: number;
  violation: Violation;
  /** The last things that happened in that world. */
  lastEvents: string[];
  kind: KindOfWorld;
}

export interface SimulationReport {
  worlds: number;
  steps: number;
  virtualMs: number;
  failures: SimulationFailure[];
  /** In how many worlds each interesting state was reached. */
  reached: Map<string, number>;
}

const LAST_EVENTS = 40;

/** Simulates one world per seed, and looks closely at those where a promise did not hold. */
export async function runSimulation(options: RunSimulationOptions): Promise<SimulationReport> {
  const { seeds, from = 1, maxViolations = 1, onProgress, kind = THREAD_WORLDS, ...each } = options;
  const report: SimulationReport = { worlds: 0, steps: 0, virtualMs: 0, failures: [], reached: new Map() };
  for (let seed = from; seed < from + seeds && report.failures.length < maxViolations; seed++) {
    const { violation, reached, steps, virtualMs } = await kind.simulate(seed, each);
    report.worlds++;
    report.steps += steps;
    report.virtualMs += virtualMs;
    for (const state of reached) report.reached.set(state, (report.reached.get(state) ?? 0) + 1);
    // The same seed is the same world: the story is told when somebody wants to read it.
    if (violation) {
      const again = await kind.simulate(seed, { ...each, trace: true });
      report.failures.push({ seed, violation, lastEvents: lastEvents(again), kind });
    }
    onProgress?.({ done: report.worlds, seeds, violations: report.failures.length });
  }
  return report;
}

function lastEvents({ trace, violation }: SimulationResult): string[] {
  return [
    ...(trace ?? []).slice(-LAST_EVENTS),
    ...(violation ? [] : ["(The second time nothing went wrong: something outside the world has a say.)"]),
  ];
}

/** A failure as text, with how to see it again. */
export function describeFailure(failure: SimulationFailure): string {
  const { seed, violation, lastEvents: events, kind } = failure;
  const flags = [...(kind.flag === undefined ? [] : [kind.flag]), "--seed", seed, "--trace"].join(" ");
  return [
    `${violation.message}`,
    `seed ${seed}, replay with: npm run sim -- ${flags} (on the same commit: git rev-parse HEAD)`,
    ...events.map((event) => `  ${event}`),
  ].join("\n");
}
