import type {
  SerializedStepGraph,
  WorkflowRunStatus,
  WorkflowTripwire,
  WorkflowUsage,
} from "@selvedge/protocol";
import type { StepRecord } from "./journal.ts";
import type { OnceRecord } from "./run-port.ts";

/** Identifies something that a step asked elsewhere. */
export interface KeptQuestion {
  idempotencyKey: string;
  attempt: number;
  life: number;
}

export interface RunOptions {
  /** Executes one step whenever it continues. */
  perStep?: boolean;
  disableScorers?: boolean;
  /** It was canceled before anyone started it. */
  neverStarted?: boolean;
  /** What its last time travel left without an answer. */
  dropped?: readonly KeptQuestion[];
}

/** Everything about a run, as it was at one moment. Results, states and snapshots are views of it. */
export interface RunImage {
  runId: string;
  workflowId: string;
  resourceId: string | undefined;
  status: WorkflowRunStatus;
  input: unknown;
  /** In the order in which they were made. */
  records: readonly StepRecord[];
  state: ReadonlyMap<string, unknown>;
  once: readonly OnceRecord[];
  result?: { data: unknown } | undefined;
  error?: unknown;
  tripwire?: WorkflowTripwire | undefined;
  usage: WorkflowUsage;
  requestContext: Record<string, unknown>;
  options: RunOptions;
  graph: SerializedStepGraph | undefined;
  /** Changes with every change of hands. */
  fence: number;
  /** The number of the next event, if it is at rest. */
  nextSeq: number;
  /** The number of its first event. Another one after each time travel. */
  firstSeq: number;
  /** Whether a process carries it out. */
  isOwned: boolean;
  createdAt: number;
  updatedAt: number;
}

const ENDS: ReadonlySet<WorkflowRunStatus> = new Set(["success", "failed", "tripwire", "canceled", "bailed"]);

/** Whether a run is over. */
export function isEnd(status: WorkflowRunStatus): boolean {
  return ENDS.has(status);
}
