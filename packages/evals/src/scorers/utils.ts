import type { ScorerRunInputForAgent, ScorerRunOutputForAgent, Trajectory } from "@selvedge/core/evals";

export { compareTrajectories } from "../code/trajectory.ts";

type Message = ScorerRunOutputForAgent[number];

/** A tool that an answer called. */
export interface ToolCallInfo {
  toolName: string;
  toolCallId: string;
  messageIndex: number;
  invocationIndex: number;
}

/** The text of a stored message. */
export function getTextContentFromMastraDBMessage(message: Message): string {
  const texts = message.content.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.length > 0 ? texts.join(" ") : (message.content.content ?? "");
}

/** What the user wrote. */
export function getUserMessageFromRunInput(input: ScorerRunInputForAgent | undefined): string | undefined {
  return textOf(input?.inputMessages, "user");
}

/** What the agent answered. */
export function getAssistantMessageFromRunOutput(
  output: ScorerRunOutputForAgent | undefined,
): string | undefined {
  return textOf(output, "assistant");
}

/** What the model thought, if it says so. */
export function getReasoningFromRunOutput(output: ScorerRunOutputForAgent | undefined): string | undefined {
  const parts = (output ?? []).flatMap((message) => message.content.parts);
  const texts = parts.flatMap((part) => (part.type === "reasoning" ? [part.reasoning] : []));
  return texts.length > 0 ? texts.join("\n") : undefined;
}

export function getSystemMessagesFromRunInput(input: ScorerRunInputForAgent | undefined): string[] {
  const tagged = Object.values(input?.taggedSystemMessages ?? {}).flat();
  return [...(input?.systemMessages ?? []), ...tagged].map(({ content }) => content);
}

export function getCombinedSystemPrompt(input: ScorerRunInputForAgent | undefined): string {
  return getSystemMessagesFromRunInput(input).join("\n\n");
}

export function extractInputMessages(input: ScorerRunInputForAgent | undefined): string[] {
  return (input?.inputMessages ?? []).map(getTextContentFromMastraDBMessage);
}

export function extractAgentResponseMessages(output: ScorerRunOutputForAgent): string[] {
  return output.filter(({ role }) => role === "assistant").map(getTextContentFromMastraDBMessage);
}

/** The tools that were called, in order. */
export function extractToolCalls(output: ScorerRunOutputForAgent): {
  tools: string[];
  toolCallInfos: ToolCallInfo[];
} {
  const toolCallInfos = output.flatMap(({ content }, messageIndex) =>
    content.parts
      .filter((part) => part.type === "tool-invocation")
      .map(({ toolInvocation: { toolName, toolCallId } }, invocationIndex) => {
        return { toolName, toolCallId, messageIndex, invocationIndex };
      }),
  );
  return { tools: toolCallInfos.map(({ toolName }) => toolName), toolCallInfos };
}

/** A stored message, for tests of scorers. */
export function createTestMessage(message: {
  content: string;
  role: "user" | "assistant" | "system";
  id?: string;
  toolInvocations?: Record<string, unknown>[];
}): Message {
  const { content: text, role, id = "test-message", toolInvocations = [] } = message;
  const calls = toolInvocations.map((toolInvocation) => ({ type: "tool-invocation", toolInvocation }));
  const parts = [...calls, { type: "text", text }];
  return { id, role, content: { format: 2, parts, content: text }, createdAt: new Date(0) } as Message;
}

/** A finished tool call, for `createTestMessage`. */
export function createToolInvocation(call: {
  toolCallId: string;
  toolName: string;
  args: Record<string, unknown>;
  result?: unknown;
  state?: string;
}): Record<string, unknown> {
  return { state: "result", result: {}, ...call };
}

/** What a scorer of agents gets, for tests. */
export function createAgentTestRun(run: {
  inputMessages?: Message[];
  output: Message[];
  rememberedMessages?: Message[];
  systemMessages?: ScorerRunInputForAgent["systemMessages"];
  runId?: string;
}): { input: ScorerRunInputForAgent; output: ScorerRunOutputForAgent; runId: string } {
  const {
    inputMessages = [],
    rememberedMessages = [],
    systemMessages = [],
    output,
    runId = "test-run",
  } = run;
  return {
    input: { inputMessages, rememberedMessages, systemMessages, taggedSystemMessages: {} },
    output,
    runId,
  };
}

/** What a scorer of trajectories gets, for tests. */
export function createTrajectoryTestRun(run: {
  inputMessages?: Message[];
  output: Trajectory;
  expectedTrajectory?: unknown;
  runId?: string;
}): {
  input: ScorerRunInputForAgent;
  output: Trajectory;
  runId: string;
  expectedTrajectory?: unknown;
} {
  const { output, expectedTrajectory, inputMessages = [], runId = "test-run" } = run;
  const { input } = createAgentTestRun({ inputMessages, output: [] });
  return { input, output, runId, ...(expectedTrajectory !== undefined && { expectedTrajectory }) };
}

function textOf(messages: readonly Message[] | undefined, role: string): string | undefined {
  const message = messages?.find((one) => one.role === role);
  return message && getTextContentFromMastraDBMessage(message);
}
