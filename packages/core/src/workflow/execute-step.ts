import type { WorkflowTripwire } from "@selvedge/protocol";
import { AgentError, errorMessage } from "../errors.ts";
import { isPromise } from "../is-promise.ts";
import { sleep } from "../system.ts";
import type { Work } from "./driver.ts";
import type { StepRecord } from "./journal.ts";
import type { RunActor } from "./run-actor.ts";
import { SCHEMA_MISMATCH } from "./schema-cache.ts";
import { type ExecuteParams, LIFE, type Step, STEP_END, type StepEnd, type SuspendOptions } from "./step.ts";
import { stepContext } from "./step-context.ts";

export type StepWork = Extract<Work, { kind: "step" }>;

/** How an execution ended. */
type Outcome =
  | { kind: "success"; output: unknown }
  | { kind: "bail"; output: unknown }
  | { kind: "failure"; error: Error; tripwire?: WorkflowTripwire }
  | { kind: "suspend"; payload: unknown; labels: readonly string[] };

/** A step failed because a processor of its agent stopped it. */
export class StepTripwire extends Error {
  readonly tripwire: WorkflowTripwire;

  constructor(tripwire: WorkflowTripwire) {
    super(tripwire.reason);
    this.tripwire = tripwire;
  }
}

export interface Execution {
  outcome: Outcome;
  attempt: number;
  /** The keys of the run's state that the step set. */
  state: ReadonlyMap<string, unknown> | undefined;
}

/**
 * Executes a step, again if it fails and has retries left. Returns at once if the step does, without a promise. `before`
 * is what the journal has about it.
 */
export function executeStep(
  actor: RunActor,
  work: StepWork,
  step: Step,
  before: StepRecord | undefined,
): Execution | Promise<Execution> {
  return new Attempt(actor, work, step, before).run();
}

class Attempt {
  readonly #actor: RunActor;
  readonly #work: StepWork;
  readonly #step: Step;
  readonly #before: StepRecord | undefined;
  readonly #pending = new Map<string, Promise<unknown>>();
  #retry = 0;
  #state: Map<string, unknown> | undefined;
  #end: Extract<Outcome, { kind: "suspend" | "bail" }> | undefined;

  constructor(actor: RunActor, work: StepWork, step: Step, before: StepRecord | undefined) {
    this.#actor = actor;
    this.#work = work;
    this.#step = step;
    this.#before = before;
  }

  run(): Execution | Promise<Execution> {
    try {
      const result = this.#call();
      if (!isPromise(result)) return this.#over(this.#outcomeOf(result));
      return Promise.resolve(result).then(
        (late) => this.#over(this.#outcomeOf(late)),
        (error: unknown) => this.#failed(error),
      );
    } catch (error) {
      return this.#failed(error);
    }
  }

  #call(): unknown {
    const { rules } = this.#work.scope;
    const { schemas } = rules;
    const { inputSchema, requestContextSchema } = this.#step;
    const { requestContext } = this.#actor.run;
    const checkInput = (): unknown =>
      rules.validateInputs
        ? schemas.check(inputSchema, this.#work.input.data, "input data")
        : this.#work.input.data;
    const context = requestContextSchema
      ? schemas.check(requestContextSchema, requestContext.all, "request context")
      : undefined;
    const input = isPromise(context) ? Promise.resolve(context).then(checkInput) : checkInput();
    return isPromise(input)
      ? Promise.resolve(input).then((parsed) => this.#step.execute(this.#params(parsed)))
      : this.#step.execute(this.#params(input));
  }

  #outcomeOf(output: unknown): Outcome {
    // Nothing after `suspend()` or `bail()` counts.
    return this.#end ?? { kind: "success", output };
  }

  #failed(error: unknown): Execution | Promise<Execution> {
    if (this.#end) return this.#over(this.#end);
    const actor = this.#actor;
    const { retryConfig } = this.#work.scope.rules;
    const left = (this.#step.retries ?? retryConfig.attempts) - this.#retry;
    const isFinal =
      error instanceof StepTripwire ||
      AgentError.is(error, "step-outcome-unknown") ||
      isInvalid(error) ||
      actor.abortSignal.aborted;
    if (left <= 0 || isFinal) return this.#over(failure(error));
    this.#retry++;
    if (retryConfig.delay <= 0) return Promise.resolve().then(() => this.run());
    return sleep(actor.run.system, retryConfig.delay, actor.abortSignal).then(
      () => this.run(),
      () => this.#over(failure(error)),
    );
  }

  #over(outcome: Outcome): Execution {
    return { outcome, attempt: this.#retry + 1, state: this.#state };
  }

  /** What the step sets must fit the schema of its state, or else that of its workflow. */
  async #checkState(
    state: Record<string, unknown>,
    changes: readonly (readonly [string, unknown])[],
  ): Promise<void> {
    const { rules } = this.#work.scope;
    const schema = this.#step.stateSchema ?? rules.stateSchema;
    if (!schema || !rules.validateInputs) return;
    const set = changes.filter(([, value]) => value !== undefined);
    const next = { ...state, ...Object.fromEntries(set) };
    await rules.schemas.checkKeys(
      schema,
      next,
      set.map(([key]) => key),
      "state",
    );
  }

  #params(input: unknown): ExecuteParams {
    const actor = this.#actor;
    const { path } = this.#work;
    const resumed = this.#before?.status === "resumed" ? this.#before : undefined;
    // The step sees what it set itself; others see it when the step is done.
    const context = stepContext(actor, this.#work, input);
    if (this.#state) applyChanges(context.state as Record<string, unknown>, this.#state);
    return Object.assign(context, {
      ...(resumed?.resume && { resumeData: resumed.resume.payload }),
      ...(resumed?.suspend && { suspendData: resumed.suspend.payload }),
      setState: async (next: Record<string, unknown>): Promise<void> => {
        const checked = Object.entries(actor.checkState(next));
        await this.#checkState(context.state as Record<string, unknown>, checked);
        this.#state ??= new Map();
        for (const [key, value] of checked) this.#state.set(key, value);
        // The step's own view of the state, also where it was taken apart before.
        applyChanges(context.state as Record<string, unknown>, this.#state);
      },
      suspend: async (payload?: unknown, options: SuspendOptions = {}): Promise<StepEnd> => {
        const { suspendSchema } = this.#step;
        const checked = await this.#work.scope.rules.schemas.check(suspendSchema, payload, "suspend payload");
        const labels = options.resumeLabel === undefined ? [] : [options.resumeLabel].flat();
        this.#end ??= { kind: "suspend", payload: checked, labels };
        return { [STEP_END]: "suspend" };
      },
      bail: (result?: unknown): StepEnd => {
        this.#end ??= { kind: "bail", output: result };
        return { [STEP_END]: "bail" };
      },
      retryCount: this.#retry,
      ...(actor.mayHaveBegun(path) && { restart: true }),
      idempotencyKey: actor.callId(path),
      [LIFE]: actor.run.firstSeq,
      once: <Value>(key: string, fn: () => Value | Promise<Value>): Promise<Value> => {
        let answer = this.#pending.get(key);
        if (!answer) {
          answer = actor.once(path, key, fn, this.#step.idempotent === false);
          this.#pending.set(key, answer);
          // A retry may try again what failed.
          answer.catch(() => this.#pending.delete(key));
        }
        return answer as Promise<Value>;
      },
    });
  }
}

/** Input that does not fit does not fit the next time either. */
function isInvalid(error: unknown): boolean {
  return AgentError.is(error, "invalid-argument") && error.details?.["id"] === SCHEMA_MISMATCH;
}

function applyChanges(state: Record<string, unknown>, changes: ReadonlyMap<string, unknown>): void {
  for (const [key, value] of changes) {
    if (value === undefined) delete state[key];
    else state[key] = value;
  }
}

function failure(error: unknown): Outcome {
  if (error instanceof StepTripwire)
    return { kind: "failure", error: new Error(error.message), tripwire: error.tripwire };
  return {
    kind: "failure",
    error: error instanceof Error ? error : new Error(errorMessage(error), { cause: error }),
  };
}
