import { AgentError, showValue } from "../errors.ts";
import type { MessagesInput } from "../message/message-input.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import { checkId } from "../storage/check-id.ts";
import { RUNS } from "../storage/thread-tables.ts";
import { readActor } from "../thread/hold/actor.ts";
import { decideCall, type DecideOptions } from "../thread/journal/decide-call.ts";
import {
  listSuspendedRuns,
  type ListSuspendedRunsOptions,
  type SuspendedRun,
} from "../thread/inspect/list-suspended-runs.ts";
import type { Thread } from "../thread/hold/thread.ts";
import { checkDecision } from "./check-decision.ts";
import { continueRun } from "./continue-run.ts";
import type { ThreadsHost } from "./threads-host.ts";

export interface ToolApprovalOptions {
  resourceId?: string;
  threadId: string;
  toolCallId?: string;
  approved: boolean;
  resumeData?: unknown;
  declineContext?: { reason?: string; message?: string };
  /** Results of tools that the client ran itself. With them a run of its own goes on where the last one stopped. */
  messages?: MessagesInput;
  /** For the run that goes on with `messages`. */
  streamOptions?: AgentExecutionOptions;
}

/** Answers to tool calls that wait for somebody. */
export class ThreadApprovals {
  readonly #host: ThreadsHost;

  constructor(host: ThreadsHost) {
    this.#host = host;
  }

  async sendToolApproval(
    options: ToolApprovalOptions,
    alongside?: DecideOptions["alongside"],
  ): Promise<{ accepted: true; runId: string; toolCallId: string }> {
    if (typeof options?.approved !== "boolean") {
      throw new AgentError(
        "invalid-argument",
        `approved must be true or false, got ${showValue(options?.approved)}.`,
      );
    }
    if (options.resourceId !== undefined) checkId("resourceId", options.resourceId);
    const decision = checkDecision(options);
    const toolCallId = checkCallId(options.toolCallId);
    if (options.messages !== undefined) return continueRun(this.#host, options, options.messages);
    const runtime = await this.#host.runtime();
    const thread = await runtime.findThread(checkId("threadId", options.threadId), options.resourceId);
    const actor = await readActor(runtime.storage, thread.threadId);
    if (!actor || actor.resourceId !== thread.resourceId) {
      throw new AgentError("not-found", `No tool call of thread "${thread.threadId}" waits for an answer.`);
    }
    const decided = await decideCall(thread, { toolCallId, runId: actor.runId }, decision, { alongside });
    return { accepted: true, ...decided };
  }

  /** Decides a call of a known run. */
  async decide(
    runId: string,
    toolCallId: string | undefined,
    decision: Parameters<typeof decideCall>[2],
  ): Promise<Thread> {
    const runtime = await this.#host.runtime();
    const [row] = await runtime.storage.select({
      table: RUNS,
      where: { id: checkId("runId", runId), agent_id: this.#host.id },
      limit: 1,
    });
    if (!row) throw new AgentError("not-found", `There is no run "${runId}" that waits for an answer.`);
    const thread = runtime.peek(row.thread_id, row.resource_id);
    await decideCall(thread, { toolCallId: checkCallId(toolCallId), runId }, decision);
    return thread;
  }

  async listSuspendedRuns(
    options: ListSuspendedRunsOptions = {},
  ): Promise<{ runs: SuspendedRun[]; total: number }> {
    const runtime = await this.#host.runtime();
    return listSuspendedRuns(runtime.storage, this.#host.id, options);
  }
}

function checkCallId(toolCallId: unknown): string | undefined {
  if (toolCallId === undefined || typeof toolCallId === "string") return toolCallId;
  throw new AgentError("invalid-argument", `toolCallId must be a string, got ${showValue(toolCallId)}.`);
}
