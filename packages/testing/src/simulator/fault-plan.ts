import type { Random } from "./random.ts";

/** How often what goes wrong, in one simulated world. Rates are per completed operation. */
export interface FaultPlan {
  crash: number;
  /** A commit that fails and changed nothing. */
  failedCommit: number;
  /** A commit that took effect and reports a failure. */
  unsureCommit: number;
  failedRead: number;
  /** An operation or its answer that takes seconds. */
  slow: number;
  /** A process that stands still for longer than its lease. */
  pause: number;
  clockJump: number;
  /** Whether others can tell that a process is gone, or have to wait for its lease. */
  deathIsKnown: boolean;
  /** News of other processes' writes may take seconds. */
  slowNews: boolean;
  /** News that never arrive. */
  lostNews: number;
  /** How long the store keeps events, where that is less than usual. */
  retentionMs: number | undefined;
  /** How many runs a process carries out at once, where that is less than usual. */
  maxRuns: number | undefined;
  /** How often a process that crashed or closed never comes back, so that only the others can take over. */
  staysDead: number;
  /** A process that is closed in order, as in a rolling restart. */
  shutdown: number;
}

export const NO_FAULTS: FaultPlan = {
  crash: 0,
  failedCommit: 0,
  unsureCommit: 0,
  failedRead: 0,
  slow: 0,
  pause: 0,
  clockJump: 0,
  deathIsKnown: true,
  slowNews: false,
  lostNews: 0,
  retentionMs: undefined,
  maxRuns: undefined,
  staysDead: 0,
  shutdown: 0,
};

/** Each world has some kinds of faults and not others: rare combinations get their turn, and a finding is simpler. */
export function drawFaults(random: Random): FaultPlan {
  const sometimes = (probability: number, rates: readonly number[]) =>
    random.chance(probability) ? random.pick(rates) : 0;
  const plan = {
    crash: sometimes(0.6, [0.003, 0.008, 0.02]),
    failedCommit: sometimes(0.3, [0.005, 0.02]),
    unsureCommit: sometimes(0.25, [0.005, 0.02]),
    failedRead: sometimes(0.2, [0.01, 0.05]),
    slow: sometimes(0.4, [0.005, 0.03]),
    pause: sometimes(0.4, [0.004, 0.015]),
    clockJump: sometimes(0.2, [0.002, 0.005]),
    deathIsKnown: random.chance(0.6),
    slowNews: random.chance(0.3),
    lostNews: sometimes(0.3, [0.05, 0.5]),
    retentionMs: random.chance(0.25) ? random.pick([2_000, 60_000]) : undefined,
    staysDead: sometimes(0.5, [0.5, 1]),
    shutdown: sometimes(0.3, [0.003, 0.01]),
  };
  // Not drawn, so that a seed keeps the faults it has.
  return { ...plan, maxRuns: plan.slowNews ? (plan.deathIsKnown ? 1 : 2) : undefined };
}
