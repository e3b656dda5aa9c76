import type { WorkflowChunk, WorkflowUsage } from "@selvedge/protocol";
import { OwnAbortController } from "../abort.ts";
import { AgentError, errorMessage } from "../errors.ts";
import { isPromise } from "../is-promise.ts";
import { choose, type ChoiceWork } from "./choose.ts";
import { Driver, type Work } from "./driver.ts";
import { EnteredWorkflows } from "./entered-workflows.ts";
import { type Execution, executeStep, type StepWork } from "./execute-step.ts";
import { Journal, type StepRecord } from "./journal.ts";
import { OnceResults } from "./once-results.ts";
import { type OpenQuestion, openQuestions } from "./open-questions.ts";
import type { Path } from "./path.ts";
import type { Ref, Value } from "./ref.ts";
import { RunCommitBuilder } from "./run-commit.ts";
import { outcomeUnknown } from "./run-errors.ts";
import * as events from "./run-events.ts";
import { isEnd } from "./run-image.ts";
import type { OnceRecord, Rest, RunMail, RunPort } from "./run-port.ts";
import { runScorers } from "./run-scorers.ts";
import type { RunPast, RunSpec } from "./run-spec.ts";
import { type Step, WITHDRAW } from "./step.ts";
import { stepContext } from "./step-context.ts";
import { checkState, checkStorable, storable } from "./storable.ts";
import { withdrawQuestions } from "./withdraw-questions.ts";

/**
 * Carries out one run, from when this process takes it until it rests. The driver says what is next; this executes it and
 * stores what came of it. Nothing starts before what it depends on is stored: results are collected while a commit is in
 * progress, go with the next one, and only then does what they lead to begin.
 */
export class RunActor {
  readonly run: RunSpec;
  readonly journal: Journal;
  readonly #port: RunPort;
  readonly #driver: Driver;
  readonly #state: Map<string, unknown>;
  readonly #once: OnceResults;
  readonly #abort = new OwnAbortController();
  /** Nested workflows that are under way. */
  readonly #entered: EnteredWorkflows;
  /** Steps that an earlier process may have begun. */
  readonly #interrupted: ReadonlySet<Path>;
  readonly #onRest: (rest: Rest) => void;
  readonly #onLost: (error: unknown) => void;
  #usage: WorkflowUsage;
  #next = new RunCommitBuilder();
  #isCommitting = false;
  #isPumping = false;
  #isOver = false;
  #cancelTimer: (() => void) | undefined;
  /** Messages that were dealt with and may still be in the store. */
  readonly #taken = new Set<number>();

  /** `onRest` is called when the run ended or waits; `onLost` when another process has it, or the store failed. */
  constructor(
    run: RunSpec,
    port: RunPort,
    past: RunPast,
    options: { budget?: number; onRest(rest: Rest): void; onLost(error: unknown): void },
  ) {
    this.run = run;
    this.#port = port;
    this.journal = new Journal(past.records);
    this.#state = new Map(past.state);
    this.#once = new OnceResults(past.once, {
      store: (record) => this.#storeOnce(record),
      check: (value, place) => checkStorable(value, place, run.limits.valueBytes),
    });
    this.#entered = new EnteredWorkflows(run, {
      journal: this.journal,
      state: this.#state,
      whenStored: (call) => void this.#next.afterwards.push(call),
    });
    this.#usage = past.usage;
    this.#onRest = options.onRest;
    this.#onLost = options.onLost;
    const { budget } = options;
    this.#driver = new Driver(
      run.rules,
      run.input,
      (path) => this.journal.stored(path),
      budget === undefined ? {} : { budget },
    );
    this.#interrupted = new Set(past.wasInterrupted ? this.#driver.active : []);
  }

  /** Begins, or continues. `mail` is what arrived while no process carried it out; `resumes` if it rested before. */
  begin(mail: readonly RunMail[] = [], { resumes = false }: { resumes?: boolean } = {}): void {
    if (resumes) this.publish(events.workflowStart(this.run.runId, this.run.rules.id));
    this.#take(mail);
  }

  get usage(): WorkflowUsage {
    return this.#usage;
  }

  get onceResults(): OnceRecord[] {
    return this.#once.all;
  }

  get abortSignal(): AbortSignal {
    return this.#abort.signal;
  }

  /** What steps of the run asked elsewhere, if they wait or are in progress. */
  openQuestions(): OpenQuestion[] {
    return openQuestions(
      this.run,
      { ...this.run, records: this.journal.values() },
      this.#driver.isAtRest ? this.#driver.active : [],
    );
  }

  /** The run's state, as an object of the caller's. */
  state(): Record<string, unknown> {
    return Object.fromEntries(this.#state);
  }

  callId(path: Path): string {
    return `${this.run.runId}/${path}`;
  }

  /** Whether a step may have begun in a process that died. */
  mayHaveBegun(path: Path): boolean {
    return this.#interrupted.has(path);
  }

  publish(chunk: WorkflowChunk, refs?: Record<string, Ref>, of?: Path): void {
    if (!this.#isOver) this.#port.publish({ chunk, refs, of });
  }

  addUsage({ inputTokens, outputTokens, totalTokens }: WorkflowUsage): void {
    const { usage } = this;
    this.#usage = {
      inputTokens: usage.inputTokens + inputTokens,
      outputTokens: usage.outputTokens + outputTokens,
      totalTokens: usage.totalTokens + totalTokens,
    };
    this.#next.usage = this.#usage;
  }

  /** Runs no further step and ends the run. Steps in progress are told; their results are not used. */
  cancel(): void {
    if (this.#isOver) return;
    this.#driver.cancel();
    this.#abort.abort(new AgentError("tool-aborted", "The workflow run was canceled."));
    this.#pump();
  }

  /** There may be mail. */
  mailMayHaveCome(): void {
    if (this.#isOver) return;
    this.#port.readMail().then(
      (mail) => this.#take(mail),
      (error: unknown) => this.#lose(error),
    );
  }

  /** Gives the run up without storing anything. */
  abandon(): void {
    this.#isOver = true;
    this.#cancelTimer?.();
    this.#abort.abort(new AgentError("superseded", "The workflow run continues in another process."));
    this.#port.close();
  }

  /** Checks new values of the state. */
  checkState(next: unknown): Record<string, unknown> {
    return checkState(next, this.run.limits);
  }

  /** Runs a function once for a step, and stores its result at once. */
  once(path: Path, key: string, fn: () => unknown, atMostOnce: boolean): Promise<unknown> {
    return this.#once.run(path, key, fn, atMostOnce);
  }

  get #isCanceled(): boolean {
    const { aborted, reason } = this.abortSignal;
    return aborted && !AgentError.is(reason, "superseded");
  }

  #storeOnce(record: OnceRecord): Promise<void> {
    return new Promise((resolve) => {
      this.#next.once.push(record);
      this.#next.afterwards.push(resolve);
      this.#flush();
    });
  }

  #pump(): void {
    // A choice may be made at once and lead to the next.
    if (this.#isPumping || this.#isOver) return;
    this.#isPumping = true;
    while (this.#advance());
    this.#isPumping = false;
    this.#next.rest = this.#driver.isAtRest ? this.#rest() : undefined;
    this.#flush();
    this.#wakeLater();
  }

  /** Takes what the driver found out. Returns whether there was anything. */
  #advance(): boolean {
    const { ready, closed, progress } = this.#driver.take();
    for (const { path, output } of closed) {
      const record = this.#entered.close(path, output, Math.trunc(this.run.system.now()));
      this.#record(record);
      this.#announceEnd(record, { output, endedAt: record.endedAt });
    }
    for (const one of progress) this.#announce(...events.progress(this.run.runId, one));
    for (const work of ready) {
      if (work.kind === "step") this.#prepare(work);
      else this.#choose(work);
    }
    if (ready.length + closed.length + progress.length > 0) return true;
    const due = this.#driver.due(this.run.system.now());
    for (const work of due) this.#wakeUp(work);
    return due.length > 0;
  }

  /** Some steps run while others sleep: those are woken from here. A run that only sleeps is woken from the store. */
  #wakeLater(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const next = this.#driver.nextDue;
    if (next === undefined || this.#isOver || this.#driver.isAtRest) return;
    const wait = Math.min(MAX_TIMER_MS, Math.max(0, next - this.run.system.now()));
    this.#cancelTimer = this.run.system.setTimer(wait, () => this.#pump());
  }

  /** A step is executed when what it depends on is stored. */
  #prepare(work: StepWork): void {
    const before = this.journal.get(work.path);
    if (this.journal.size >= this.run.limits.steps)
      return this.#fail(work, tooManySteps(this.run.limits.steps));
    let step: Step;
    try {
      step = typeof work.node.step === "function" ? work.node.step(this.run.host) : work.node.step;
    } catch (error) {
      return this.#fail(work, error);
    }
    if (step.idempotent === false) {
      if (before?.status === "running")
        return this.#fail(work, outcomeUnknown(work.path, `Step "${step.id}"`));
      this.#record({ ...this.#recordOf(work, before), status: "running" });
    }
    this.#next.starts.push({ work, step, before });
  }

  #start({ work, step, before }: RunCommitBuilder["starts"][number]): void {
    if (this.#isOver || this.abortSignal.aborted) return;
    const startedAt = Math.trunc(this.run.system.now());
    this.publish(...events.stepStart(this.run.runId, this.callId(work.path), work, startedAt, before));
    const end = (execution: Execution): void => this.#settle(work, step, before, startedAt, execution);
    const execution = executeStep(this, work, step, before);
    if (isPromise(execution)) void execution.then(end);
    else end(execution);
  }

  #settle(
    work: StepWork,
    step: Step,
    before: StepRecord | undefined,
    startedAt: number,
    { outcome, attempt, state }: Execution,
  ): void {
    const { path } = work;
    if (this.#isOver || this.abortSignal.aborted) {
      // It asked a person just when the run was canceled.
      if (outcome.kind === "suspend" && this.#isCanceled && step[WITHDRAW]) {
        const question = { idempotencyKey: this.callId(path), suspendData: outcome.payload, attempt };
        void withdrawQuestions([{ step, question }], this.run.logger);
      }
      return;
    }
    const now = Math.trunc(this.run.system.now());
    const known = this.#recordOf(work, before);
    // A step that was resumed started before it was suspended.
    const record = { ...known, ...(known.resumedAt === undefined && { startedAt }), attempt };
    if (step.metadata) record.metadata = step.metadata;
    const stored = storable(outcome, this.run.limits);
    if (stored.kind !== "failure" && state) this.#setState(state);
    switch (stored.kind) {
      case "success":
      case "bail": {
        const output: Value = { data: stored.output, ref: path };
        const bailed = stored.kind === "bail";
        this.#record({ ...record, status: "success", output, endedAt: now, ...(bailed && { bailed }) });
        if (this.#once.forget(path)) this.#next.forgetOnce.push(path);
        this.#announceEnd(work, { output, endedAt: now }, step.metadata);
        if (bailed) this.#driver.bailed(path, output);
        else this.#driver.succeeded(path, output);
        if (step.scorers && !this.run.disableScorers)
          runScorers(this.run, step, work.input.data, stored.output);
        break;
      }
      case "suspend": {
        const { payload, labels } = stored;
        // Never the same twice: it tells suspensions of a step apart.
        const suspendedAt = Math.max(now, (before?.suspendedAt ?? 0) + 1);
        this.#record({ ...record, status: "suspended", suspend: { payload }, labels, suspendedAt });
        this.#announce(
          ...events.stepSuspended(this.run.runId, this.callId(path), work, payload, suspendedAt),
        );
        this.#driver.suspends(path);
        break;
      }
      case "failure": {
        const { error, tripwire } = stored;
        this.#record({ ...record, status: "failed", error, tripwire, endedAt: now });
        this.#announceEnd(work, { error, tripwire, endedAt: now }, step.metadata);
        this.#driver.failed(path, error);
        break;
      }
    }
    this.#pump();
  }

  #choose(work: ChoiceWork): void {
    const { system, limits } = this.run;
    const context = () => stepContext(this, work, work.input.data);
    const startedAt = Math.trunc(system.now());
    // Not published: its input may be stored with the same commit.
    if (work.kind === "map" || (work.kind === "enter" && !this.#entered.hasBegun(work.path)))
      this.#announce(...events.stepStart(this.run.runId, this.callId(work.path), work, startedAt, undefined));
    try {
      const answer = choose(work, context, {
        now: system.now(),
        items: limits.items,
        hasBegun: (path) => this.#entered.hasBegun(path),
      });
      if (!isPromise(answer)) return this.#chosen(work, answer, startedAt);
      void Promise.resolve(answer).then(
        (late) => this.#choseLate(() => this.#chosen(work, late, startedAt)),
        (error: unknown) => this.#choseLate(() => this.#fail(work, error)),
      );
    } catch (error) {
      this.#fail(work, error);
    }
  }

  #choseLate(apply: () => void): void {
    if (this.#isOver || this.abortSignal.aborted) return;
    apply();
    this.#pump();
  }

  #chosen(work: ChoiceWork, answer: unknown, startedAt: number): void {
    const { path } = work;
    const now = Math.trunc(this.run.system.now());
    // Checked again whenever the run is taken up, so not stored.
    if (work.kind === "enter") {
      const ref = answer === work.input.data ? work.input.ref : undefined;
      this.#entered.enter({ path, rules: work.node.scope, input: work.input, startedAt });
      return this.#driver.succeeded(path, { data: answer, ref });
    }
    const record = { ...this.#recordOf(work, undefined), startedAt };
    if (work.kind === "sleep") {
      this.#record({ ...record, status: "waiting", dueAt: answer as number });
      this.#announce(...events.stepWaiting(this.run.runId, work, now));
      return this.#driver.waits(path, answer as number);
    }
    if (work.kind === "map")
      try {
        checkStorable(answer, "output", this.run.limits.valueBytes);
      } catch (error) {
        return this.#fail(work, error);
      }
    const output = { data: answer, ref: path };
    this.#record({ ...record, status: "success", output, endedAt: now });
    if (work.kind === "map") this.#announceEnd(work, { output, endedAt: now });
    this.#driver.succeeded(path, output);
  }

  #wakeUp(work: Work): void {
    const { path, input } = work;
    const now = Math.trunc(this.run.system.now());
    const before = this.journal.get(path);
    this.#record({ ...this.#recordOf(work, before), status: "success", output: input, endedAt: now });
    this.#announceEnd(work, { output: input, endedAt: now });
    this.#driver.succeeded(path, input);
  }

  #fail(work: Work, thrown: unknown): void {
    const error = thrown instanceof Error ? thrown : new Error(errorMessage(thrown));
    const endedAt = Math.trunc(this.run.system.now());
    this.#record({ ...this.#recordOf(work, this.journal.get(work.path)), status: "failed", error, endedAt });
    this.#announceEnd(work, { error, endedAt });
    this.#driver.failed(work.path, error);
  }

  #recordOf({ path, input }: Work, before: StepRecord | undefined): StepRecord {
    const now = Math.trunc(this.run.system.now());
    if (!before)
      return {
        path,
        number: this.journal.nextNumber(),
        status: "success",
        attempt: 1,
        input,
        startedAt: now,
      };
    const { number, suspend, resume, suspendedAt, resumedAt, startedAt } = before;
    return {
      path,
      number,
      status: "success",
      attempt: 1,
      input,
      startedAt,
      suspend,
      resume,
      suspendedAt,
      resumedAt,
    };
  }

  /** An event about something that is not stored yet: it becomes visible with it, or not at all. */
  #announce(chunk: WorkflowChunk, refs?: Record<string, Ref>, of?: Path): void {
    this.#next.chunks.push({ chunk, refs, of });
  }

  #announceEnd(
    place: Pick<Work, "path" | "input">,
    end: events.End,
    metadata?: Record<string, unknown>,
  ): void {
    const callId = this.callId(place.path);
    this.#next.chunks.push(...events.stepEnd(this.run.runId, callId, place, end, metadata));
  }

  #record(record: StepRecord): void {
    this.#next.record(record, this.journal.get(record.path) === undefined);
    this.journal.set(record);
  }

  #setState(changes: ReadonlyMap<string, unknown>): void {
    for (const [key, value] of changes) {
      if (value === undefined) this.#state.delete(key);
      else this.#state.set(key, value);
      this.#next.state.set(key, value);
    }
  }

  #rest(): Rest {
    const state = this.#driver.state;
    const { runId } = this.run;
    const failed = state.status === "failed" ? this.journal.get(state.path) : undefined;
    const status = failed?.tripwire ? "tripwire" : state.status;
    // It stays due until what it asked elsewhere has ended, too.
    const isAsking = isEnd(status) && this.openQuestions().length > 0;
    const rest: Rest = {
      status,
      ...(state.status === "success" && { result: state.result }),
      ...(state.status === "failed" && { error: state.error }),
      ...(failed?.tripwire && { tripwire: failed.tripwire }),
      ...(state.status === "waiting" && { dueAt: state.dueAt }),
      ...(isAsking && { dueAt: Math.trunc(this.run.system.now()) }),
      chunks: [],
    };
    const endedAt = Math.trunc(this.run.system.now());
    const nested = state.status === "failed" ? this.#entered.failed(state) : [];
    const ends = nested.flatMap(({ failure: { error, tripwire }, ...place }) =>
      events.stepEnd(runId, this.callId(place.path), place, { error, tripwire, endedAt }),
    );
    return { ...rest, chunks: [...ends, ...events.restEvents(runId, rest, this.usage)] };
  }

  #flush(): void {
    while (!this.#isCommitting && !this.#isOver) {
      const batch = this.#next;
      if (batch.isEmpty) return;
      this.#next = new RunCommitBuilder();
      if (!batch.hasWrites) {
        // What they refer to is stored: no commit is under way.
        for (const logged of batch.chunks) this.#port.publish(logged);
        this.#stored(batch, true);
        continue;
      }
      const stored = this.#port.commit(batch.toCommit());
      if (!isPromise(stored)) {
        this.#stored(batch, stored);
        continue;
      }
      this.#isCommitting = true;
      void Promise.resolve(stored).then(
        (isFree) => {
          this.#isCommitting = false;
          this.#stored(batch, isFree);
          this.#flush();
        },
        (error: unknown) => this.#lose(error),
      );
    }
  }

  #stored(batch: RunCommitBuilder, isFree: boolean): void {
    if (this.#isOver) return;
    for (const afterwards of batch.afterwards) afterwards();
    // What the mail says comes first: a run that was cancelled begins nothing.
    if (isFree) return this.#go(batch);
    this.#port.readMail().then(
      (mail) => {
        this.#go({ starts: batch.starts, rest: undefined }, () => this.#take(mail));
      },
      (error: unknown) => this.#lose(error),
    );
  }

  #go({ starts, rest }: Pick<RunCommitBuilder, "starts" | "rest">, before?: () => void): void {
    before?.();
    if (this.#isOver) return;
    if (!rest) return starts.forEach((start) => this.#start(start));
    this.#isOver = true;
    this.#cancelTimer?.();
    this.#port.close();
    const { state } = this.#driver;
    if (state.status === "failed") this.#entered.callFailed(state);
    this.#onRest(rest);
  }

  #take(mail: readonly RunMail[]): void {
    if (this.#isOver) return;
    for (const item of mail) {
      if (this.#taken.has(item.seq)) continue;
      this.#taken.add(item.seq);
      this.#next.mail.push(item.seq);
      if (item.kind === "cancel") {
        this.cancel();
        continue;
      }
      for (const record of item.records) {
        const known = this.journal.get(record.path);
        if (known?.status !== "suspended" || record.status !== "resumed") continue;
        // A message has no inputs: those are references that only the run can resolve.
        this.journal.set({ ...record, number: known.number, input: known.input });
        this.#driver.resume(record.path);
      }
      this.#driver.release(item.perStep ? 1 : Number.POSITIVE_INFINITY);
    }
    this.#pump();
  }

  #lose(error: unknown): void {
    if (this.#isOver) return;
    this.abandon();
    this.#onLost(error);
  }
}

/** Timers of the platform overflow. */
const MAX_TIMER_MS = 86_400_000;

function tooManySteps(max: number): AgentError {
  return new AgentError(
    "limit-exceeded",
    `The run has executed ${max} steps, which is the limit. Raise workflowRuns.steps if that is intended.`,
  );
}
