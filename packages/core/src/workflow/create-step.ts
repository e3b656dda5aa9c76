import { AgentError, showValue } from "../errors.ts";
import type { InferInput, InferOutput, Schema } from "../schema/schema.ts";
import { checkId } from "../storage/check-id.ts";
import { Tool } from "../tool/tool.ts";
import type { Processor } from "../processor/processor.ts";
import { isProcessor, type ProcessorStep, processorStep } from "./processor-step.ts";
import { type AgentLike, isAgentLike } from "./agent-like.ts";
import { type AgentStepOptions, agentStep } from "./agent-step.ts";
import type { ExecuteParams, Step, StepScorers } from "./step.ts";
import { type ToolStepOptions, toolStep } from "./tool-step.ts";

type Of<S> = S extends Schema ? InferOutput<S> : any;

export interface StepConfig<
  Id extends string,
  InputSchema extends Schema,
  OutputSchema extends Schema,
  ResumeSchema extends Schema | undefined,
  SuspendSchema extends Schema | undefined,
  StateSchema extends Schema | undefined,
> {
  /** Unique in its workflow. */
  id: Id;
  description?: string;
  inputSchema: InputSchema;
  outputSchema: OutputSchema;
  /** What `resume` must bring. */
  resumeSchema?: ResumeSchema;
  /** The schema of the payload passed to `suspend`. */
  suspendSchema?: SuspendSchema;
  /** The part of the workflow's state that this step uses. */
  stateSchema?: StateSchema;
  /** Checked before `execute`; a mismatch fails the step. */
  requestContextSchema?: Schema;
  execute(
    params: ExecuteParams<InferOutput<InputSchema>, Of<StateSchema>, Of<ResumeSchema>, Of<SuspendSchema>>,
  ): Promise<InferInput<OutputSchema>> | InferInput<OutputSchema>;
  /** How often a failed step is retried. Default: the workflow's `retryConfig.attempts`. */
  retries?: number;
  scorers?: StepScorers;
  metadata?: Record<string, unknown>;
  /** `false`: executed at most once. If the process dies during the step, it fails with `step-outcome-unknown`. */
  idempotent?: boolean;
}

/** Defines a step. The types of `execute` are inferred from the schemas. */
export function createStep<
  const Id extends string,
  InputSchema extends Schema,
  OutputSchema extends Schema,
  ResumeSchema extends Schema | undefined = undefined,
  SuspendSchema extends Schema | undefined = undefined,
  StateSchema extends Schema | undefined = undefined,
>(
  config: StepConfig<Id, InputSchema, OutputSchema, ResumeSchema, SuspendSchema, StateSchema>,
): Step<
  Id,
  Of<StateSchema>,
  InferInput<InputSchema>,
  InferOutput<OutputSchema>,
  Of<ResumeSchema>,
  Of<SuspendSchema>
>;
/** A step from a tool: its id, schemas and `execute`. */
export function createStep<InputSchema extends Schema | undefined, OutputSchema extends Schema | undefined>(
  tool: Tool<InputSchema, OutputSchema>,
  options?: ToolStepOptions,
): Step<
  string,
  any,
  InputSchema extends Schema ? InferInput<InputSchema> : any,
  OutputSchema extends Schema ? InferOutput<OutputSchema> : any
>;
/** A step from an agent: `{ prompt }` in, `{ text }` out, or what `structuredOutput.schema` describes. */
export function createStep<Output extends Schema>(
  agent: AgentLike,
  options: AgentStepOptions<Output> & { structuredOutput: { schema: Output } },
): Step<string, any, { prompt: string }, InferOutput<Output>>;
export function createStep(
  agent: AgentLike,
  options?: AgentStepOptions,
): Step<string, any, { prompt: string }, { text: string }>;
/** A step from a processor, for a workflow in `inputProcessors` or `outputProcessors`. */
export function createStep<const Id extends string>(
  processor: Processor & { readonly id: Id },
): ProcessorStep<`processor:${Id}`>;
export function createStep(from: unknown, options?: object): Step {
  if (from instanceof Tool) return toolStep(from, options as ToolStepOptions);
  if (isAgentLike(from)) return agentStep(from, options as AgentStepOptions);
  if (isProcessor(from)) return processorStep(from);
  return plainStep(from as StepConfig<string, Schema, Schema, Schema, Schema, Schema>);
}

function plainStep(config: StepConfig<string, Schema, Schema, Schema, Schema, Schema>): Step {
  const id = checkId("The id of a step", config?.id);
  for (const name of ["inputSchema", "outputSchema"] as const)
    if (config[name] === undefined)
      throw new AgentError("invalid-argument", `Step "${id}" needs ${name}, for instance z.object({ … }).`);
  if (typeof config.execute !== "function")
    throw new AgentError("invalid-argument", `Step "${id}" needs execute, got ${showValue(config.execute)}.`);
  const { retries } = config;
  if (retries !== undefined && !(Number.isInteger(retries) && retries >= 0))
    throw new AgentError(
      "invalid-argument",
      `The retries of step "${id}" must be an integer of 0 or more, got ${showValue(retries)}.`,
    );
  return { ...config } as Step;
}

/** Copies a step under another id, to use it twice in a workflow. */
export function cloneStep<S extends Step, const Id extends string>(
  step: S,
  { id }: { id: Id },
): Clone<S, Id> {
  return { ...step, id: checkId("The id of a step", id) } as never;
}

/** The same types under another id. */
type Clone<S, Id extends string> =
  S extends Step<string, infer State, infer In, infer Out, infer Resume, infer Suspend>
    ? Step<Id, State, In, Out, Resume, Suspend>
    : never;
