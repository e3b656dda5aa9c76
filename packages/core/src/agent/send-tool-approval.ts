import { AgentError, showValue } from "../errors.ts";
import type { MessagesInput } from "../message/message-input.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import { checkId } from "../storage/check-id.ts";
import type { DecideOptions } from "../thread/threads.ts";
import type { AgentEnvironment } from "./agent-environment.ts";
import { checkCallId, checkDecision } from "./check-decision.ts";
import { continueRun } from "./continue-run.ts";
import { decideQuestion } from "./decide-question.ts";

export interface ToolApprovalOptions {
  resourceId?: string;
  threadId: string;
  toolCallId?: string;
  approved: boolean;
  resumeData?: unknown;
  declineContext?: { reason?: string; message?: string };
  /** Results of tools that the client ran itself. A separate run then continues where the last one stopped. */
  messages?: MessagesInput;
  /** For the run that continues with `messages`. */
  streamOptions?: AgentExecutionOptions;
}

/** Answers a tool call that waits for a person on a thread. */
export async function sendToolApproval(
  environment: AgentEnvironment,
  options: ToolApprovalOptions,
  alongside?: DecideOptions["alongside"],
): Promise<{ accepted: true; runId: string; toolCallId: string }> {
  if (typeof options?.approved !== "boolean") {
    throw new AgentError(
      "invalid-argument",
      `approved must be true or false, got ${showValue(options?.approved)}.`,
    );
  }
  const { resourceId, messages } = options;
  if (resourceId !== undefined) checkId("resourceId", resourceId);
  const decision = checkDecision(options);
  const toolCallId = checkCallId(options.toolCallId);
  if (messages !== undefined) return continueRun(environment, options, messages);
  const threads = await environment.threads();
  const threadId = checkId("threadId", options.threadId);
  return {
    accepted: true,
    ...(await decideQuestion(threads, { threadId, resourceId, toolCallId }, decision, { alongside })),
  };
}
