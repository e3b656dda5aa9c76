import type { AgentChunk, MessagePart, StoredMessage, Usage } from "@selvedge/protocol";
import { Tripwire } from "../processor/tripwire.ts";
import type { ToolOutcome } from "../tool/execute-tool.ts";
import { agentChunk } from "./model-part-chunk.ts";
import { NOBODY_ASKED } from "./open-calls.ts";
import type { Run } from "./run.ts";
import type { AgentExecutionOptions } from "./run-options.ts";
import { endStep, type Next, type StepPolicy, storePartial } from "./step.ts";
import { prepareStep } from "./step-request.ts";
import type { ToolSet } from "../tool/tool-set.ts";
import { StepBuilder } from "./step-builder.ts";
import { runToolCalls } from "./tool-calls.ts";

/** A decision about a waiting call. */
export interface Decision {
  approved: boolean;
  reason?: string;
  message?: string;
  resumeData?: unknown;
  /** It is on the thread's stream already. */
  announced?: true;
}

/** A tool call the store knows to be unfinished. */
export interface JournaledCall {
  toolCallId: string;
  toolName: string;
  args: unknown;
  /** `started`: was about to run; `done`: ran; `waiting`: for a decision; `decided`: was answered. */
  state: "started" | "done" | "waiting" | "decided";
  requiresApproval: boolean;
  suspendPayload: unknown;
  resumeSchema: string;
  /** The rule that made it ask. */
  reason?: string | undefined;
  /** What bounded the call when it asked for approval. */
  bounds?: string | undefined;
  outcome: ToolOutcome | undefined;
  decision: Decision | undefined;
  /** What the tool saved while it worked. */
  progress?: unknown;
}

/** Where a stored run stands, read from the store alone. */
export interface Resumption {
  runId: string;
  options: AgentExecutionOptions;
  /** Steps that are stored whole. */
  step: number;
  /** What the loop was going to do after them. */
  next: "continue" | "stop";
  responseId: string | undefined;
  usage: Usage | undefined;
  /** Whether it had taken its input in. */
  begun: boolean;
  /** An abort was requested. */
  abort: boolean;
  /** What the unfinished step has cost, where no commit has counted it yet. */
  openUsage?: Usage | undefined;
  /** The unfinished step: what the model said, and its calls in order. */
  parts: MessagePart[];
  calls: JournaledCall[];
  /** The run's messages so far, without the unfinished step. */
  messages: StoredMessage[];
  /** How many steps the message `responseId` has, without the unfinished one. */
  responseSteps: number;
}

/** Takes up a run where it stopped: finishes the step whose calls were open, and returns where the loop continues. */
export async function resume(
  run: Run,
  resumption: Resumption,
  mayContinue: StepPolicy["mayContinue"],
): Promise<{ stepNumber: number; next: Next }> {
  const { list } = run.spec;
  for (const message of resumption.messages) {
    if (message.id === resumption.responseId) forgetWaiting(message);
    list.append(message, message.role === "assistant" ? "response" : "input");
  }
  run.early = undefined;
  await run.pipeline.input(list);
  if (resumption.responseId !== undefined) run.responseId = resumption.responseId;
  if (resumption.usage) run.totalUsage = resumption.usage;
  const { step: stepNumber, calls } = resumption;
  if (resumption.abort) run.controller.abort();
  if (calls.length === 0) {
    run.controller.signal.throwIfAborted();
    return { stepNumber, next: resumption.next };
  }
  const toolSet = await toolsFor(run, stepNumber, calls);
  const step = (run.step = StepBuilder.resume(stepNumber, resumption.parts, resumption.openUsage));
  const journal = new Map(calls.map((call) => [call.toolCallId, call]));
  for (const { toolCallId, toolName, decision, state } of calls)
    if (state === "decided" && decision && !decision.announced && run.spec.journal)
      await run.stream.emit(decidedChunk(run.spec.runId, { toolCallId, toolName }, decision));
  try {
    run.controller.signal.throwIfAborted();
    const tools = await runToolCalls(run, step, toolSet, undefined, journal);
    const next = await endStep(run, step, tools, mayContinue);
    return { stepNumber: stepNumber + 1, next };
  } catch (thrown) {
    if (!(thrown instanceof Tripwire)) await storePartial(run, step, thrown, NOBODY_ASKED);
    throw thrown;
  } finally {
    run.step = undefined;
  }
}

/** Tells everybody who sees a question that it has been answered. */
export function decidedChunk(
  runId: string,
  call: { toolCallId: string; toolName: string },
  { approved, reason, message }: Decision,
): AgentChunk {
  const why = reason ?? message;
  return agentChunk("tool-call-decided", runId, {
    ...call,
    approved,
    ...(why !== undefined && { reason: why }),
  });
}

function forgetWaiting({ content }: StoredMessage): void {
  for (const key of Object.keys(NOBODY_ASKED)) delete content.metadata?.[key];
}

/** The tools of the step that waited: the run's, or those that a processor gave it. */
async function toolsFor(
  run: Run,
  stepNumber: number,
  calls: readonly { toolName: string }[],
): Promise<ToolSet> {
  const { tools } = run.spec;
  const isKnown = calls.every(({ toolName }) => tools.has(toolName));
  return isKnown || !run.pipeline.seesStepInput ? tools : (await prepareStep(run, stepNumber)).toolSet;
}
