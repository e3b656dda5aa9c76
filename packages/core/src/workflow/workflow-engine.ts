import type { NumberedWorkflowChunk, SerializedStepGraph, WorkflowRunStatus } from "@selvedge/protocol";
import type { Logger } from "../logger.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { GraphScope } from "./graph.ts";
import type { StepRecord } from "./journal.ts";
import type { Path } from "./path.ts";
import type { RunImage, RunOptions } from "./run-image.ts";
import type { WorkflowOptions } from "./workflow-config.ts";
import type { WorkflowHost } from "./workflow-host.ts";

/** The part of a workflow that executing its runs needs. */
export interface Definition {
  readonly id: string;
  readonly rules: GraphScope;
  readonly options: WorkflowOptions;
  readonly serializedStepGraph: SerializedStepGraph;
  readonly host: WorkflowHost | undefined;
}

/** Which run, and whose it is. */
export interface RunAddress {
  runId: string;
  resourceId: string | undefined;
}

/** What is known of a run without reading its steps. */
export type RunFacts = Pick<RunImage, "workflowId" | "resourceId" | "status" | "options">;

export interface NewRun extends RunAddress {
  input: unknown;
  state: Record<string, unknown>;
  requestContext: RequestContext;
  options: RunOptions;
  /** Executes one step. */
  perStep: boolean;
  /** Results of steps that are not executed. */
  records: readonly StepRecord[];
}

/** How a run at rest continues. */
export interface Continuation {
  /** Steps that were resumed, or get another input. */
  records: readonly StepRecord[];
  /** Steps whose results no longer count. */
  drop: readonly Path[];
  state: Record<string, unknown>;
  requestContext: RequestContext | undefined;
  perStep: boolean;
  /** Everything from here on is new: earlier events are dropped. */
  rewinds: boolean;
  /** How it continues if the run has changed since this was decided. Throws if it cannot. Default: the same. */
  again?: (image: RunImage) => Continuation;
}

/** A run in a list. */
export type RunHead = Pick<
  RunImage,
  "runId" | "workflowId" | "resourceId" | "status" | "createdAt" | "updatedAt"
>;

export interface RunQuery {
  workflowId?: string;
  from?: number;
  to?: number;
  resourceId?: string;
  statuses?: readonly WorkflowRunStatus[];
  limit: number;
  offset: number;
}

/** What was asked for is stored. `rest` resolves when the run is over, suspended or paused. */
export interface Accepted {
  rest: Promise<RunImage>;
  /** The number of the event before the first that follows, if earlier ones were dropped. */
  after?: number;
  /** No one waits for the rest. */
  forget(): void;
}

/** Carries out runs: in memory, or in a store together with other processes. */
export interface WorkflowEngine {
  /** From now on, runs of this workflow are carried out here. */
  serve(definition: Definition): void;
  /** Begins a run. Resolves when it is stored. One that was canceled before is over at once. */
  start(definition: Definition, run: NewRun): Promise<Accepted>;
  /** The run as it is, or `undefined`. */
  load(runId: string): Promise<RunImage | undefined>;
  facts(runId: string): Promise<RunFacts | undefined>;
  /**
   * Continues a run that is suspended, paused or over, or resumes a step of one that is running. Resolves when that is
   * stored. Throws `already-decided` if someone else resumed one of the steps first.
   */
  proceed(definition: Definition, image: RunImage, continuation: Continuation): Promise<Accepted>;
  /** Cancels a run, also one that no one has started. Resolves when that is stored; nothing happens to one that is over. */
  cancel(definition: Definition, address: RunAddress): Promise<void>;
  /**
   * Takes up a run whose process died; nothing happens to another. The values of `given` count from when the run is taken
   * up here, also if that is later.
   */
  wake(definition: Definition, runId: string, given?: RequestContext): Promise<void>;
  /** Resolves when the run is over, suspended or paused. Rejects if there is none. */
  atRest(definition: Definition, runId: string): Accepted;
  /** What is known about the status here. */
  statusOf(runId: string): WorkflowRunStatus | undefined;
  /** The number of the run's last event, and of the one before its first. */
  position(runId: string): Promise<{ start: number; end: number }>;
  /** Events after a number, without an end. */
  read(runId: string, after: number): AsyncIterableIterator<NumberedWorkflowChunk>;
  list(query: RunQuery): Promise<{ images: RunImage[]; total: number }>;
  /** The same without the steps of the runs. */
  listHeads(query: RunQuery): Promise<{ heads: RunHead[]; total: number }>;
  remove(runId: string): Promise<void>;
  /** Takes over what other processes left, now and from then on. */
  recover(): Promise<void>;
  close(): Promise<void>;
}

/** A workflow, as its runs see it. */
export interface RunnableWorkflow extends Definition {
  readonly logger: Logger;
  now(): number;
  /** Check what a caller gave. Throw `invalid-argument`, and return it with defaults. */
  checkInput(input: unknown): Promise<unknown>;
  checkInitialState(state: unknown): Promise<Record<string, unknown>>;
  checkRequestContext(context: RequestContext): Promise<void>;
}
