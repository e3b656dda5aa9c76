import type { WorkflowUsage } from "@selvedge/protocol";
import type { Logger } from "../logger.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { System } from "../system.ts";
import type { GraphScope } from "./graph.ts";
import type { StepRecord } from "./journal.ts";
import type { KeptQuestion } from "./run-image.ts";
import type { OnceRecord } from "./run-port.ts";
import type { WorkflowHost } from "./workflow-host.ts";
import type { WorkflowLimits } from "./workflow-limits.ts";

/** What a run is made of. */
export interface RunSpec {
  readonly runId: string;
  readonly resourceId: string | undefined;
  readonly rules: GraphScope;
  readonly input: unknown;
  readonly requestContext: RequestContext;
  readonly host: WorkflowHost | undefined;
  readonly system: System;
  readonly logger: Logger;
  readonly limits: WorkflowLimits;
  readonly disableScorers: boolean;
  /** The number of its first event: another one after each time travel. */
  readonly firstSeq: number;
  /** What its last time travel left without an answer. */
  readonly dropped?: readonly KeptQuestion[] | undefined;
}

/** What is known of a run when it is taken up. */
export interface RunPast {
  records: readonly StepRecord[];
  state: ReadonlyMap<string, unknown>;
  once: readonly OnceRecord[];
  usage: WorkflowUsage;
  /** It was carried out by a process that may have died. */
  wasInterrupted: boolean;
}

export const NOTHING_YET: RunPast = {
  records: [],
  state: new Map(),
  once: [],
  usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
  wasInterrupted: false,
};
