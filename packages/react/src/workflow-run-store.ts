import {
  AgentError,
  type ClientWorkflowRun,
  type MastraClient,
  type ReconnectOptions,
  type ResumeWorkflowOptions,
  type TimeTravelOptions,
  type WorkflowStream,
} from "@selvedge/client-js";
import {
  foldWorkflow,
  type NumberedWorkflowChunk,
  type StepProgress,
  type WorkflowProgress,
  type WorkflowStepResult,
} from "@selvedge/protocol";
import type { WireWorkflowState } from "@selvedge/protocol/routes";
import { ExternalStore } from "./external-store.ts";
import { isPassing } from "./is-passing.ts";

export interface WorkflowRunStoreOptions {
  workflowId: string;
  runId: string;
  /** How to reconnect after a broken connection. */
  reconnect?: ReconnectOptions;
  /** Called for each event, and for those of an active run that came before it was opened. */
  onChunk?: (chunk: NumberedWorkflowChunk) => void;
}

/** A step that waits for a person. */
export interface SuspendedStep {
  /** Pass it to `resume`. A step of a nested workflow is `<workflow>.<step>`. */
  readonly step: string;
  /** What the step gave to `suspend`. */
  readonly payload: unknown;
}

export interface WorkflowRunView {
  readonly status: "loading" | "ready" | "error";
  /** Why the run cannot be shown. */
  readonly error?: Error;
  readonly connection: "connecting" | "live" | "reconnecting";
  /** The run, as its events say: a step that did not change stays the same object. */
  readonly run?: WireWorkflowState & { readonly steps: Readonly<Record<string, WorkflowStepResult>> };
  /** How far each `foreach` is. */
  readonly progress: Readonly<Record<string, StepProgress>>;
  readonly suspended: readonly SuspendedStep[];
}

const RESTART_MS = 1000;
/** An execution replaces steps when it starts, and has a result when it ends; the stored run has both. */
const EDGES: ReadonlySet<string> = new Set(["workflow-start", "workflow-finish", "workflow-paused"]);
const FIELDS = [
  "result",
  "error",
  "payload",
  "steps",
  "activeStepsPath",
  "suspendedPaths",
  "resumeLabels",
  "waitingPaths",
];

/**
 * A live workflow run for any UI framework. It loads what is stored and follows the events from there, through
 * suspensions, restarts of the server and executions that others start. `useWorkflowRun` wraps it for React.
 */
export class WorkflowRunStore extends ExternalStore<WorkflowRunView> {
  readonly #client: MastraClient;
  readonly #options: WorkflowRunStoreOptions;
  #status: WorkflowRunView["status"] = "loading";
  #error: Error | undefined;
  #connection: WorkflowRunView["connection"] = "connecting";
  #stored: WireWorkflowState | undefined;
  #progress: WorkflowProgress = { status: "pending", steps: {}, progress: {} };
  /** The number of the last event that the state contains. */
  #seq = 0;
  #stream: WorkflowStream | undefined;
  /** What the events up to `#replayTo` say, while they are read. */
  #replay: WorkflowProgress | undefined;
  #replayTo = 0;
  /** Whether earlier events may be gone, so that the run is followed from its last one. */
  #fromEnd = false;
  #reading: Promise<void> | undefined;
  #readAgain = false;
  /** Changes with every start and stop, so that work of an earlier start ends at its next check. */
  #life: object = {};

  constructor(client: MastraClient, options: WorkflowRunStoreOptions) {
    super({ status: "loading", connection: "connecting", progress: {}, suspended: [] });
    this.#client = client;
    this.#options = options;
  }

  /** Resumes a suspended step. Resolves when the server has stored it; the events follow. */
  async resume(options: ResumeWorkflowOptions = {}): Promise<void> {
    await this.#run.resume(options);
  }

  async cancel(): Promise<void> {
    await this.#run.cancel();
  }

  /** Executes the run again from a step. Needs the grant `control`. */
  async timeTravel(options: TimeTravelOptions): Promise<void> {
    await this.#run.timeTravel(options);
  }

  /** Continues a run whose process died. Servers also do this automatically. */
  async restart(): Promise<void> {
    await this.#run.restart();
  }

  /** Reads the run again. A run that could not be followed is retried. */
  async refresh(): Promise<void> {
    if (this.#status !== "error") return this.#read(this.#life);
    this.#status = "loading";
    this.publish();
    this.start();
  }

  protected start(): void {
    void this.#follow();
  }

  protected stop(): void {
    this.#life = {};
    this.#stream?.leave();
    this.#stream = undefined;
  }

  protected build(): WorkflowRunView {
    const { status, steps, progress } = this.#progress;
    return {
      status: this.#status,
      ...(this.#error && { error: this.#error }),
      connection: this.#connection,
      ...(this.#stored && { run: { ...this.#stored, status, steps: { ...steps } } }),
      progress: { ...progress },
      suspended: suspendedIn(steps),
    };
  }

  get #run(): ClientWorkflowRun {
    return this.#client.getWorkflow(this.#options.workflowId).getRun(this.#options.runId);
  }

  /** Loads and follows until stopped. If the events have moved on too far, it starts again. */
  async #follow(): Promise<void> {
    const life = (this.#life = {});
    for (;;) {
      try {
        await this.#loadAndRead(life);
        return;
      } catch (error) {
        if (life !== this.#life) return;
        const isGone = AgentError.is(error, "reader-too-slow");
        if (!isGone && !isPassing(error)) return this.#giveUp(error);
        this.#error = error as Error;
        this.#connection = this.#status === "loading" ? "connecting" : "reconnecting";
        this.publish();
        await new Promise((resolve) => setTimeout(resolve, RESTART_MS * (0.5 + Math.random())));
        if (life !== this.#life) return;
      }
    }
  }

  async #loadAndRead(life: object): Promise<void> {
    const state = await this.#load();
    if (life !== this.#life) return;
    const { lastSeq = 0 } = state;
    // Steps in flight are not stored yet: their starts are in the events before.
    const replays = lastSeq > 0 && isActive(state) && !this.#fromEnd;
    this.#replay = replays ? { status: "pending", steps: {}, progress: {} } : undefined;
    this.#replayTo = lastSeq;
    const stream = await this.#run.observeStream({ ...(!replays && { offset: lastSeq }), follow: true });
    if (life !== this.#life) return stream.leave();
    this.#stream = stream;
    this.#take(state);
    // Until the first event arrives, an error may mean that earlier ones are gone.
    this.#fromEnd = replays;
    this.#status = "ready";
    this.#error = undefined;
    this.#connection = "live";
    this.publish();
    const { reconnect = true } = this.#options;
    await stream.processDataStream({
      onChunk: (chunk) => {
        if (life === this.#life) this.#fold(chunk, life);
      },
      reconnect,
      onConnection: (connection) => {
        if (life !== this.#life) return;
        this.#connection = connection;
        this.publish();
      },
    });
  }

  #load(): Promise<WireWorkflowState> {
    const { workflowId, runId } = this.#options;
    return this.#client.getWorkflow(workflowId).runById(runId, { fields: FIELDS });
  }

  #fold(chunk: NumberedWorkflowChunk, life: object): void {
    this.#fromEnd = false;
    if (this.#replay && chunk.seq <= this.#replayTo) return this.#foldBefore(this.#replay, chunk);
    if (chunk.seq <= this.#seq) return;
    this.#seq = chunk.seq;
    foldWorkflow(this.#progress, chunk);
    this.#options.onChunk?.(chunk);
    this.publishSoon();
    if (EDGES.has(chunk.type)) this.#read(life).catch(() => {});
  }

  /** An event from before the run was loaded: the last one shows which steps are in flight. */
  #foldBefore(replay: WorkflowProgress, chunk: NumberedWorkflowChunk): void {
    foldWorkflow(replay, chunk);
    this.#options.onChunk?.(chunk);
    if (chunk.seq < this.#replayTo) return;
    this.#replay = undefined;
    this.#progress.progress = { ...replay.progress, ...this.#progress.progress };
    Object.assign(this.#progress.steps, inFlight(replay.steps, this.#progress.steps));
    this.publishSoon();
  }

  /** Reads the stored run. Requests made during a read are merged into one more read. */
  #read(life: object): Promise<void> {
    if (this.#reading) {
      this.#readAgain = true;
      return this.#reading;
    }
    const reading = this.#load()
      .then((state) => {
        if (life !== this.#life) return;
        this.#take(state);
        this.publish();
      })
      .finally(() => {
        this.#reading = undefined;
        if (!this.#readAgain || life !== this.#life) return undefined;
        this.#readAgain = false;
        return this.#read(life);
      });
    this.#reading = reading;
    return reading;
  }

  /** What is stored replaces what the events said, unless the events are ahead. */
  #take(state: WireWorkflowState): void {
    const seq = state.lastSeq ?? 0;
    this.#stored = state;
    if (seq < this.#seq) return;
    this.#seq = seq;
    const { steps = {}, status } = state;
    const known = this.#progress.steps;
    const merged = Object.entries(steps).map(([id, step]) => [id, same(known[id], step) ?? step]);
    this.#progress = {
      status,
      steps: {
        ...(Object.fromEntries(merged) as Record<string, WorkflowStepResult>),
        ...(isActive(state) && inFlight(known, steps)),
      },
      progress: this.#progress.progress,
    };
  }

  #giveUp(error: unknown): void {
    this.#status = "error";
    this.#error = error instanceof Error ? error : new Error(String(error));
    this.publish();
  }
}

function isActive({ status }: WireWorkflowState): boolean {
  return status === "running" || status === "waiting";
}

/** The steps that events say are in flight, as far as the store does not know better: it has a step when it has ended. */
function inFlight(
  known: Readonly<Record<string, WorkflowStepResult>>,
  stored: Readonly<Record<string, WorkflowStepResult>>,
): Record<string, WorkflowStepResult> {
  const ids = Object.keys(known);
  const outer = new Set(ids.map((id) => id.slice(0, Math.max(0, id.lastIndexOf(".")))));
  const steps = ids.filter((id) => {
    const { status, startedAt } = known[id]!;
    if (status !== "running" && status !== "waiting") return false;
    const before = stored[id];
    return before === undefined || (!outer.has(id) && before.startedAt < startedAt);
  });
  return Object.fromEntries(steps.map((id) => [id, known[id]!]));
}

/** The known object of a step, if nothing happened to it since. */
function same(
  known: WorkflowStepResult | undefined,
  step: WorkflowStepResult,
): WorkflowStepResult | undefined {
  const a = known as (WorkflowStepResult & { endedAt?: number }) | undefined;
  const b = step as WorkflowStepResult & { endedAt?: number };
  const isSame =
    a !== undefined &&
    a.status === b.status &&
    a.startedAt === b.startedAt &&
    a.endedAt === b.endedAt &&
    a.suspendedAt === b.suspendedAt &&
    a.resumedAt === b.resumedAt;
  return isSame ? a : undefined;
}

function suspendedIn(steps: Readonly<Record<string, WorkflowStepResult>>): SuspendedStep[] {
  const waiting = Object.entries(steps).filter(([, { status }]) => status === "suspended");
  // A workflow waits with its steps; the steps are what can be resumed.
  return waiting
    .filter(([id]) => !waiting.some(([other]) => other.startsWith(`${id}.`)))
    .map(([step, { suspendPayload }]) => ({ step, payload: suspendPayload as unknown }));
}
