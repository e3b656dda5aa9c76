import { AgentError, type Mastra } from "@selvedge/core";
import type { AgentExecutionOptions } from "@selvedge/core/agent";
import type { AgentChunk } from "@selvedge/protocol";
import { findAgent } from "../find-agent.ts";
import { toUiStream, type UiStreamOptions } from "./to-ui-stream.ts";
import type { UiChunk } from "./ui-chunks.ts";

/** The body of a chat: its messages and options of the run. */
export type ChatStreamParams = AgentExecutionOptions & {
  messages: unknown[];
  /** Resumes the suspended tool call of `runId`. */
  resumeData?: unknown;
  trigger?: "submit-message" | "regenerate-message" | undefined;
};

export interface ChatStreamOptions extends UiStreamOptions {
  mastra: Mastra;
  /** The registered name or the id of an agent. */
  agentId: string;
  params: ChatStreamParams;
  /** Options of every run. Those of `params` take precedence. */
  defaultOptions?: AgentExecutionOptions | undefined;
}

interface UiMessage {
  id?: string;
  role?: string;
  parts?: { state?: string; toolCallId?: string; approval?: { approved?: boolean; reason?: string } }[];
}

type AnyAgent = ReturnType<typeof findAgent>;

/**
 * Answers a chat of the AI SDK with its UI message stream: for `createUIMessageStreamResponse`. On a thread, only the last
 * message is new. Approvals in the last message continue the run that waits for them, as `resumeData` does.
 */
export async function handleChatStream(options: ChatStreamOptions): Promise<ReadableStream<UiChunk>> {
  const { mastra, agentId, params, defaultOptions, ...ui } = options;
  const { messages, resumeData, trigger: _, ...given } = params;
  if (!Array.isArray(messages))
    throw new AgentError("invalid-argument", "messages must be an array of UI messages.");
  const agent = findAgent(mastra, agentId);
  const run = { ...defaultOptions, ...given };
  const last = messages.at(-1) as UiMessage | undefined;
  const isOn = last?.role === "assistant";
  const output = await startRun(agent, messages, run, resumeData);
  return toUiStream(output.fullStream as unknown as AsyncIterable<AgentChunk>, {
    ...(isOn && { lastMessageId: last.id }),
    ...ui,
  });
}

async function startRun(
  agent: AnyAgent,
  messages: unknown[],
  options: AgentExecutionOptions,
  resumeData: unknown,
): ReturnType<AnyAgent["stream"]> {
  const { runId, ...rest } = options;
  if (resumeData !== undefined) {
    if (runId === undefined)
      throw new AgentError("invalid-argument", "resumeData needs runId: the run that waits.");
    return agent.resumeStream(resumeData, { ...withoutThread(rest), runId });
  }
  const last = messages.at(-1) as UiMessage | undefined;
  const answered = last?.role === "assistant" && last.parts?.findLast(isAnswered);
  if (answered) return answer(agent, answered, rest);
  const isThread = (rest.memory?.thread ?? rest.threadId) !== undefined && last?.role === "user";
  return agent.stream((isThread ? [last] : messages) as never, options);
}

type Part = NonNullable<UiMessage["parts"]>[number];

function isAnswered({ state, approval }: Part): boolean {
  return state === "approval-responded" && typeof approval?.approved === "boolean";
}

async function answer(
  agent: AnyAgent,
  { toolCallId, approval }: Part,
  options: AgentExecutionOptions,
): ReturnType<AnyAgent["stream"]> {
  const thread = options.memory?.thread;
  const threadId = typeof thread === "object" ? thread.id : (thread ?? options.threadId);
  const resourceId = options.memory?.resource ?? options.resourceId;
  const { runs } = await agent.listSuspendedRuns({
    ...(threadId !== undefined && { threadId }),
    ...(resourceId !== undefined && { resourceId }),
  });
  const waiting = runs.find(({ toolCalls }) => toolCalls.some((call) => call.toolCallId === toolCallId));
  if (!waiting || toolCallId === undefined)
    throw new AgentError(
      "not-found",
      `No tool call "${toolCallId}" of this chat is waiting for an answer. Send the chat's memory: { thread, resource }.`,
    );
  const { runId } = waiting;
  const decided = { ...withoutThread(options), runId, toolCallId };
  if (approval?.approved) return agent.approveToolCall(decided);
  const { reason } = approval ?? {};
  return agent.declineToolCall({ ...decided, ...(reason !== undefined && { reason }) });
}

/** A run that waits knows its thread. */
function withoutThread(options: AgentExecutionOptions): AgentExecutionOptions {
  const { memory: _, threadId: __, resourceId: ___, ...rest } = options;
  return rest;
}
