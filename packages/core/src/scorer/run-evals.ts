import type { StoredMessage } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import { SCORE_DOMAIN } from "../storage/score-domain.ts";
import type { Storage } from "../storage/storage.ts";
import { realSystem } from "../system.ts";
import type { MastraScorer, ScorerRun, ScorerRunResult } from "./scorer.ts";
import { extractTrajectory, extractWorkflowTrajectory } from "./trajectory.ts";

type AnyScorer = MastraScorer<any, any, any, any>;
/** The average that a scorer must reach: at least a number, or within bounds. */
type Threshold = number | { min?: number; max?: number };
type EvalScorer = AnyScorer | { scorer: AnyScorer; threshold: Threshold };

/** Scorers of the whole, or by what they score. */
type EvalScorers =
  | readonly EvalScorer[]
  | {
      agent?: readonly EvalScorer[];
      workflow?: readonly EvalScorer[];
      steps?: Record<string, readonly EvalScorer[]>;
      trajectory?: readonly EvalScorer[];
    };

interface EvalTurn {
  input: unknown;
  gates?: readonly AnyScorer[];
  scorers?: readonly AnyScorer[];
}

export interface EvalItem {
  input?: unknown;
  /** Several turns on one thread. */
  inputs?: readonly unknown[];
  /** The same, with scorers of their own. */
  turns?: readonly EvalTurn[];
  groundTruth?: unknown;
  expectedTrajectory?: unknown;
  requestContext?: RequestContext<any>;
  /** For workflows: more options of `start`. */
  startOptions?: Record<string, unknown>;
}

/** An agent or a workflow. */
export interface EvalTarget {
  readonly id?: string;
  readonly name?: string;
  generate?(messages: any, options?: any): Promise<unknown>;
  createRun?(options?: any): Promise<{ start(options: any): Promise<unknown> }>;
  readonly hasMemory?: boolean;
  readonly host?: EvalHost | undefined;
}

interface EvalHost {
  getStorage(): Storage | undefined;
}

export interface RunEvalsOptions {
  target: EvalTarget;
  data: readonly EvalItem[];
  scorers?: EvalScorers;
  /** Scorers whose average must be exactly 1. */
  gates?: readonly AnyScorer[];
  /** Options of each call of an agent, or of each start of a workflow. */
  targetOptions?: Record<string, any>;
  /** How many items run at once. Default: 1. */
  concurrency?: number;
  onItemComplete?(done: {
    item: EvalItem;
    targetResult: unknown;
    scorerResults: Record<string, ScorerRunResult>;
  }): unknown;
}

interface GateResult {
  id: string;
  passed: boolean;
  score: number;
}

export interface RunEvalsResult {
  /** Averages by scorer id, nested as the scorers were. */
  scores: Record<string, any>;
  summary: { totalItems: number };
  /** `failed`: a gate was missed. `scored`: a threshold was missed. Absent without gates and thresholds. */
  verdict?: "passed" | "scored" | "failed";
  gateResults?: GateResult[];
  thresholdResults?: { id: string; passed: boolean; averageScore: number; threshold: Threshold }[];
  /** Averages of the scorers and gates of turns, by turn. */
  turnResults?: { turn: number; scores: Record<string, number>; gateResults: GateResult[] }[];
}

/** What a run gave, by what can be scored of it. */
interface Outcome {
  result: unknown;
  whole: ScorerRun;
  trajectory: ScorerRun;
  steps: Record<string, ScorerRun>;
  turns: ScorerRun[];
}

/** One scorer, where its average goes, and what it scores. */
interface Plan {
  scorer: AnyScorer;
  threshold?: Threshold;
  isGate?: boolean;
  turn?: number;
  path: readonly string[];
  entityType: "AGENT" | "WORKFLOW" | "STEP" | "TRAJECTORY";
  pick(outcome: Outcome): ScorerRun | undefined;
}

/** Runs a target on each item and averages the scores. Rejects if the target or a scorer fails. */
export async function runEvals(options: RunEvalsOptions): Promise<RunEvalsResult> {
  const { target, data, concurrency = 1 } = options;
  const plans = toPlans(options);
  check(options, plans);
  const totals = new Map<Plan, { sum: number; count: number }>();
  const waiting = [...data.entries()];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, item] = next;
      const own = [...plans, ...turnPlans(item)];
      const outcome = await execute(target, item, options.targetOptions ?? {}, place(index));
      const scorerResults: Record<string, ScorerRunResult> = {};
      for (const plan of own) {
        const run = plan.pick(outcome);
        if (!run) continue;
        const result = await plan.scorer.run(run);
        scorerResults[plan.scorer.id] = result;
        add(totals, plans.includes(plan) ? plan : sameTurn(totals, plan), result.score);
        await save(target, plan, run, result);
      }
      await options.onItemComplete?.({ item, targetResult: outcome.result, scorerResults });
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(concurrency, data.length) }, work));
  } finally {
    // After a failure, nothing new begins.
    waiting.length = 0;
  }
  return report([...totals.keys()], (plan) => average(totals.get(plan)!), data.length);
}

function toPlans({ scorers = [], gates = [], target }: RunEvalsOptions): Plan[] {
  const whole = isWorkflow(target) ? "WORKFLOW" : "AGENT";
  const plan = (one: EvalScorer, path: readonly string[], more: Partial<Plan> = {}): Plan => {
    const { scorer, threshold } = "scorer" in one ? one : { scorer: one, threshold: undefined };
    const isTrajectory = scorer.type === "trajectory";
    return {
      scorer,
      ...(threshold !== undefined && { threshold }),
      path: [...path, scorer.id],
      entityType: isTrajectory ? "TRAJECTORY" : whole,
      pick: (outcome) => (isTrajectory ? outcome.trajectory : outcome.whole),
      ...more,
    };
  };
  const all = (
    list: readonly EvalScorer[] | undefined,
    path: readonly string[],
    more?: Partial<Plan>,
  ): Plan[] => (list ?? []).map((one) => plan(one, path, more));
  const byKind = Array.isArray(scorers)
    ? undefined
    : (scorers as Exclude<EvalScorers, readonly EvalScorer[]>);
  return [
    ...(byKind
      ? [
          ...all(byKind.agent, ["agent"]),
          ...all(byKind.workflow, ["workflow"]),
          ...Object.entries(byKind.steps ?? {}).flatMap(([id, list]) =>
            all(list, ["steps", id], { entityType: "STEP", pick: ({ steps }) => steps[id] }),
          ),
          ...all(byKind.trajectory, ["trajectory"], {
            entityType: "TRAJECTORY",
            pick: ({ trajectory }) => trajectory,
          }),
        ]
      : all(scorers as readonly EvalScorer[], [])),
    ...all(gates, [], { isGate: true }),
  ];
}

function turnPlans({ turns = [] }: EvalItem): Plan[] {
  const plan = (scorer: AnyScorer, turn: number, isGate: boolean): Plan => ({
    scorer,
    turn,
    isGate,
    path: [scorer.id],
    entityType: "AGENT",
    pick: (outcome) => outcome.turns[turn],
  });
  return turns.flatMap(({ gates = [], scorers = [] }, turn) => [
    ...scorers.map((scorer) => plan(scorer, turn, false)),
    ...gates.map((scorer) => plan(scorer, turn, true)),
  ]);
}

/** Items may have the same scorer in the same turn: they share an average. */
function sameTurn(totals: Map<Plan, unknown>, plan: Plan): Plan {
  const isSame = ({ turn, scorer, isGate }: Plan) =>
    turn === plan.turn && scorer.id === plan.scorer.id && isGate === plan.isGate;
  return [...totals.keys()].find(isSame) ?? plan;
}

function check({ target, data, concurrency = 1 }: RunEvalsOptions, plans: readonly Plan[]): void {
  const refuse = (message: string) => {
    throw new AgentError("invalid-argument", message);
  };
  if (typeof target?.generate !== "function" && typeof target?.createRun !== "function")
    refuse(`target must be an agent or a workflow, but got ${showValue(target)}.`);
  if (!Array.isArray(data) || data.length === 0) refuse("data must be a list of at least one item.");
  if (!Number.isInteger(concurrency) || concurrency < 1)
    refuse(`concurrency must be a positive integer, but got ${showValue(concurrency)}.`);
  if (plans.length === 0 && !data.some((item) => turnPlans(item).length > 0))
    refuse("runEvals needs at least one scorer or gate.");
  for (const { scorer } of plans)
    if (typeof scorer?.run !== "function")
      refuse(`A scorer must be made by createScorer, got ${showValue(scorer)}.`);
  for (const [index, item] of data.entries()) {
    const given = [item.input, item.inputs, item.turns].filter((one) => one !== undefined).length;
    if (given !== 1) refuse(`data[${index}] must have one of input, inputs and turns, but has ${given}.`);
    if ((item.inputs ?? item.turns)?.length === 0) refuse(`data[${index}] has no turns.`);
    if (isWorkflow(target) && item.input === undefined)
      refuse(`data[${index}] has turns, but a workflow has only one input.`);
  }
}

function place(index: number): { thread: string; resource: string } {
  const id = realSystem.newId();
  return { thread: `eval-${index}-${id}`, resource: `eval-${index}-${id}` };
}

async function execute(
  target: EvalTarget,
  item: EvalItem,
  targetOptions: Record<string, any>,
  fresh: { thread: string; resource: string },
): Promise<Outcome> {
  const { groundTruth, expectedTrajectory, requestContext } = item;
  const about = {
    ...(groundTruth !== undefined && { groundTruth }),
    ...(expectedTrajectory !== undefined && { expectedTrajectory }),
    ...(requestContext && { requestContext }),
  };
  return isWorkflow(target)
    ? executeWorkflow(target, item, targetOptions, about)
    : executeAgent(target, item, targetOptions, fresh, about);
}

async function executeAgent(
  target: EvalTarget,
  item: EvalItem,
  targetOptions: Record<string, any>,
  fresh: { thread: string; resource: string },
  about: Partial<ScorerRun>,
): Promise<Outcome> {
  const inputs = item.turns?.map(({ input }) => input) ?? item.inputs ?? [item.input];
  const needsThread = inputs.length > 1 || target.hasMemory === true || targetOptions["memory"];
  const turns: ScorerRun[] = [];
  const results: unknown[] = [];
  for (const input of inputs) {
    const result = (await target.generate!(input, {
      ...targetOptions,
      ...(item.requestContext && { requestContext: item.requestContext }),
      ...(needsThread && { memory: { ...fresh, ...targetOptions["memory"] } }),
      // The scorers of this evaluation take the place of the agent's.
      scorers: {},
      returnScorerData: true,
    })) as { runId: string; error?: unknown; scoringData?: Pick<ScorerRun, "input" | "output"> };
    if (result.error) throw result.error;
    results.push(result);
    turns.push({
      ...about,
      runId: result.runId,
      input: result.scoringData?.input,
      output: result.scoringData?.output ?? [],
    });
  }
  const output = turns.flatMap((turn) => turn.output as StoredMessage[]);
  const whole = { ...turns.at(-1)!, input: turns[0]!.input, output };
  return {
    result: results.length === 1 ? results[0] : results,
    whole,
    trajectory: { ...whole, output: extractTrajectory(output) },
    steps: {},
    turns,
  };
}

async function executeWorkflow(
  target: EvalTarget,
  item: EvalItem,
  targetOptions: Record<string, any>,
  about: Partial<ScorerRun>,
): Promise<Outcome> {
  const run = (await target.createRun!({ disableScorers: true })) as {
    runId?: string;
    start(options: any): any;
  };
  const result = (await run.start({
    ...targetOptions,
    ...item.startOptions,
    inputData: item.input,
    ...(item.requestContext && { requestContext: item.requestContext }),
  })) as { status: string; result?: unknown; error?: unknown; steps: Record<string, any> };
  if (result.status === "failed") throw result.error;
  const whole = { ...about, runId: run.runId, input: item.input, output: result.result };
  const steps = Object.fromEntries(
    Object.entries(result.steps)
      .filter(([, step]) => step?.status === "success")
      .map(([id, step]) => [id, { ...about, runId: run.runId, input: step.payload, output: step.output }]),
  );
  return {
    result,
    whole,
    trajectory: { ...whole, output: extractWorkflowTrajectory(result.steps) },
    steps,
    turns: [],
  };
}

async function save(target: EvalTarget, plan: Plan, run: ScorerRun, result: ScorerRunResult): Promise<void> {
  const storage = target.host?.getStorage();
  if (!storage) return;
  const { scorer, entityType, path } = plan;
  const { requestContext: _, ...kept } = result;
  const entityId = entityType === "STEP" ? path[1]! : (target.id ?? target.name ?? "");
  const scores = await storage.domain(SCORE_DOMAIN);
  await scores.saveScore({
    ...kept,
    scorerId: scorer.id,
    runId: run.runId ?? result.runId,
    entityId,
    entityType,
    source: "TEST",
    scorer: { id: scorer.id, name: scorer.name, description: scorer.description },
    entity: { id: entityId },
  });
}

function report(
  plans: readonly Plan[],
  averageOf: (plan: Plan) => number,
  totalItems: number,
): RunEvalsResult {
  const scores: Record<string, any> = {};
  for (const plan of plans) {
    if (plan.isGate || plan.turn !== undefined) continue;
    let at = scores;
    for (const key of plan.path.slice(0, -1)) at = at[key] ??= {};
    at[plan.path.at(-1)!] = averageOf(plan);
  }
  const gate = (plan: Plan): GateResult => {
    const score = averageOf(plan);
    return { id: plan.scorer.id, passed: score === 1, score };
  };
  const ofWhole = plans.filter(({ turn }) => turn === undefined);
  const gateResults = ofWhole.filter(({ isGate }) => isGate).map(gate);
  const thresholdResults = ofWhole.flatMap((plan) => {
    if (plan.threshold === undefined) return [];
    const averageScore = averageOf(plan);
    const { threshold } = plan;
    return [{ id: plan.scorer.id, passed: reaches(averageScore, threshold), averageScore, threshold }];
  });
  const turns = [...new Set(plans.flatMap(({ turn }) => (turn === undefined ? [] : [turn])))].toSorted(
    (a, b) => a - b,
  );
  const turnResults = turns.map((turn) => {
    const own = plans.filter((plan) => plan.turn === turn);
    const scored = own.filter(({ isGate }) => !isGate);
    return {
      turn,
      scores: Object.fromEntries(scored.map((plan) => [plan.scorer.id, averageOf(plan)])),
      gateResults: own.filter(({ isGate }) => isGate).map(gate),
    };
  });
  const gates = [...gateResults, ...turnResults.flatMap((one) => one.gateResults)];
  const isJudged = gates.length > 0 || thresholdResults.length > 0;
  const verdict = gates.some(({ passed }) => !passed)
    ? "failed"
    : thresholdResults.some(({ passed }) => !passed)
      ? "scored"
      : "passed";
  return {
    scores,
    summary: { totalItems },
    ...(isJudged && { verdict }),
    ...(gateResults.length > 0 && { gateResults }),
    ...(thresholdResults.length > 0 && { thresholdResults }),
    ...(turnResults.length > 0 && { turnResults }),
  };
}

function reaches(score: number, threshold: Threshold): boolean {
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } =
    typeof threshold === "number" ? { min: threshold } : threshold;
  return score >= min && score <= max;
}

function add(totals: Map<Plan, { sum: number; count: number }>, plan: Plan, score: number): void {
  const { sum, count } = totals.get(plan) ?? { sum: 0, count: 0 };
  totals.set(plan, { sum: sum + score, count: count + 1 });
}

function average({ sum, count }: { sum: number; count: number }): number {
  return sum / count;
}

function isWorkflow(target: EvalTarget): boolean {
  return typeof target.createRun === "function";
}
