import type { Logger } from "../logger.ts";
import type { Storage } from "../storage/storage.ts";
import type { System } from "../system.ts";
import type { ToolLike } from "../tool/tool.ts";
import type { LeaseLimits } from "../actor/owner.ts";
import type { Retention } from "../storage/prune.ts";
import type { WorkflowLimits } from "./workflow-limits.ts";

/** How the runs of a store are carried out. */
export interface StoredRunsOptions {
  limits?: Partial<WorkflowLimits> | undefined;
  lease?: LeaseLimits | undefined;
  retention?: Partial<Retention> | undefined;
}

/** What a workflow needs of the host it is registered with. */
export interface WorkflowHost {
  readonly logger: Logger;
  readonly system: System;
  /** Request context keys that are stored with a run. */
  readonly durableContextKeys?: readonly string[] | undefined;
  /** Limits for the runs of workflows. */
  readonly workflowRuns?: StoredRunsOptions | undefined;
  getStorage(): Storage | undefined;
  getAgentById(id: string): unknown;
  getTool(name: string): ToolLike;
  getScorerById?(id: string): unknown;
}
