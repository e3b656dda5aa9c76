import type { JSONValue } from "./json.ts";

/** `pending`: created, not started. `waiting`: asleep. The states after `paused` are ends. */
export const WORKFLOW_RUN_STATUSES = [
  "pending",
  "running",
  "waiting",
  "suspended",
  "paused",
  "success",
  "failed",
  "tripwire",
  "canceled",
  "bailed",
  "skipped",
] as const;

export type WorkflowRunStatus = (typeof WORKFLOW_RUN_STATUSES)[number];

export type WorkflowStepStatus =
  | "success"
  | "failed"
  | "suspended"
  | "running"
  | "waiting"
  | "paused"
  | "skipped";

/** Why an agent's processor ended a workflow. */
export interface WorkflowTripwire {
  reason: string;
  retry?: boolean;
  metadata?: unknown;
  processorId?: string;
}

export interface WorkflowUsage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
}

interface StepResultBase {
  /** The step's input. */
  payload: any;
  startedAt: number;
  /** The number of its last attempt, if there was more than one. */
  attempt?: number;
  suspendPayload?: any;
  suspendedAt?: number;
  resumePayload?: any;
  resumedAt?: number;
  metadata?: Record<string, unknown>;
}

/** What is known of one step of a run. Times are in milliseconds. In a process `error` is an `Error`. */
export type WorkflowStepResult<Output = any> =
  | (StepResultBase & { status: "success"; output: Output; endedAt: number })
  | (StepResultBase & { status: "failed"; error: any; endedAt: number; tripwire?: WorkflowTripwire })
  | (StepResultBase & { status: "suspended"; suspendedAt: number; output?: Output })
  | (StepResultBase & { status: "running" | "waiting" | "paused" | "skipped"; output?: Output });

/** A label of a suspension: `resume({ label })`. */
export interface WorkflowResumeLabel {
  stepId: string;
  /** The item, if the step is in a `foreach`. */
  forEachIndex?: number;
}

interface ChunkBase {
  runId: string;
  from: "WORKFLOW";
}

/** The `payload` of each event of a workflow run. */
export interface WorkflowChunkPayloads {
  "workflow-start": { workflowId: string };
  "workflow-step-start": {
    id: string;
    stepCallId: string;
    status: "running";
    payload: unknown;
    resumePayload?: unknown;
    startedAt: number;
  };
  /** What a step wrote; the chunks of an agent are among it. */
  "workflow-step-output": { output: unknown; stepName: string; stepCallId: string; runId: string };
  "workflow-step-progress": {
    id: string;
    completedCount: number;
    totalCount: number;
    currentIndex: number;
    iterationStatus: "success" | "failed" | "suspended";
    iterationOutput?: unknown;
  };
  "workflow-step-result": {
    id: string;
    stepCallId: string;
    status: "success" | "failed";
    payload: unknown;
    output?: unknown;
    error?: unknown;
    tripwire?: WorkflowTripwire;
    endedAt?: number;
  };
  "workflow-step-finish": { id: string; metadata: Record<string, unknown> };
  "workflow-step-suspended": {
    id: string;
    stepCallId: string;
    status: "suspended";
    suspendPayload: unknown;
    payload: unknown;
    suspendedAt?: number;
  };
  "workflow-step-waiting": { id: string; payload: unknown; startedAt: number; status: "waiting" };
  "workflow-paused": Record<string, never>;
  "workflow-canceled": Record<string, never>;
  "workflow-finish": {
    workflowStatus: WorkflowRunStatus;
    finalWorkflowResult?: unknown;
    output: { usage: WorkflowUsage };
    metadata: Record<string, unknown>;
  };
}

/** An event of a workflow run. `data-*` ones are written by steps (`writer.custom`). */
export type WorkflowChunk =
  | {
      [Type in keyof WorkflowChunkPayloads]: ChunkBase & { type: Type; payload: WorkflowChunkPayloads[Type] };
    }[keyof WorkflowChunkPayloads]
  | (ChunkBase & { type: `data-${string}`; data: unknown; id?: string; transient?: boolean });

/** An event with its number, which rises by one within the run. */
export type NumberedWorkflowChunk = WorkflowChunk & { seq: number };

/** A step of a workflow, for people. `path` in other places consists of these ids. */
export interface SerializedStep {
  id: string;
  description?: string;
  metadata?: Record<string, unknown>;
  /** What it was made from, if it is not a plain step. */
  component?: "WORKFLOW" | "AGENT" | "TOOL" | "PROCESSOR" | "MAP";
  /** The graph of a nested workflow. */
  serializedStepFlow?: SerializedStepGraph;
  /** The source of a mapping. */
  mapConfig?: string;
  canSuspend?: boolean;
}

export type SerializedStepEntry =
  | { type: "step"; step: SerializedStep }
  | { type: "sleep"; id: string; duration?: number; fn?: string }
  | { type: "sleepUntil"; id: string; date?: number; fn?: string }
  | { type: "parallel"; steps: { type: "step"; step: SerializedStep }[] }
  | {
      type: "conditional";
      steps: { type: "step"; step: SerializedStep }[];
      serializedConditions: { id: string; fn: string }[];
    }
  | {
      type: "loop";
      step: SerializedStep;
      serializedCondition: { id: string; fn: string };
      loopType: "dowhile" | "dountil";
    }
  | { type: "foreach"; step: SerializedStep; opts: { concurrency: number } };

export type SerializedStepGraph = SerializedStepEntry[];

/** A stored run, as far as it was asked for. Times are `Date` in a process and text over HTTP. */
export interface WorkflowState<Time = Date> {
  runId: string;
  workflowName: string;
  resourceId?: string;
  createdAt: Time;
  updatedAt: Time;
  status: WorkflowRunStatus;
  result?: any;
  error?: any;
  /** The input. */
  payload?: any;
  steps?: Record<string, WorkflowStepResult>;
  activeStepsPath?: Record<string, number[]>;
  serializedStepGraph?: SerializedStepGraph;
  /** Suspended steps; the values are their position in the graph. */
  suspendedPaths?: Record<string, number[]>;
  resumeLabels?: Record<string, WorkflowResumeLabel>;
  waitingPaths?: Record<string, number[]>;
  requestContext?: Record<string, unknown>;
  tracingContext?: Record<string, JSONValue>;
}

/** A run in a list. */
export interface WorkflowRunRecord<Time = Date> {
  runId: string;
  workflowName: string;
  resourceId?: string;
  createdAt: Time;
  updatedAt: Time;
  snapshot: WorkflowRunSnapshot;
}

/** A stored run in the form that programs for this API read. */
export interface WorkflowRunSnapshot {
  runId: string;
  status: WorkflowRunStatus;
  /** The run's state. */
  value: Record<string, any>;
  /** The input as `input`, and the result of each step. */
  context: Record<string, any>;
  serializedStepGraph: SerializedStepGraph;
  suspendedPaths: Record<string, number[]>;
  resumeLabels: Record<string, WorkflowResumeLabel>;
  waitingPaths: Record<string, number[]>;
  activePaths: number[];
  activeStepsPath: Record<string, number[]>;
  result?: any;
  error?: any;
  requestContext?: Record<string, unknown>;
  timestamp: number;
}
