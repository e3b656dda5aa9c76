import type { RequestContext } from "../request-context/request-context.ts";
import type { Schema } from "../schema/schema.ts";

/** Where a step writes to while it runs. Streams of agents can be piped into it; their usage counts for the run. */
export interface StepWriter extends WritableStream<any> {
  /** Puts a value on the run's stream, as `workflow-step-output`. */
  write(chunk: unknown): Promise<void>;
  /** Puts an app-defined event on the run's stream as it is. */
  custom(chunk: { type: `data-${string}`; data: unknown; id?: string; transient?: boolean }): Promise<void>;
}

/** What `suspend()` and `bail()` return: return it from `execute`. */
export interface StepEnd {
  readonly [STEP_END]: "suspend" | "bail";
}

export const STEP_END: unique symbol = Symbol.for("selvedge.workflow.step-end");

/** In the parameters of a step: the number of the run's first event, which is another one after each time travel. */
export const LIFE: unique symbol = Symbol.for("selvedge.workflow.life");

/**
 * Of a step that asks something else, such as an agent: the run is over, so it ends that. Returns whether there was
 * something to end.
 */
export const WITHDRAW: unique symbol = Symbol.for("selvedge.workflow.withdraw");

/** Identifies what a suspended step waits for. */
export interface Question {
  idempotencyKey: string;
  /** What `suspend()` was given. */
  suspendData: unknown;
  /** How often the step was tried, at most. */
  attempt: number;
  /** Which execution of the run asked, if `suspendData` does not tell. */
  life?: number;
}

export interface SuspendOptions {
  /** Names the suspension: `resume({ label })`. */
  resumeLabel?: string | string[];
}

/** The values that conditions, mappings and steps read. */
export interface StepContext<Input = any, State = any> {
  runId: string;
  workflowId: string;
  resourceId?: string | undefined;
  /** The host, as tools get it. */
  mastra: any;
  requestContext: RequestContext<any>;
  inputData: Input;
  state: State;
  /** The workflow's input. */
  getInitData<Of = any>(): InitDataOf<Of>;
  /** The output of a step that succeeded, otherwise `null`. */
  getStepResult<Output>(step: StepLike<any, any, any, Output>): Output | null;
  getStepResult<Output = any>(stepId: string): Output | null;
  abortSignal: AbortSignal;
  /** Cancels the run. In a workflow of processors: stops the agent's run with a tripwire. */
  abort(reason?: string, options?: { retry?: boolean; metadata?: unknown }): void;
  writer: StepWriter;
  tracingContext?: unknown;
}

type InitDataOf<Of> = Of extends { readonly "~types"?: { init: infer Init } | undefined } ? Init : Of;

/** The parameters of a step's `execute`. */
export interface ExecuteParams<Input = any, State = any, Resume = any, Suspend = any> extends StepContext<
  Input,
  State
> {
  /** What `resume()` was given, if this execution continues a suspension. */
  resumeData?: Resume;
  /** What `suspend()` was given, if this execution continues a suspension. */
  suspendData?: Suspend;
  /** Replaces the named keys of the run's state; a key set to `undefined` is removed. */
  setState(next: Partial<State>): Promise<void>;
  /** Ends this execution until the step is resumed. Return what it returns. */
  suspend(payload?: Suspend, options?: SuspendOptions): Promise<any>;
  /** Ends the workflow with `success` and this result. Return what it returns. */
  bail(result?: unknown): any;
  /** 0 on the first attempt. */
  retryCount: number;
  /** The step may have begun in a process that died. */
  restart?: boolean;
  /** The same in every execution of this step in this run and iteration: for services that accept such a key. */
  idempotencyKey: string;
  readonly [LIFE]?: number;
  /**
   * Runs `fn` and stores its result with the step at once. When the step is executed again (a resume, a retry, a crash),
   * returns the stored result without running `fn`. The key is unique within the step.
   */
  once<Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value>;
}

export type StepScorers = Record<string, unknown> | ((args: { requestContext: RequestContext }) => unknown);

/** A step of a workflow. Made by `createStep`; a workflow is one, too. `In` is what it accepts. */
export interface Step<
  Id extends string = string,
  State = any,
  In = any,
  Out = any,
  Resume = any,
  Suspend = any,
> extends StepLike<Id, State, In, Out, Resume, Suspend> {
  readonly description?: string | undefined;
  readonly inputSchema: Schema;
  readonly outputSchema: Schema;
  readonly resumeSchema?: Schema | undefined;
  readonly suspendSchema?: Schema | undefined;
  readonly stateSchema?: Schema | undefined;
  readonly requestContextSchema?: Schema | undefined;
  readonly retries?: number | undefined;
  readonly scorers?: StepScorers | undefined;
  readonly metadata?: Record<string, unknown> | undefined;
  /** `false`: executed at most once, even after a crash. Default: true. */
  readonly idempotent?: boolean | undefined;
  /** What it was made from, if it is not a plain step. */
  readonly component?: "WORKFLOW" | "AGENT" | "TOOL" | "PROCESSOR" | undefined;
  execute(params: any): unknown;
  readonly [WITHDRAW]?: ((question: Question) => Promise<boolean>) | undefined;
}

/** A step as far as types are concerned. */
export interface StepLike<
  Id extends string = string,
  State = any,
  In = any,
  Out = any,
  Resume = any,
  Suspend = any,
> {
  readonly id: Id;
  /** Only for the compiler. */
  readonly "~step"?: StepTypes<State, In, Out, Resume, Suspend> | undefined;
}

interface StepTypes<State, In, Out, Resume, Suspend> {
  state: State;
  input: In;
  output: Out;
  resume: Resume;
  suspend: Suspend;
}
