import type { NumberedWorkflowChunk, WorkflowRunStatus } from "@selvedge/protocol";
import { defaultLogger, type Logger } from "../logger.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { EventStream } from "../run/event-stream.ts";
import { realSystem, type System } from "../system.ts";
import { imageOf } from "./image-of.ts";
import { mergedContext } from "./kept-contexts.ts";
import { droppedQuestions, openQuestions } from "./open-questions.ts";
import { checkClaims, continued } from "./proceed-writes.ts";
import { RunActor } from "./run-actor.ts";
import { alreadyStarted, noRun, stillRunning } from "./run-errors.ts";
import { restEvents, workflowStart } from "./run-events.ts";
import { callHooks } from "./run-hooks.ts";
import { isEnd, type RunImage } from "./run-image.ts";
import type { LoggedChunk, Rest, RunCommit, RunMail, RunPort } from "./run-port.ts";
import { withdrawQuestions } from "./withdraw-questions.ts";
import type {
  Accepted,
  Continuation,
  Definition,
  NewRun,
  RunAddress,
  RunHead,
  RunQuery,
  WorkflowEngine,
} from "./workflow-engine.ts";
import { DEFAULT_WORKFLOW_LIMITS } from "./workflow-limits.ts";

/** Runs that are over are forgotten, except the newest. */
const KEPT = 100;

class MemoryRun implements RunPort {
  readonly definition: Definition;
  requestContext: RequestContext;
  /** Only one step may be executed before it pauses. */
  perStep = false;
  events: EventStream<NumberedWorkflowChunk>;
  /** The number of the event before the first that counts: a time travel drops the earlier ones. */
  first = 0;
  readonly mail: RunMail[] = [];
  image: RunImage;
  actor: RunActor | undefined;
  cancelTimer: (() => void) | undefined;
  rest = Promise.withResolvers<RunImage>();
  #seq = 0;

  constructor(
    definition: Definition,
    image: RunImage,
    requestContext: RequestContext,
    events: EventStream<NumberedWorkflowChunk>,
  ) {
    this.events = events;
    this.definition = definition;
    this.image = image;
    this.requestContext = requestContext;
  }

  publish({ chunk }: LoggedChunk): void {
    this.events.push({ ...chunk, seq: ++this.#seq });
  }

  commit({ chunks, rest }: Pick<RunCommit, "chunks" | "rest">): boolean {
    for (const logged of chunks) this.publish(logged);
    for (const logged of rest?.chunks ?? []) this.publish(logged);
    return true;
  }

  async readMail(): Promise<readonly RunMail[]> {
    return this.mail.splice(0);
  }

  close(): void {
    this.actor = undefined;
  }

  /** A run that was over has events again. */
  rewind(): void {
    this.first = this.#seq;
    if (this.events.ended) this.events = new EventStream();
  }

  get end(): number {
    return this.#seq;
  }
}

/** The runs of a workflow without storage. They last as long as the process. */
export class MemoryRuns implements WorkflowEngine {
  readonly #runs = new Map<string, MemoryRun>();
  readonly #over = new Set<string>();
  /** Runs that someone reads and no one has started. */
  readonly #awaited = new Map<string, EventStream<NumberedWorkflowChunk>>();
  #mail = 0;

  serve(): void {}

  async start(definition: Definition, run: NewRun): Promise<Accepted> {
    const { runId, input, requestContext, options, perStep } = run;
    const known = this.#runs.get(runId);
    if (known && !known.image.options.neverStarted) throw alreadyStarted(runId);
    if (known) return { rest: Promise.resolve(known.image), forget: NOTHING };
    const memory = this.#create(definition, run, requestContext);
    const state = new Map(Object.entries(run.state));
    memory.image = { ...memory.image, input, records: run.records, state, options };
    memory.publish({ chunk: workflowStart(runId, definition.id) });
    const rest = memory.rest.promise;
    this.#carryOut(memory, perStep);
    return { rest, forget: NOTHING };
  }

  #create(
    definition: Definition,
    { runId, resourceId }: RunAddress,
    requestContext: RequestContext,
  ): MemoryRun {
    const now = Math.trunc(this.#system(definition).now());
    const image: RunImage = {
      runId,
      workflowId: definition.id,
      resourceId,
      status: "running",
      input: undefined,
      records: [],
      state: new Map(),
      once: [],
      usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
      requestContext: {},
      options: {},
      graph: definition.serializedStepGraph,
      fence: 0,
      nextSeq: 1,
      firstSeq: 1,
      isOwned: false,
      createdAt: now,
      updatedAt: now,
    };
    const memory = new MemoryRun(definition, image, requestContext, this.#events(runId));
    this.#awaited.delete(runId);
    this.#runs.set(runId, memory);
    return memory;
  }

  async load(runId: string): Promise<RunImage | undefined> {
    const run = this.#runs.get(runId);
    return run && this.#imageOf(run);
  }

  facts(runId: string): Promise<RunImage | undefined> {
    return this.load(runId);
  }

  async proceed(definition: Definition, { runId }: RunImage, asked: Continuation): Promise<Accepted> {
    const run = this.#find(runId);
    const image = this.#imageOf(run);
    const continuation = asked.again?.(image) ?? asked;
    const { records, perStep, rewinds, requestContext } = continuation;
    if (run.actor && rewinds) throw stillRunning(runId);
    checkClaims(image, continuation);
    const rest = run.rest.promise;
    if (run.actor) {
      run.mail.push({ seq: ++this.#mail, kind: "resume", records, perStep });
      run.actor.mailMayHaveCome();
      return { rest, forget: NOTHING };
    }
    if (requestContext) run.requestContext = mergedContext(run.requestContext, requestContext);
    if (rewinds) {
      run.rewind();
      void withdrawQuestions(droppedQuestions(definition, image, continuation), loggerOf(definition));
    }
    this.#over.delete(runId);
    const now = Math.trunc(this.#system(run.definition).now());
    run.image = continued(image, continuation, { now, context: undefined });
    this.#carryOut(run, perStep, true);
    return { rest, forget: NOTHING, ...(rewinds && { after: run.first }) };
  }

  async cancel(definition: Definition, address: RunAddress): Promise<void> {
    const { runId } = address;
    const known = this.#runs.get(runId);
    const run = known ?? this.#create(definition, address, new RequestContext());
    if (!known) run.image = { ...run.image, options: { neverStarted: true } };
    if (run.actor) return run.actor.cancel();
    if (isEnd(run.image.status)) return;
    run.cancelTimer?.();
    const rest: Rest = { status: "canceled", chunks: [] };
    for (const logged of restEvents(runId, rest, run.image.usage)) run.publish(logged);
    run.image = { ...run.image, status: "canceled" };
    this.#settle(run);
    await withdrawQuestions(openQuestions(definition, run.image, []), loggerOf(definition));
    if (known) await callHooks(definition, run.image, run.requestContext);
  }

  async wake(_: Definition, runId: string, given?: RequestContext): Promise<void> {
    const run = this.#runs.get(runId);
    if (given && run?.image.status === "waiting")
      run.requestContext = mergedContext(run.requestContext, given);
  }

  atRest(_: Definition, runId: string): Accepted {
    const run = this.#runs.get(runId);
    if (!run) return { rest: rejected(noRun(runId)), forget: NOTHING };
    const isUnderWay = run.actor !== undefined || run.image.status === "waiting";
    return { rest: isUnderWay ? run.rest.promise : Promise.resolve(run.image), forget: NOTHING };
  }

  statusOf(runId: string): WorkflowRunStatus | undefined {
    const run = this.#runs.get(runId);
    return run && (run.actor ? "running" : run.image.status);
  }

  async position(runId: string): Promise<{ start: number; end: number }> {
    const run = this.#runs.get(runId);
    return { start: run?.first ?? 0, end: run?.end ?? 0 };
  }

  read(runId: string, after: number): AsyncIterableIterator<NumberedWorkflowChunk> {
    return this.#events(runId).read((chunk) => (chunk.seq > after ? chunk : undefined));
  }

  async list(query: RunQuery): Promise<{ images: RunImage[]; total: number }> {
    const { from = 0, to = Number.POSITIVE_INFINITY, resourceId, statuses, limit, offset } = query;
    const images = Array.from(this.#runs.values(), (run) => this.#imageOf(run))
      .filter(({ createdAt }) => createdAt >= from && createdAt <= to)
      .filter((image) => resourceId === undefined || image.resourceId === resourceId)
      .filter(({ status }) => !statuses || statuses.includes(status))
      .reverse();
    return { images: images.slice(offset, offset + limit), total: images.length };
  }

  async listHeads(query: RunQuery): Promise<{ heads: RunHead[]; total: number }> {
    const { images, total } = await this.list(query);
    return { heads: images, total };
  }

  async remove(runId: string): Promise<void> {
    const run = this.#runs.get(runId);
    run?.actor?.abandon();
    run?.cancelTimer?.();
    run?.events.end();
    this.#runs.delete(runId);
    this.#over.delete(runId);
    // There may be no caller that waits.
    run?.rest.promise.catch(() => {});
    run?.rest.reject(noRun(runId));
  }

  async recover(): Promise<void> {}

  async close(): Promise<void> {
    for (const run of this.#runs.values()) run.cancelTimer?.();
  }

  /** The events of a run, also of one that will be started. */
  #events(runId: string): EventStream<NumberedWorkflowChunk> {
    let events = this.#runs.get(runId)?.events ?? this.#awaited.get(runId);
    if (!events) this.#awaited.set(runId, (events = new EventStream()));
    return events;
  }

  #find(runId: string): MemoryRun {
    const run = this.#runs.get(runId);
    if (!run) throw noRun(runId);
    return run;
  }

  #system({ host }: Definition): System {
    return host?.system ?? realSystem;
  }

  #imageOf(run: MemoryRun): RunImage {
    const { actor } = run;
    const image = { ...run.image, nextSeq: run.end + 1 };
    if (!actor) return image;
    return { ...image, status: "running", isOwned: true, records: actor.journal.all() };
  }

  #carryOut(run: MemoryRun, perStep: boolean, resumes = false, budget = 1): void {
    const { definition, image, requestContext } = run;
    run.perStep = perStep;
    const { host, rules } = definition;
    const { runId, resourceId, input, records, state, usage, options } = image;
    const system = this.#system(definition);
    const spec = {
      runId,
      resourceId,
      rules,
      input,
      requestContext,
      host,
      system,
      logger: loggerOf(definition),
      limits: DEFAULT_WORKFLOW_LIMITS,
      disableScorers: options.disableScorers ?? false,
      firstSeq: image.firstSeq,
    };
    run.image = { ...image, status: "running" };
    const past = { records, state, once: image.once, usage, wasInterrupted: false };
    const actor: RunActor = new RunActor(spec, run, past, {
      ...(perStep && { budget }),
      onRest: (rest) => void this.#rested(run, actor, rest),
      onLost: (error) => run.rest.reject(error),
    });
    run.actor = actor;
    actor.begin([], { resumes });
  }

  async #rested(run: MemoryRun, actor: RunActor, rest: Rest): Promise<void> {
    const { definition, image, requestContext } = run;
    const system = this.#system(definition);
    const { createdAt, options } = image;
    run.image = { ...imageOf(definition, actor, rest, Math.trunc(system.now())), createdAt, options };
    if (rest.status === "waiting") {
      const wait = Math.min(MAX_TIMER_MS, Math.max(0, rest.dueAt! - system.now()));
      // The sleep was the one step that it was to execute.
      run.cancelTimer = system.setTimer(wait, () => this.#carryOut(run, run.perStep, false, 0));
      return;
    }
    if (rest.dueAt !== undefined) await withdrawQuestions(actor.openQuestions(), loggerOf(definition));
    const { onFinish, onError } = definition.options;
    if (onFinish || onError) await callHooks(definition, run.image, requestContext);
    this.#settle(run);
  }

  #settle(run: MemoryRun): void {
    const { image, rest } = run;
    run.rest = Promise.withResolvers();
    rest.resolve(image);
    if (!isEnd(image.status)) return;
    run.events.end();
    this.#over.add(image.runId);
    if (this.#over.size <= KEPT) return;
    const oldest = this.#over.values().next().value!;
    this.#over.delete(oldest);
    this.#runs.delete(oldest);
  }
}

function loggerOf({ host }: Definition): Logger {
  return host?.logger ?? defaultLogger;
}

/** A caller may not be interested. */
function rejected(error: unknown): Promise<never> {
  const promise = Promise.reject<never>(error);
  promise.catch(() => {});
  return promise;
}

/** Waiting costs nothing here. */
const NOTHING = (): void => {};
const MAX_TIMER_MS = 86_400_000;
