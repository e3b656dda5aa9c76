import type { StoredMessage, ToolInvocation } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { MessageList } from "../message/message-list.ts";
import type { MessagesInput } from "../message/message-input.ts";
import { RECENT } from "../run/run-journal.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import { createSignal } from "../signal/signal.ts";
import { checkId } from "../storage/check-id.ts";
import { ownerOfThread } from "../thread/inspect/thread-overview.ts";
import type { AgentEnvironment } from "./agent-environment.ts";
import { checkOptions } from "./check-options.ts";

const MAX_MESSAGES = 100;

/** Results of a client's tools, and their calls. */
export interface Continuation {
  resourceId?: string;
  threadId: string;
  toolCallId?: string;
  approved: boolean;
  streamOptions?: AgentExecutionOptions;
}

/**
 * Continues a thread whose last run left calls to the client. When this resolves, the results are stored, and a
 * separate run takes them up before any queued message. Sending results of the same call again changes nothing.
 */
export async function continueRun(
  environment: AgentEnvironment,
  options: Continuation,
  input: MessagesInput,
): Promise<{ accepted: true; runId: string; toolCallId: string }> {
  if (!options.approved)
    throw new AgentError(
      "invalid-argument",
      "messages contains the results of tools that the client ran, so approved must be true.",
    );
  if (options.streamOptions !== undefined) checkOptions(options.streamOptions);
  const { system, threadsConfig, durableContextKeys } = environment;
  const messages = new MessageList(system).add(input, "input").get.input.db();
  const answers = messages.flatMap(callsOf).filter(({ state }) => state !== "call");
  const toolCallId = options.toolCallId ?? answers[0]?.toolCallId;
  if (toolCallId === undefined || !answers.some((answer) => answer.toolCallId === toolCallId)) {
    throw new AgentError(
      "invalid-argument",
      `messages must contain the result of ${toolCallId === undefined ? "a tool call" : `tool call "${toolCallId}"`}, got ${showValue(input)}.`,
    );
  }
  checkMessages(messages, threadsConfig.signal?.textBytes);
  const memory = await environment.requireMemory("sendToolApproval() with messages");
  const threads = await environment.threads();
  const threadId = checkId("threadId", options.threadId);
  const resourceId = options.resourceId ?? (await ownerOfThread(threads.storage, threadId)) ?? threadId;
  const checkCalls = async () => {
    const domain = await memory.storage.getStore("memory");
    const recent = (await domain?.recentMessages({ threadId, limit: RECENT })) ?? [];
    const calls = recent.filter((message) => message.resourceId === resourceId).flatMap(callsOf);
    for (const answer of answers) checkOpen(threadId, answer.toolCallId, calls);
    return { writes: [] };
  };
  const newRunId = system.newId({ idType: "run", source: "agent", threadId, resourceId });
  const admitted = await threads.send(
    { threadId, resourceId },
    {
      signal: createSignal({ type: "reactive", contents: "" }, system, threadsConfig.signal),
      messages,
      agentId: environment.id,
      delivery: { queued: true, ifActive: "deliver", ifIdle: "wake" },
      newRunId,
      streamOptions: options.streamOptions,
      durableContextKeys,
      idempotencyKey: `results-of:${toolCallId}`,
      alongside: checkCalls,
    },
  );
  return { accepted: true, runId: admitted.runId ?? newRunId, toolCallId };
}

function callsOf(message: StoredMessage): ToolInvocation[] {
  return message.content.parts.flatMap((part) =>
    part.type === "tool-invocation" ? part.toolInvocation : [],
  );
}

function checkOpen(threadId: string, toolCallId: string, calls: readonly ToolInvocation[]): void {
  const call = calls.find((each) => each.toolCallId === toolCallId);
  if (call?.state === "call") return;
  throw call
    ? new AgentError(
        "already-decided",
        `Tool call "${toolCallId}" of thread "${threadId}" already has a result.`,
      )
    : new AgentError(
        "not-found",
        `Tool call "${toolCallId}" of thread "${threadId}" is not waiting for a result.`,
      );
}

function checkMessages(messages: readonly StoredMessage[], limit = 1 << 20): void {
  if (messages.length > MAX_MESSAGES)
    throw new AgentError(
      "limit-exceeded",
      `messages has ${messages.length} messages; the limit is ${MAX_MESSAGES}.`,
    );
  const bytes = Buffer.byteLength(JSON.stringify(messages));
  if (bytes > limit)
    throw new AgentError("limit-exceeded", `messages has ${bytes} bytes; the limit is ${limit}.`);
}
