import type { StoredMessage } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { InferOutput, Schema } from "../schema/schema.ts";
import { realSystem } from "../system.ts";
import { askJudge, type JudgeExecution, type ScorerJudge } from "./ask-judge.ts";
import { ScorerRunError, type ScorerStepName as StepName } from "./scorer-run-error.ts";
import type { Trajectory } from "./trajectory.ts";

/** What an agent was given, as its scorers see it. */
export interface ScorerRunInputForAgent {
  inputMessages: StoredMessage[];
  rememberedMessages: StoredMessage[];
  systemMessages: { role: "system"; content: string }[];
  taggedSystemMessages: Record<string, { role: "system"; content: string }[]>;
}

/** What an agent answered. */
export type ScorerRunOutputForAgent = StoredMessage[];

/** What is scored. */
export interface ScorerRun<Input = any, Output = any> {
  runId?: string | undefined;
  input?: Input;
  output: Output;
  groundTruth?: any;
  expectedTrajectory?: any;
  requestContext?: RequestContext<any> | Record<string, any> | undefined;
  [more: string]: unknown;
}

/** What a step is given. `results` has `preprocessStepResult` and `analyzeStepResult`, as far as they exist. */
export interface ScorerStepContext<Input, Output, Results> {
  run: ScorerRun<Input, Output>;
  results: Results;
}

type WithScore<Context> = Context & { score: number };

interface Prompt<Context> {
  description: string;
  /** The model that answers. Default: the judge of the scorer. */
  judge?: ScorerJudge;
  createPrompt: (context: Context) => string | Promise<string>;
}

/** A step is a function, or a prompt that a judge answers. */
type Step<Context, Value> =
  | ((context: Context) => Value | Promise<Value>)
  | (Prompt<Context> & { outputSchema: Schema<any, Value> });

type ScoreStep<Context, Value> =
  | ((context: Context) => number | Promise<number>)
  | (Prompt<Context> & {
      outputSchema?: Schema<any, Value>;
      /** The score of what the judge answered. Without it, the judge answers with a score. */
      calculateScore?: (context: Context & { analyzeStepResult: Value }) => number | Promise<number>;
    });

type ReasonStep<Context> = ((context: Context) => string | Promise<string>) | Prompt<Context>;

export interface ScorerConfig<Id extends string = string> {
  /** Default: `name`. */
  id?: Id;
  name?: string;
  description: string;
  type?: "agent" | "trajectory" | { input: Schema; output: Schema };
  judge?: ScorerJudge;
  /** Changes what is scored before the first step. */
  prepareRun?: (run: ScorerRun) => ScorerRun | Promise<ScorerRun>;
}

export interface ScorerRunResult<Input = any, Output = any> extends ScorerRun<Input, Output> {
  runId: string;
  score: number;
  reason?: string;
  preprocessStepResult?: any;
  analyzeStepResult?: any;
  preprocessPrompt?: string;
  analyzePrompt?: string;
  generateScorePrompt?: string;
  generateReasonPrompt?: string;
  /** What the judge was asked, by step. Absent without a judge. */
  judge?: Partial<Record<StepName, { executions: JudgeExecution[] }>>;
}

const ONE_SCORE = {
  type: "object",
  properties: { score: { type: "number" } },
  required: ["score"],
  additionalProperties: false,
} as const;

const STEP_NAMES = ["preprocess", "analyze", "generateScore", "generateReason"] as const;
type AnyStep = ((context: any) => unknown) &
  Partial<Prompt<any> & { outputSchema: Schema; calculateScore: (context: any) => unknown }>;
/** What is known of a run besides its results. */
type Prompts = Record<string, unknown> & { judge?: ScorerRunResult["judge"] };
type Steps = Partial<Record<StepName, AnyStep>>;

/** Rates an output with a number. Made by `createScorer`; each method returns a scorer with one step more. */
export class MastraScorer<Id extends string = string, Input = any, Output = any, Results = object> {
  readonly id: Id;
  readonly name: string;
  readonly description: string;
  readonly type: ScorerConfig["type"];
  readonly judge: ScorerJudge | undefined;
  readonly #config: ScorerConfig<Id>;
  readonly #steps: Steps;

  constructor(config: ScorerConfig<Id>, steps: Steps = {}) {
    const id = config.id ?? (config.name as Id | undefined);
    if (typeof id !== "string" || id === "")
      throw new AgentError("invalid-argument", `A scorer needs an id, got ${showValue(id)}.`);
    this.id = id;
    this.name = config.name ?? id;
    this.description = config.description;
    this.type = config.type;
    this.judge = config.judge;
    this.#config = config;
    this.#steps = steps;
  }

  preprocess<Value>(
    step: Step<ScorerStepContext<Input, Output, Results>, Value>,
  ): MastraScorer<Id, Input, Output, Results & { preprocessStepResult: Awaited<Value> }> {
    return this.#with("preprocess", step);
  }

  analyze<Value>(
    step: Step<ScorerStepContext<Input, Output, Results>, Value>,
  ): MastraScorer<Id, Input, Output, Results & { analyzeStepResult: Awaited<Value> }> {
    return this.#with("analyze", step);
  }

  generateScore<Value = any>(
    step: ScoreStep<ScorerStepContext<Input, Output, Results>, Value>,
  ): MastraScorer<Id, Input, Output, Results> {
    return this.#with("generateScore", step);
  }

  generateReason(
    step: ReasonStep<WithScore<ScorerStepContext<Input, Output, Results>>>,
  ): MastraScorer<Id, Input, Output, Results> {
    return this.#with("generateReason", step);
  }

  /** Scores one output. Rejects with a `ScorerRunError` if a step fails. */
  async run(run: ScorerRun<Input, Output>): Promise<ScorerRunResult<Input, Output>> {
    if (!this.#steps.generateScore)
      throw new AgentError(
        "invalid-argument",
        `Scorer "${this.id}" cannot run without a score. Call generateScore().`,
      );
    const runId = run.runId ?? realSystem.newId();
    const prepared = (await this.#config.prepareRun?.(run)) ?? run;
    const results: Record<string, unknown> = {};
    const prompts: Prompts = {};
    const done: StepName[] = [];
    for (const name of STEP_NAMES) {
      const step = this.#steps[name];
      if (!step) continue;
      try {
        const context = { run: { ...prepared, runId }, results, score: results["score"] };
        Object.assign(results, await this.#runStep(name, step, context, prompts));
        done.push(name);
      } catch (error) {
        throw new ScorerRunError(this.id, name, done, { runId, ...prompts, ...results }, error);
      }
    }
    return { ...run, runId, ...prompts, ...results } as ScorerRunResult<Input, Output>;
  }

  async #runStep(
    name: StepName,
    step: AnyStep,
    context: ScorerStepContext<unknown, unknown, Record<string, unknown>> & { score: unknown },
    prompts: Prompts,
  ): Promise<Record<string, unknown>> {
    const key = { preprocess: "preprocessStepResult", analyze: "analyzeStepResult" }[name as string];
    if (typeof step === "function") {
      const value = await step(context);
      if (name === "generateReason") return { reason: value };
      return key ? { [key]: value } : { score: this.#checkScore(value) };
    }
    const { createPrompt, outputSchema, calculateScore, judge } = step as Partial<AnyStep>;
    const prompt = await createPrompt!(context);
    prompts[`${name}Prompt`] = prompt;
    const schema = name === "generateScore" ? (outputSchema ?? ONE_SCORE) : outputSchema;
    const answer = await askJudge(this.id, { ...this.judge, ...judge }, prompt, schema, (execution) => {
      prompts.judge = { ...prompts.judge, [name]: { executions: [execution] } };
    });
    if (name === "generateReason") return { reason: answer };
    if (key) return { [key]: answer };
    const score = calculateScore
      ? await calculateScore({ ...context, analyzeStepResult: answer })
      : (answer as { score?: unknown }).score;
    return { score: this.#checkScore(score) };
  }

  #checkScore(score: unknown): number {
    if (typeof score === "number" && Number.isFinite(score)) return score;
    throw new AgentError("invalid-argument", `A score must be a number, got ${showValue(score)}.`);
  }

  #with(name: StepName, step: unknown): MastraScorer<Id, Input, Output, any> {
    const isPrompt = typeof (step as Prompt<unknown> | undefined)?.createPrompt === "function";
    if (typeof step !== "function" && !isPrompt)
      throw new AgentError(
        "invalid-argument",
        `The step ${name} of scorer "${this.id}" must be a function or have createPrompt, got ${showValue(step)}.`,
      );
    return new MastraScorer<Id, Input, Output>(this.#config, { ...this.#steps, [name]: step as AnyStep });
  }
}

interface ScoredTypes {
  agent: { input: ScorerRunInputForAgent; output: ScorerRunOutputForAgent };
  trajectory: { input: ScorerRunInputForAgent; output: Trajectory };
}

/** Begins a scorer. Add steps to it: `.preprocess()`, `.analyze()`, `.generateScore()`, `.generateReason()`. */
export function createScorer<Id extends string, Type extends keyof ScoredTypes>(
  config: Omit<ScorerConfig<Id>, "type"> & { type: Type },
): MastraScorer<Id, ScoredTypes[Type]["input"], ScoredTypes[Type]["output"]>;
export function createScorer<Id extends string, In extends Schema, Out extends Schema>(
  config: Omit<ScorerConfig<Id>, "type"> & { type: { input: In; output: Out } },
): MastraScorer<Id, InferOutput<In>, InferOutput<Out>>;
export function createScorer<Input = any, Output = any, Id extends string = string>(
  config: ScorerConfig<Id>,
): MastraScorer<Id, Input, Output>;
export function createScorer(config: ScorerConfig): MastraScorer {
  return new MastraScorer(config);
}
