import {
  createScorer,
  type ExpectedStep,
  type MastraScorer,
  type ScorerRunInputForAgent,
  type Trajectory,
  type TrajectoryStep,
} from "@selvedge/core/evals";
import { AgentError } from "@selvedge/core/errors";

type TrajectoryScorer = MastraScorer<string, ScorerRunInputForAgent, Trajectory>;

export interface TrajectoryComparisonOptions {
  /** The same steps in the same order, and no others. Default: false. */
  strictOrder?: boolean;
  /** Default: true. */
  allowRepeatedSteps?: boolean;
}

export interface TrajectoryComparison {
  score: number;
  matchedSteps: number;
  totalExpectedSteps: number;
  totalActualSteps: number;
  missingSteps: string[];
  extraSteps: string[];
  outOfOrderSteps: string[];
  repeatedSteps: string[];
}

interface Expectation {
  steps: readonly ExpectedStep[];
}

const EXTRA_PENALTY = 0.1;
const MOST_EXTRA = 0.5;
const REPEATED_PENALTY = 0.1;
const MOST_REPEATED = 0.3;

/** How far a trajectory follows the expected one, from 0 to 1. */
export function compareTrajectories(
  actual: Pick<Trajectory, "steps">,
  expected: Expectation,
  { strictOrder = false, allowRepeatedSteps = true }: TrajectoryComparisonOptions = {},
): TrajectoryComparison {
  const found = new Set<number>();
  const missing: ExpectedStep[] = [];
  let next = 0;
  for (const step of expected.steps) {
    const at = actual.steps.findIndex((one, index) => index >= next && isMatch(one, step));
    if (at < 0) missing.push(step);
    else {
      found.add(at);
      next = at + 1;
    }
  }
  const extra = actual.steps.filter((_, index) => !found.has(index));
  const names = actual.steps.map(({ name }) => name);
  const repeatedSteps = [...new Set(names.filter((name, index) => names.indexOf(name) < index))];
  const outOfOrder = missing.filter((step) => extra.some((one) => isMatch(one, step)));
  const isExact = missing.length === 0 && extra.length === 0;
  const share = expected.steps.length === 0 ? 1 : found.size / expected.steps.length;
  const penalty =
    Math.min(MOST_EXTRA, (EXTRA_PENALTY * extra.length) / Math.max(1, expected.steps.length)) +
    (allowRepeatedSteps ? 0 : Math.min(MOST_REPEATED, REPEATED_PENALTY * repeatedSteps.length));
  const isStrictMatch = isExact && (allowRepeatedSteps || repeatedSteps.length === 0);
  return {
    score: strictOrder ? Number(isStrictMatch) : round(Math.max(0, share - penalty)),
    matchedSteps: found.size,
    totalExpectedSteps: expected.steps.length,
    totalActualSteps: actual.steps.length,
    missingSteps: missing.filter((step) => !outOfOrder.includes(step)).map(({ name }) => name),
    extraSteps: extra.map(({ name }) => name),
    outOfOrderSteps: outOfOrder.map(({ name }) => name),
    repeatedSteps,
  };
}

/** Whether the expected steps were taken: 0 or 1 if it is strict, otherwise the share of them, in order. */
export function createTrajectoryAccuracyScorerCode({
  expectedTrajectory,
  comparisonOptions = {},
}: {
  /** Default: `expectedTrajectory` of what is scored. */
  expectedTrajectory?: Expectation | Trajectory;
  comparisonOptions?: TrajectoryComparisonOptions;
} = {}): TrajectoryScorer {
  return createScorer({
    id: "code-trajectory-accuracy-scorer",
    name: "Trajectory Accuracy Scorer",
    description: "Whether the expected steps were taken.",
    type: "trajectory",
  })
    .preprocess(({ run }) => {
      const expected = expectedTrajectory ?? toExpectation(run.expectedTrajectory);
      if (!expected)
        throw new AgentError(
          "invalid-argument",
          "There is no expected trajectory. Pass expectedTrajectory to the scorer or to the item.",
        );
      return compareTrajectories(run.output, expected, comparisonOptions);
    })
    .generateScore(({ results }) => results.preprocessStepResult.score)
    .generateReason(({ results: { preprocessStepResult: found } }) =>
      describe({
        missing: found.missingSteps,
        "out of order": found.outOfOrderSteps,
        extra: found.extraSteps,
      }),
    ) as TrajectoryScorer;
}

export interface TrajectoryExpectation {
  steps?: readonly ExpectedStep[];
  /** Default: `"relaxed"`: in order, with others in between. */
  ordering?: "relaxed" | "strict" | "unordered";
  maxSteps?: number;
  maxTotalTokens?: number;
  maxTotalDurationMs?: number;
  /** No tool may be called twice in a row with the same arguments. Default: true. */
  noRedundantCalls?: boolean;
  /** Tools and sequences of tools that must not occur. */
  blacklistedTools?: readonly string[];
  blacklistedSequences?: readonly (readonly string[])[];
  /** Failed calls of one tool, in a row. Default: 2. */
  maxRetriesPerTool?: number;
}

type Dimension = "accuracy" | "efficiency" | "toolFailures" | "blacklist";
const WEIGHTS: Record<Dimension, number> = {
  accuracy: 0.4,
  efficiency: 0.3,
  toolFailures: 0.2,
  blacklist: 0.1,
};

/** Steps, cost, failures and forbidden tools in one score. 0 if something forbidden happened. */
export function createTrajectoryScorerCode({
  defaults = {},
  weights = {},
}: {
  /** What is expected, unless `expectedTrajectory` of what is scored says otherwise. */
  defaults?: TrajectoryExpectation;
  weights?: Partial<Record<Dimension, number>>;
} = {}): TrajectoryScorer {
  const weightOf = { ...WEIGHTS, ...weights };
  return createScorer({
    id: "code-trajectory-scorer",
    name: "Trajectory Scorer",
    description: "Whether the right steps were taken, at what cost, and without failures or forbidden tools.",
    type: "trajectory",
  })
    .preprocess(({ run }) => {
      const expected = { ...defaults, ...(run.expectedTrajectory as TrajectoryExpectation | undefined) };
      return {
        accuracy: accuracyOf(run.output, expected),
        efficiency: efficiencyOf(run.output, expected),
        toolFailures: failuresOf(run.output, expected),
        blacklist: blacklistOf(run.output, expected),
      } satisfies Record<Dimension, number | undefined>;
    })
    .generateScore(({ results: { preprocessStepResult: found } }) => {
      if (found.blacklist === 0) return 0;
      const dimensions = (Object.keys(weightOf) as Dimension[]).filter((name) => found[name] !== undefined);
      const total = dimensions.reduce((sum, name) => sum + weightOf[name], 0);
      if (total === 0) return 1;
      return round(dimensions.reduce((sum, name) => sum + weightOf[name] * found[name]!, 0) / total);
    })
    .generateReason(({ results: { preprocessStepResult: found }, score }) => {
      const parts = Object.entries(found).flatMap(([name, value]) =>
        value === undefined ? [] : [`${name} ${round(value)}`],
      );
      return `${score}: ${parts.join(", ")}.`;
    }) as TrajectoryScorer;
}

function accuracyOf({ steps }: Trajectory, expected: TrajectoryExpectation): number | undefined {
  if (!expected.steps) return undefined;
  const { ordering = "relaxed" } = expected;
  if (ordering !== "unordered")
    return compareTrajectories({ steps }, { steps: expected.steps }, { strictOrder: ordering === "strict" })
      .score;
  const rest = [...steps];
  const matched = expected.steps.filter((step) => {
    const at = rest.findIndex((one) => isMatch(one, step));
    if (at >= 0) rest.splice(at, 1);
    return at >= 0;
  });
  return expected.steps.length === 0 ? 1 : matched.length / expected.steps.length;
}

/** The mean of the limits that are set: 1 within one, less the more it is exceeded. */
function efficiencyOf(trajectory: Trajectory, expected: TrajectoryExpectation): number | undefined {
  const { maxSteps, maxTotalTokens, maxTotalDurationMs, noRedundantCalls = true } = expected;
  const within = (actual: number, most: number | undefined): number[] =>
    most === undefined ? [] : [actual <= most ? 1 : most / actual];
  const { steps } = trajectory;
  const duration = trajectory.totalDurationMs ?? sumOf(steps, ({ durationMs }) => durationMs);
  const isRedundant = steps.some((step, at) => at > 0 && isSameCall(step, steps[at - 1]!));
  const parts = [
    ...within(steps.length, maxSteps),
    ...within(sumOf(steps, tokensOf), maxTotalTokens),
    ...within(duration, maxTotalDurationMs),
    ...(noRedundantCalls ? [isRedundant ? 0 : 1] : []),
  ];
  return parts.length === 0 ? undefined : parts.reduce((sum, one) => sum + one, 0) / parts.length;
}

/** The share of tools that did not fail more often in a row than allowed. */
function failuresOf(
  { steps }: Trajectory,
  { maxRetriesPerTool = 2 }: TrajectoryExpectation,
): number | undefined {
  const tools = [...new Set(steps.filter(isTool).map(({ name }) => name))];
  if (tools.length === 0) return undefined;
  const isFine = (name: string): boolean => {
    let failed = 0;
    for (const step of steps.filter((one) => isTool(one) && one.name === name)) {
      failed = step.success === false ? failed + 1 : 0;
      if (failed > maxRetriesPerTool) return false;
    }
    return true;
  };
  return tools.filter(isFine).length / tools.length;
}

function blacklistOf({ steps }: Trajectory, expected: TrajectoryExpectation): number | undefined {
  const { blacklistedTools, blacklistedSequences } = expected;
  if (!blacklistedTools && !blacklistedSequences) return undefined;
  const names = steps.map(({ name }) => name);
  const occurs = (sequence: readonly string[]) =>
    sequence.length > 0 &&
    names.some((_, at) => sequence.every((name, offset) => names[at + offset] === name));
  return blacklistedTools?.some((name) => names.includes(name)) || blacklistedSequences?.some(occurs) ? 0 : 1;
}

/** Fields that the expected step leaves out match anything. */
function isMatch(step: TrajectoryStep, expected: ExpectedStep): boolean {
  const { children, ...fields } = expected;
  const expectedChildren = children && ("steps" in children ? children.steps : children);
  const isSame = Object.entries(fields).every(
    ([name, value]) => value === undefined || ["durationMs"].includes(name) || isPart(value, step[name]),
  );
  if (!isSame) return false;
  return (
    !expectedChildren ||
    compareTrajectories({ steps: step.children ?? [] }, { steps: expectedChildren }).missingSteps.length === 0
  );
}

/** Whether a value contains all of the expected one. */
function isPart(expected: unknown, actual: unknown): boolean {
  if (typeof expected !== "object" || expected === null) return Object.is(expected, actual);
  if (typeof actual !== "object" || actual === null) return false;
  if (Array.isArray(expected) && (!Array.isArray(actual) || actual.length !== expected.length)) return false;
  return Object.entries(expected).every(([key, value]) =>
    isPart(value, (actual as Record<string, unknown>)[key]),
  );
}

function isSameCall(a: TrajectoryStep, b: TrajectoryStep): boolean {
  return isTool(a) && a.name === b.name && JSON.stringify(a.toolArgs) === JSON.stringify(b.toolArgs);
}

function isTool({ stepType }: TrajectoryStep): boolean {
  return stepType === "tool_call" || stepType === "mcp_tool_call";
}

function tokensOf({ promptTokens, completionTokens }: TrajectoryStep): number {
  return Number(promptTokens ?? 0) + Number(completionTokens ?? 0);
}

function sumOf(
  steps: readonly TrajectoryStep[],
  value: (step: TrajectoryStep) => number | undefined,
): number {
  return steps.reduce((sum, step) => sum + (value(step) ?? 0), 0);
}

function toExpectation(given: unknown): Expectation | undefined {
  const steps = Array.isArray(given) ? given : (given as Partial<Expectation> | undefined)?.steps;
  return steps && { steps };
}

function describe(lists: Record<string, readonly string[]>): string {
  const parts = Object.entries(lists).flatMap(([name, list]) =>
    list.length > 0 ? [`${name}: ${list.join(", ")}`] : [],
  );
  return parts.length > 0 ? `${parts.join("; ")}.` : "All steps as expected.";
}

function round(score: number): number {
  return Math.round(score * 100) / 100;
}
