import type { ToolCallPayload } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import { roughSize } from "../json.ts";
import { isPromise } from "../is-promise.ts";
import {
  type CheckedCall,
  checkCall,
  executeTool,
  type ToolOutcome,
  type ToolRunContext,
} from "../tool/execute-tool.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { threadStateOf } from "./thread-state-of.ts";
import type { ToolSet } from "../tool/tool-set.ts";
import { answerCall, denyCall, transcriptOf } from "./answer-call.ts";
import { answersIn, callFromJournal, progressIn } from "./call-from-journal.ts";
import { questionOf, toOpenCall, waitingMetadata } from "./open-calls.ts";
import type { JournaledCall } from "./resume.ts";
import type { OpenCall, Run } from "./run.ts";
import { RunToolWriter } from "./run-tool-writer.ts";
import type { StepBuilder } from "./step-builder.ts";
import { stepRecord } from "./step-record.ts";

const DEFAULT_CONCURRENCY = 10;

export interface ToolCallsOutcome {
  /** Some call has a result here, so the model can continue. */
  answered: boolean;
  /** Some call is left for the caller to execute. */
  client: boolean;
  /** Some call waits for a person. */
  suspended: boolean;
  /** Notes on the message which calls wait, so that a page loaded later can show them. */
  metadata: Record<string, unknown> | undefined;
}

/** Executes the tool calls of a step: those that need no approval run at once, in parallel; the others wait. */
export async function runToolCalls(
  run: Run,
  step: StepBuilder,
  tools: ToolSet,
  activeTools: readonly string[] | undefined,
  earlier: ReadonlyMap<string, JournaledCall> = NOTHING,
): Promise<ToolCallsOutcome> {
  const calls = step.calls.filter((call) => !call.providerExecuted);
  if (calls.length === 0) return NO_CALLS;
  const objections: unknown[] = [];
  const context = toolContext(run, tools, activeTools, objections, earlier);
  const found = calls.map((call) => {
    const known = callFromJournal(call, earlier, tools) ?? step.tooLong(call) ?? checkCall(call, context);
    if (!isPromise(known)) return known;
    return run.patience.for(`The approval check of tool "${call.toolName}"`, known);
  });
  const checked = found.some(isPromise)
    ? await Promise.all(found.map(async (one) => one))
    : (found as CheckedCall[]);
  if (!run.spec.mayWait) for (const { call, outcome } of checked) refuseToWait(run, call, outcome);
  const { journal } = run.spec;
  const running = checked.filter((item) => !item.outcome);
  // Also tools that may run again: a model that is asked again makes another call, with another idempotency key.
  const journaled = journal !== undefined && running.length > 0;
  if (journaled) {
    // A call that started before a crash stays marked, whatever its outcome.
    const begun = checked.filter(
      (item) => !item.outcome || earlier.get(item.call.toolCallId)?.state === "started",
    );
    const intents = begun.map(({ call }, position) => ({ ...call, position }));
    await journal.recordIntent(stepRecord(run, step), intents);
  }
  const waiting: OpenCall[] = [];
  let answered = false;
  let client = false;
  const leaveOpen = async (call: ToolCallPayload, outcome: ToolOutcome): Promise<void> => {
    if (outcome.kind === "client") client = true;
    else waiting.push(toOpenCall(call, outcome, tools));
    if (outcome.kind === "suspended")
      run.stream.count(roughSize(outcome.payload, run.spec.limits.toolResultBytes));
    step.annotate(call.toolCallId, await transcriptOf(run, call, { outcome }));
  };
  await inParallel(concurrency(run), checked, async (item) => {
    // The step has failed: calls that have not started do not start.
    if (!item.outcome && objections.length > 0) return;
    try {
      const { call } = item;
      const outcome = item.outcome ?? (await execute(run, item, context));
      if (!run.spec.mayWait) refuseToWait(run, call, outcome);
      // A single result is stored with the step, right after this.
      if (!item.outcome && journaled && running.length > 1 && !run.aborted)
        await journal.recordOutcome(call.toolCallId, outcome);
      if (outcome.kind === "result" || outcome.kind === "error") await answerCall(run, step, call, outcome);
      else if (outcome.kind === "denied") await denyCall(run, step, call, outcome.reason);
      else return await leaveOpen(call, outcome);
      answered = true;
    } catch (thrown) {
      // A processor's error. The other calls have started, so they finish before the step does.
      objections.push(thrown);
    }
  });
  run.controller.signal.throwIfAborted();
  if (objections.length > 0) throw objections[0];
  for (const open of waiting) step.take(questionOf(run, open));
  run.openCalls = waiting;
  return {
    answered,
    client,
    suspended: waiting.length > 0,
    metadata: waitingMetadata(run, step, waiting, earlier.size > 0),
  };
}

/** No one could answer a run that is a tool of another: it fails instead of waiting forever. */
function refuseToWait(run: Run, { toolName }: ToolCallPayload, outcome: ToolOutcome | undefined): void {
  if (outcome?.kind !== "approval" && outcome?.kind !== "suspended") return;
  const wants = outcome.kind === "approval" ? "needs approval" : "wants to suspend";
  throw new AgentError(
    "not-supported",
    `Tool "${toolName}" of agent "${run.spec.agent.name}" ${wants}, and a subagent cannot wait for a person. Give the tool to the agent that people talk to.`,
  );
}

const NOTHING: ReadonlyMap<string, JournaledCall> = new Map();

/** For a step without calls. */
export const NO_CALLS: ToolCallsOutcome = {
  answered: false,
  client: false,
  suspended: false,
  metadata: undefined,
};

function toolContext(
  run: Run,
  tools: ToolSet,
  activeTools: readonly string[] | undefined,
  objections: unknown[],
  earlier: ReadonlyMap<string, JournaledCall>,
): ToolRunContext {
  const { spec } = run;
  const { journal } = spec;
  return {
    agentId: spec.agent.id,
    tools,
    activeTools,
    requireApproval: spec.options.requireToolApproval,
    requestContext: spec.requestContext,
    mastra: spec.mastra,
    belongings: spec.belongings,
    threadId: spec.threadId,
    resourceId: spec.resourceId,
    runId: spec.runId,
    messages: () => spec.list.get.all.db(),
    abortSignal: run.controller.signal,
    limits: spec.limits,
    timers: run.timers,
    threadState: threadStateOf(spec, spec.runId),
    ...(journal && {
      progress: { saved: progressIn(earlier), save: (...progress) => journal.saveProgress(...progress) },
    }),
    writer: (call) => new RunToolWriter(run, call, objections),
    answered: answersIn(earlier),
  };
}

function concurrency(run: Run): number {
  const asked = run.spec.options.toolCallConcurrency;
  return (typeof asked === "object" ? asked.limit : asked) ?? DEFAULT_CONCURRENCY;
}

/** Processes the items, at most `limit` at a time. */
function inParallel<Item>(
  limit: number,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<unknown> {
  if (items.length === 1) return work(items[0]!);
  const rest = items[Symbol.iterator]();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  return Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}

function execute(
  run: Run,
  ready: Parameters<typeof executeTool>[0],
  context: ToolRunContext,
): Promise<ToolOutcome> {
  const { telemetry } = run.spec;
  return telemetry
    ? traced(run, telemetry, ready.call, () => executeTool(ready, context))
    : executeTool(ready, context);
}

async function traced(
  run: Run,
  telemetry: Telemetry,
  call: ToolCallPayload,
  work: () => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const span = telemetry.start(
    `execute_tool ${call.toolName}`,
    {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": call.toolName,
      "gen_ai.tool.call.id": call.toolCallId,
      ...(telemetry.recordInputs && { "gen_ai.tool.call.arguments": call.args }),
    },
    run.span,
  );
  try {
    const outcome = await work();
    if (outcome.kind === "error") span.fail(outcome.error);
    else if (outcome.kind === "result" && !run.pipeline.seesToolResults)
      span.setOutput({ "gen_ai.tool.call.result": outcome.result });
    return outcome;
  } finally {
    span.end();
  }
}
