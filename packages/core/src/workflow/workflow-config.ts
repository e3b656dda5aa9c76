import type {
  WorkflowRunSnapshot,
  WorkflowRunStatus,
  WorkflowStepResult,
  WorkflowTripwire,
} from "@selvedge/protocol";
import type { Logger } from "../logger.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { Schema } from "../schema/schema.ts";
import type { Step } from "./step.ts";
import type { WorkflowHost } from "./workflow-host.ts";

type Awaitable<Value> = Value | Promise<Value>;

/** When a workflow is started by the clock. */
export interface WorkflowSchedule {
  /** Required if there are several. */
  id?: string;
  /** 5, 6 or 7 fields. */
  cron: string;
  timezone?: string;
  inputData?: unknown;
  initialState?: Record<string, unknown>;
  requestContext?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
}

export interface WorkflowStartInfo {
  runId: string;
  workflowId: string;
  resourceId?: string | undefined;
  getInitData(): any;
  state: Record<string, any>;
  requestContext: RequestContext<any>;
  mastra?: any;
  logger: Logger;
}

export interface WorkflowFinishInfo extends WorkflowStartInfo {
  status: WorkflowRunStatus;
  steps: Record<string, WorkflowStepResult>;
  result?: any;
  error?: any;
  tripwire?: WorkflowTripwire;
}

export interface WorkflowOptions {
  /** Default: true. `start` and `resume` throw on data that does not fit; a step whose input does not fit fails. */
  validateInputs?: boolean;
  /** Called when the run is over: whether it is kept in the store. A run in progress is always stored. */
  shouldPersistSnapshot?: (args: {
    stepResults: Record<string, WorkflowStepResult>;
    workflowStatus: WorkflowRunStatus;
  }) => boolean;
  /** What readers see of a stored run. */
  pruneSnapshot?: (args: {
    snapshot: WorkflowRunSnapshot;
    workflowStatus: WorkflowRunStatus;
  }) => WorkflowRunSnapshot;
  /** Awaited before the first step of a new run. If it throws, `start()` rejects and nothing runs. */
  onStart?: (info: WorkflowStartInfo) => Awaitable<unknown>;
  /** Called at any end, and when the run suspends. */
  onFinish?: (info: WorkflowFinishInfo) => Awaitable<unknown>;
  /** Called when the run failed, or a tripwire ended it. */
  onError?: (info: WorkflowFinishInfo) => Awaitable<unknown>;
  tracingPolicy?: unknown;
  /** How often the step of a loop may be executed. Default: 10,000. */
  maxIterations?: number;
}

export interface WorkflowConfig<
  Id extends string = string,
  InputSchema extends Schema = Schema,
  OutputSchema extends Schema = Schema,
  StateSchema extends Schema | undefined = Schema | undefined,
> {
  id: Id;
  description?: string;
  metadata?: Record<string, unknown>;
  inputSchema: InputSchema;
  outputSchema: OutputSchema;
  stateSchema?: StateSchema;
  requestContextSchema?: Schema;
  /** Only for types. */
  steps?: readonly Step[];
  retryConfig?: { attempts?: number; delay?: number };
  schedule?: WorkflowSchedule | readonly WorkflowSchedule[];
  options?: WorkflowOptions;
  /** The host, if it is not registered with one. */
  mastra?: WorkflowHost;
}
