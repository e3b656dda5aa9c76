import type { AgentScheduleTarget, ScheduleOutcome, WorkflowScheduleTarget } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { signalOf } from "./check-schedule.ts";
import type { ScheduledAgent, ScheduledWorkflow } from "./schedule-targets.ts";

/** What a fire came to. */
export interface Carried {
  outcome: ScheduleOutcome;
  runId: string | undefined;
}

/** Whether a store failed. The fire is then repeated: its ids make sure that it counts once. */
export function mayBeRepeated(error: unknown): boolean {
  return AgentError.is(error, "storage-failed") || AgentError.is(error, "storage-closed");
}

/** Starts a run of the workflow. Started twice with one id, even by two processes, it runs once. */
export async function startWorkflow(
  workflow: ScheduledWorkflow,
  { inputData, initialState, requestContext, resourceId }: WorkflowScheduleTarget,
  fireId: string,
): Promise<Carried> {
  const run = await workflow.createRun({ runId: fireId, ...(resourceId !== undefined && { resourceId }) });
  try {
    await run.startAsync({
      ...(inputData !== undefined && { inputData }),
      ...(initialState && { initialState }),
      ...(requestContext && { requestContext: new RequestContext(requestContext) }),
    });
  } catch (error) {
    // It is started already.
    if (!AgentError.is(error, "conflict")) throw error;
  }
  return { outcome: "published", runId: fireId };
}

const OUTCOMES: Record<string, ScheduleOutcome> = {
  deliver: "delivered",
  persist: "persisted",
  discard: "discarded",
};

/** Sends the signal to its thread. Sent twice with one id, even by two processes, it arrives once. */
export async function sendToThread(
  agent: ScheduledAgent,
  target: AgentScheduleTarget,
  fireId: string,
): Promise<Carried> {
  const { threadId, resourceId, ifActive, ifIdle, requestContext } = target;
  const context = ifIdle?.streamOptions?.requestContext ?? requestContext;
  const options = {
    threadId,
    resourceId,
    idempotencyKey: fireId,
    ...(ifActive && { ifActive }),
    ifIdle: { ...ifIdle, streamOptions: context && { requestContext: new RequestContext(context) } },
  };
  try {
    const { action, runId } = await agent.sendSignal({ ...signalOf(target), id: fireId }, options).admitted;
    return { outcome: OUTCOMES[action] ?? "published", runId: action === "discard" ? undefined : runId };
  } catch (error) {
    // The key has expired, and the message is there.
    if (!AgentError.is(error, "conflict")) throw error;
    return { outcome: "published", runId: undefined };
  }
}
