import type { Owner } from "../actor/owner.ts";
import type { Logger } from "../logger.ts";
import type { Storage } from "../storage/storage.ts";
import type { System } from "../system.ts";
import type { KeptContexts } from "./kept-contexts.ts";
import type { KnownStatuses } from "./known-statuses.ts";
import type { RestWaiters } from "./rest-waiters.ts";
import type { RunLogs } from "./run-logs.ts";
import type { Definition } from "./workflow-engine.ts";
import type { WorkflowLimits } from "./workflow-limits.ts";

/** What the parts of an engine share: where its runs are, and who in this process has to do with them. */
export interface RunParts {
  readonly storage: Storage;
  readonly system: System;
  readonly logger: Logger;
  readonly limits: WorkflowLimits;
  readonly owner: Owner;
  readonly logs: RunLogs;
  readonly waiters: RestWaiters;
  readonly contexts: KeptContexts;
  readonly statuses: KnownStatuses;
  /** The workflows of this process by their ids. */
  readonly definitions: ReadonlyMap<string, Definition>;
}
