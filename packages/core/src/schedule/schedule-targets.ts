import type { RequestContext } from "../request-context/request-context.ts";
import type { SignalInput } from "../signal/signal.ts";
import type { ScheduleDeclaration } from "./declared-schedules.ts";

/** An agent, as far as schedules need it. */
export interface ScheduledAgent {
  readonly id: string;
  sendSignal(
    signal: SignalInput,
    options: object,
  ): { admitted: Promise<{ action: string; runId: string | undefined }> };
  generate(prompt: string, options: object): Promise<unknown>;
}

/** A workflow, as far as schedules need it. */
export interface ScheduledWorkflow {
  readonly id: string;
  readonly config?: { readonly schedule?: ScheduleDeclaration | readonly ScheduleDeclaration[] | undefined };
  createRun(options: { runId: string; resourceId?: string }): Promise<{
    startAsync(options: {
      inputData?: unknown;
      initialState?: object;
      requestContext?: RequestContext;
    }): Promise<{ runId: string }>;
  }>;
}

/** What this process can start, as of now. */
export interface ScheduleTargets {
  agents(): readonly ScheduledAgent[];
  workflows(): readonly ScheduledWorkflow[];
}
