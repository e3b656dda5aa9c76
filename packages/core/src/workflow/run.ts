import type {
  NumberedWorkflowChunk,
  WorkflowChunk,
  WorkflowRunStatus,
  WorkflowUsage,
} from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { ChunkStream } from "../stream/chunk-stream.ts";
import type { ResumeOf } from "./chaining.ts";
import { checkRunOptions } from "./check-arguments.ts";
import { findSuspended } from "./find-suspended.ts";
import { parsePath } from "./path.ts";
import { alreadyStarted, canceledBefore, noRun } from "./run-errors.ts";
import { callOnStart } from "./run-hooks.ts";
import { RunWatcher } from "./run-watcher.ts";
import { isEnd, type RunImage } from "./run-image.ts";
import type {
  OutputOptions,
  ResumeOptions,
  StartOptions,
  StepReference,
  StreamOptions,
  TimeTravelOptions,
} from "./run-requests.ts";
import { stepAt } from "./step-at.ts";
import { planTimeTravel, type TimeTravelPlan } from "./time-travel.ts";
import { toResult } from "./to-result.ts";
import { checkPlaces } from "./path.ts";
import { encodeValue } from "./value-codec.ts";
import type { Accepted, Continuation, NewRun, RunnableWorkflow, WorkflowEngine } from "./workflow-engine.ts";
import type { WorkflowResult } from "./workflow-result.ts";
import { WorkflowRunOutput } from "./workflow-run-output.ts";

interface RunConfig {
  runId: string;
  resourceId?: string | undefined;
  disableScorers?: boolean | undefined;
  /** Of a run that is known. */
  status?: WorkflowRunStatus | undefined;
}

/** What a call waits for. */
interface Call extends Accepted {
  /** The number of the last event before it. */
  after: number;
  /** The number of the last event there was. A pause or suspension before it was continued. */
  known?: number;
}

const CANCELED = { message: "Workflow run canceled" } as const;

/** A run to be started, or one that exists. Its state is in the store; this object only knows its id. */
export class Run<Input = any, Output = any, State = any> {
  readonly runId: string;
  readonly workflowId: string;
  readonly resourceId: string | undefined;
  readonly abortController: AbortController = new AbortController();
  readonly #workflow: RunnableWorkflow;
  readonly #engine: WorkflowEngine;
  readonly #disableScorers: boolean;
  readonly #watchers = new Set<RunWatcher>();
  #status: WorkflowRunStatus;

  constructor(workflow: RunnableWorkflow, engine: WorkflowEngine, config: RunConfig) {
    this.runId = config.runId;
    this.workflowId = workflow.id;
    this.resourceId = config.resourceId;
    this.#workflow = workflow;
    this.#engine = engine;
    this.#disableScorers = config.disableScorers ?? false;
    this.#status = config.status ?? "pending";
    this.abortController.signal.addEventListener("abort", () => void this.cancel().catch(() => {}), {
      once: true,
    });
  }

  /** The status as this object saw it last. `getWorkflowRunById()` has that of the store. */
  get workflowRunStatus(): WorkflowRunStatus {
    return this.#engine.statusOf(this.runId) ?? this.#status;
  }

  /** Starts the run and waits until it ends, suspends or pauses. */
  async start(options: StartOptions<Input, State> = {}): Promise<WorkflowResult<Output, Input, State>> {
    return this.#wait(await this.#start(options), options);
  }

  /** Starts the run. Resolves when the start is stored. */
  async startAsync(options: StartOptions<Input, State> = {}): Promise<{ runId: string }> {
    (await this.#start(options)).forget();
    return { runId: this.runId };
  }

  /** Starts the run and returns its events. */
  stream(options: StreamOptions<Input, State> = {}): WorkflowRunOutput<Output, Input, State> {
    return this.#output(this.#start(options), options, options.closeOnSuspend ?? true);
  }

  /** Continues suspended steps and waits until the run ends, suspends or pauses again. */
  async resume<const S extends StepReference = StepReference>(
    options: ResumeOptions<ResumeOf<S>, S> = {},
  ): Promise<WorkflowResult<Output, Input, State>> {
    return this.#wait(await this.#resume(options), options);
  }

  /** Resumes suspended steps. Resolves when the resume is stored. */
  async resumeAsync<const S extends StepReference = StepReference>(
    options: ResumeOptions<ResumeOf<S>, S> = {},
  ): Promise<{ runId: string }> {
    (await this.#resume(options)).forget();
    return { runId: this.runId };
  }

  /** Continues suspended steps and returns the events from then on. Without data, re-attaches to the stream. */
  resumeStream<const S extends StepReference = StepReference>(
    options: ResumeOptions<ResumeOf<S>, S> & { closeOnSuspend?: boolean } = {},
  ): WorkflowRunOutput<Output, Input, State> {
    const { resumeData, step, label } = options;
    const attaches = resumeData === undefined && step === undefined && label === undefined;
    const call = attaches ? this.#attach() : this.#resume(options);
    return this.#output(call, options, options.closeOnSuspend ?? true);
  }

  /** The events of the run, from its first or after a number, until it is over. */
  observeStream({ offset }: { offset?: number } = {}): ReadableStream<NumberedWorkflowChunk> {
    if (offset !== undefined && !(Number.isInteger(offset) && offset >= 0))
      throw new AgentError(
        "invalid-argument",
        `offset must be the number of an event, 0 or more, got ${showValue(offset)}.`,
      );
    const from = async () => {
      const { start, end } = await this.#position();
      return { after: offset ?? start, known: end };
    };
    return new ChunkStream(() => this.#observe(from));
  }

  /** Cancels the run, unless it has ended. Also works before its start. Resolves when the cancellation is stored. */
  async cancel(): Promise<{ message: string }> {
    await this.#engine.cancel(this.#workflow, this);
    this.#status = (await this.#engine.facts(this.runId))?.status ?? this.#status;
    return CANCELED;
  }

  /** Continues a run whose process died, and waits for it. */
  async restart(
    options: { requestContext?: RequestContext<any>; outputOptions?: OutputOptions } = {},
  ): Promise<WorkflowResult<Output, Input, State>> {
    checkRunOptions("restart()", options);
    await this.#engine.wake(this.#workflow, this.runId, options.requestContext);
    return this.#wait(this.#engine.atRest(this.#workflow, this.runId), options);
  }

  /** Executes the run again from a step, with the stored results of those before it. */
  async timeTravel(options: TimeTravelOptions): Promise<WorkflowResult<Output, Input, State>> {
    return this.#wait(await this.#travel(options), options);
  }

  timeTravelStream(options: TimeTravelOptions): WorkflowRunOutput<Output, Input, State> {
    return this.#output(this.#travel(options), options, true);
  }

  /**
   * Calls back with each event from now on, until the returned function is called. Calls of this object that wait for the
   * run resolve after its events were passed on.
   */
  watch(callback: (chunk: WorkflowChunk) => void): () => void {
    const from = this.#position().then(({ end }) => end);
    const watcher = new RunWatcher(from, (after) => this.#engine.read(this.runId, after), callback);
    this.#watchers.add(watcher);
    return () => {
      this.#watchers.delete(watcher);
      watcher.stop();
    };
  }

  async #start(options: StartOptions<Input, State>): Promise<Call> {
    checkRunOptions("start()", options);
    const { inputData, initialState, perStep = false } = options;
    const workflow = this.#workflow;
    const requestContext = options.requestContext ?? new RequestContext();
    const input = await workflow.checkInput(inputData);
    const state = await workflow.checkInitialState(initialState);
    await workflow.checkRequestContext(requestContext);
    const run = { ...this.#newRun(input, state, requestContext, perStep), records: [] };
    if (workflow.options.onStart) {
      const known = await this.#engine.facts(this.runId);
      if (known && !known.options.neverStarted) throw alreadyStarted(this.runId);
      if (!known) await callOnStart(workflow, run);
    }
    const accepted = await this.#engine.start(workflow, run);
    this.#status = "running";
    this.#follow(options);
    return { ...accepted, after: 0 };
  }

  #newRun(
    input: unknown,
    state: Record<string, unknown>,
    requestContext: RequestContext,
    perStep: boolean,
  ): Omit<NewRun, "records"> {
    const { runId, resourceId } = this;
    const options = this.#disableScorers ? { disableScorers: true } : {};
    encodeValue(input, "inputData");
    encodeValue(state, "initialState");
    return { runId, resourceId, input, state, requestContext, options, perStep };
  }

  async #resume(options: ResumeOptions): Promise<Call> {
    checkRunOptions("resume()", options);
    const workflow = this.#workflow;
    const image = await this.#load();
    checkPlaces(workflow.rules.graph, image);
    const { resumeData, perStep = false, requestContext } = options;
    const isNamed = options.step !== undefined || options.label !== undefined;
    const continuation: Continuation = {
      records: [],
      drop: [],
      state: {},
      requestContext,
      perStep,
      rewinds: false,
    };
    if (image.status === "paused" && !isNamed && resumeData === undefined)
      return this.#proceed(image, continuation, options);
    const resumedAt = workflow.now();
    const records = await Promise.all(
      findSuspended(image, options).map(async ({ path, record }) => {
        const payload = await this.#checkResume(path, resumeData);
        return { ...record, status: "resumed" as const, resume: { payload }, resumedAt };
      }),
    );
    return this.#proceed(image, { ...continuation, records }, options);
  }

  async #checkResume(path: string, resumeData: unknown): Promise<unknown> {
    const { rules } = this.#workflow;
    encodeValue(resumeData, "resumeData");
    if (!rules.validateInputs) return resumeData;
    const ids = parsePath(path).map(({ id }) => id);
    const step = stepAt(rules.graph, ids, this.#workflow.host);
    return rules.schemas.check(step?.resumeSchema, resumeData, "resume data");
  }

  async #travel(options: TimeTravelOptions): Promise<Call> {
    checkRunOptions("timeTravel()", options);
    const workflow = this.#workflow;
    const { inputData, perStep = false, requestContext } = options;
    const image = await this.#engine.load(this.runId);
    const isUnknown = image?.workflowId !== this.workflowId;
    // A run that was never started needs at least the input of the step.
    if (isUnknown && (image || (inputData === undefined && options.context === undefined)))
      throw noRun(this.runId);
    if (image?.options.neverStarted) throw canceledBefore(this.runId);
    if (!image) {
      const plan = this.#planTravel(undefined, options);
      const context = requestContext ?? new RequestContext();
      const given = plan.isFirst ? inputData : (options.context as { input?: unknown } | undefined)?.input;
      const initial = await workflow.checkInitialState(options.initialState);
      const run = { ...this.#newRun(given, initial, context, perStep), records: plan.records };
      const accepted = await this.#engine.start(workflow, run);
      this.#status = "running";
      this.#follow(options);
      return { ...accepted, after: 0 };
    }
    const state =
      options.initialState === undefined ? {} : await workflow.checkInitialState(options.initialState);
    const rewind = (seen: RunImage): Continuation => {
      const { records, keep } = this.#planTravel(seen, options);
      if (seen.isOwned || seen.status === "running" || seen.status === "waiting")
        throw new AgentError(
          "conflict",
          `Workflow run "${this.runId}" is ${seen.status}. Wait for it or cancel it before timeTravel().`,
        );
      const drop = seen.records.map(({ path }) => path).filter((path) => !keep.has(path));
      const kept = seen.records.filter(({ path }) => keep.has(path));
      checkPlaces(workflow.rules.graph, { ...seen, records: kept });
      return { records, drop, state, requestContext, perStep, rewinds: true, again: rewind };
    };
    return this.#proceed(image, rewind(image), options);
  }

  #planTravel(image: RunImage | undefined, options: TimeTravelOptions): TimeTravelPlan {
    const plan = planTimeTravel(this.#workflow, image, options, this.#workflow.now());
    for (const { path, input, output } of plan.records)
      encodeValue([input?.data, output?.data], `context of step "${path}"`);
    return plan;
  }

  async #proceed(
    image: RunImage,
    continuation: Continuation,
    options: { outputWriter?: ResumeOptions["outputWriter"] },
  ): Promise<Call> {
    const { end } = await this.#position();
    const accepted = await this.#engine.proceed(this.#workflow, image, continuation);
    this.#status = "running";
    const after = accepted.after ?? end;
    this.#follow(options, after);
    return { ...accepted, after };
  }

  async #attach(): Promise<Call> {
    const { start: after, end: known } = await this.#position();
    return { ...this.#engine.atRest(this.#workflow, this.runId), after, known };
  }

  async #load(): Promise<RunImage> {
    const image = await this.#engine.load(this.runId);
    if (!image || image.workflowId !== this.workflowId) throw noRun(this.runId);
    return image;
  }

  #position(): Promise<{ start: number; end: number }> {
    return this.#engine.position(this.runId);
  }

  async #wait(
    { rest }: Pick<Call, "rest">,
    { outputOptions }: { outputOptions?: OutputOptions | undefined },
  ): Promise<WorkflowResult<Output, Input, State>> {
    const image = await rest;
    this.#status = image.status;
    if (this.#watchers.size > 0) {
      const { end } = await this.#position();
      await Promise.all(Array.from(this.#watchers, (watcher) => watcher.reached(end)));
    }
    return toResult(image, outputOptions) as WorkflowResult<Output, Input, State>;
  }

  #output(
    call: Promise<Call>,
    options: { outputOptions?: OutputOptions },
    closesOnSuspend: boolean,
  ): WorkflowRunOutput<Output, Input, State> {
    const image = call.then(({ rest }) => rest);
    const result = call.then((accepted) => this.#wait(accepted, options));
    const usage = image.then((rested): WorkflowUsage => rested.usage);
    // A caller may read only the stream.
    for (const promise of [image, result, usage]) promise.catch(() => {});
    return new WorkflowRunOutput({
      runId: this.runId,
      result,
      usage,
      status: () => this.workflowRunStatus,
      read: () => this.#read(() => call, closesOnSuspend),
    });
  }

  /** Its reader waits for a run that is under way, wherever that is. */
  async *#observe(
    from: () => Promise<Pick<Call, "after" | "known">>,
  ): AsyncGenerator<NumberedWorkflowChunk, undefined, undefined> {
    const { forget } = this.#engine.atRest(this.#workflow, this.runId);
    try {
      return yield* this.#read(from, false);
    } finally {
      forget();
    }
  }

  /** Events after a number, until the run is over. */
  async *#read(
    from: () => Promise<Pick<Call, "after" | "known">>,
    closesOnSuspend: boolean,
  ): AsyncGenerator<NumberedWorkflowChunk, undefined, undefined> {
    const { after, known = 0 } = await from();
    for await (const chunk of this.#engine.read(this.runId, after)) {
      yield chunk;
      if (chunk.type === "workflow-finish" && isEnd(chunk.payload.workflowStatus)) return;
      if (chunk.seq < known) continue;
      if (chunk.type === "workflow-paused" || (chunk.type === "workflow-finish" && closesOnSuspend)) return;
    }
  }

  /** Passes events to the caller's function, until the run rests. */
  #follow({ outputWriter }: { outputWriter?: ResumeOptions["outputWriter"] }, after = 0): void {
    if (outputWriter === undefined) return;
    void (async () => {
      for await (const chunk of this.#read(async () => ({ after }), true)) await outputWriter(chunk);
    })().catch((error: unknown) =>
      this.#workflow.logger.warn(`The outputWriter of run "${this.runId}" failed`, error),
    );
  }
}
