import type { AgentChunk } from "@selvedge/protocol";
import { AgentError, errorMessage, UNEXPECTED_CODES } from "../errors.ts";
import { echoOf } from "../signal/echo.ts";
import type { CreatedAgentSignal } from "../signal/signal.ts";
import { limitError } from "../tool/limit-error.ts";
import { Tripwire } from "../processor/tripwire.ts";
import { agentChunk } from "./model-part-chunk.ts";
import type { Run } from "./run.ts";
import { runResponse } from "./run-response.ts";
import type { FinishEvent } from "./run-options.ts";
import { joinAnswers } from "./join-answers.ts";
import { insideRun } from "./current-run.ts";
import { processResult } from "./process-result.ts";
import { resume, type Resumption } from "./resume.ts";
import { type Next, runStep, type StepPolicy } from "./step.ts";
import type { StepResult } from "../processor/step-result.ts";
import { stepCountIs, shouldStop, type StopCondition } from "./stop-when.ts";
import { structureAnswer } from "./structure-answer.ts";

const DEFAULT_MAX_STEPS = 5;
/** `stopWhen` alone decides when to stop, up to this many steps. */
const STOP_WHEN_CEILING = 1000;
/** A provider's error may quote everything it received. */
const MAX_ERROR_BYTES = 1 << 16;

/**
 * The loop. Everything an agent does runs through here: `stream()`, `generate()`, a woken thread, an answered approval,
 * a subagent.
 *
 *     start → processInput → input stored → [ step → stored → signals that joined ]… → finish
 *
 * A failure, an abort and a tripwire are ways for a run to end: each puts its chunk on the stream, and none is thrown.
 */
export function runLoop(run: Run, resumption?: Resumption): Promise<void> {
  return insideRun(run, () => carryOut(run, resumption));
}

async function carryOut(run: Run, resumption: Resumption | undefined): Promise<void> {
  const { spec } = run;
  try {
    run.span = spec.telemetry?.start(`invoke_agent ${spec.agent.name}`, {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.id": spec.agent.id,
      "gen_ai.agent.name": spec.agent.name,
      "gen_ai.conversation.id": spec.threadId,
    });
    await spec.journal?.acquire(run.controller);
    if (resumption) {
      run.earlierSteps = resumption.step;
      await answer(run, await resume(run, resumption, leavesRoom(run)));
    } else {
      await run.stream.announce(agentChunk("start", spec.runId, {}));
      await begin(run);
      await answer(run, { stepNumber: 0, next: "continue" });
    }
  } catch (thrown) {
    endAbnormally(run, thrown);
    await announceEnd(run);
  } finally {
    await run.stream.heard();
    run.span?.end();
    run.close();
  }
}

async function begin(run: Run): Promise<void> {
  const { journal, signals } = run.spec;
  let folded = await prepareInput(run);
  while (!folded) {
    await journal?.acquire(run.controller);
    folded = await prepareInput(run);
  }
  await run.stream.reveal(signals.map((signal) => echoOf(signal, run.spec.runId)));
  for (const signal of folded) await run.join(signal);
  await run.joinLater();
}

/** Prepares and stores the input. Returns `undefined`, with the list unchanged, if it must be repeated. */
async function prepareInput(run: Run): Promise<CreatedAgentSignal[] | undefined> {
  const { list, journal, signals } = run.spec;
  const before = journal && list.snapshot();
  await run.pipeline.input(list);
  const answered = await joinAnswers(list, journal);
  const early = run.early ?? [];
  run.early = undefined;
  if (!journal || !before) return [];
  const input = [...list.get.input.db(), ...early.map((signal) => signal.toDBMessage())];
  const folded = await journal.begin(input, answered, signals, run.spec.pinned);
  if (folded) return folded;
  list.restore(before);
  run.early = [];
  return undefined;
}

/** Takes steps until there is nothing left to answer, then ends the run. */
async function answer(run: Run, from: { stepNumber: number; next: Next }): Promise<void> {
  let { stepNumber, next } = from;
  for (;;) {
    if (next === "continue") ({ stepNumber, next } = await takeSteps(run, stepNumber));
    run.finishReason = run.steps.at(-1)?.finishReason ?? "stop";
    if (next === "suspend") return suspend(run);
    await finishAnswer(run);
    if (await run.finish(finishChunk(run))) break;
    // Signals joined while the run was ending: they are its next input.
    run.status = "running";
    for (const signal of (await run.spec.journal?.commitStep(undefined, { take: true, next: "continue" })) ??
      [])
      await run.join(signal);
    next = "continue";
  }
  run.span?.set({ "gen_ai.response.finish_reasons": [run.finishReason], ...usageAttributes(run) });
  await tellFinish(run);
}

async function takeSteps(run: Run, from: number): Promise<{ stepNumber: number; next: Next }> {
  const policy: StepPolicy = {
    mayRetry: (tripwire) => retryStep(run, tripwire),
    mayContinue: leavesRoom(run),
  };
  for (let stepNumber = from; ;) {
    const next = await runStep(run, stepNumber, policy);
    if (next === "again") continue;
    stepNumber++;
    if (next !== "continue") return { stepNumber, next };
    if (run.spec.journal) for (const signal of await run.spec.journal.takeSignals()) await run.join(signal);
  }
}

async function suspend(run: Run): Promise<void> {
  // The run may have been aborted by someone who saw the question.
  run.controller.signal.throwIfAborted();
  run.status = "suspended";
  run.finishReason = "suspended";
  await run.stream.emit(finishChunk(run));
  try {
    await run.spec.journal?.park();
  } catch (error) {
    // It already waits in the store, where the next process finds it.
    run.spec.journal?.abandon();
    run.spec.logger.warn(`Run ${run.spec.runId} waits, but the end of its stream could not be stored`, error);
  }
  await tellFinish(run);
}

function leavesRoom(run: Run): StepPolicy["mayContinue"] {
  const conditions = stopConditions(run);
  // The run's steps plus the ending one, without copying them all each time.
  const steps: StepResult[] = [];
  const judge = (stops: boolean): boolean => (run.mayContinue = !stops);
  let known = 0;
  return (step) => {
    steps.length = known;
    for (; known < run.steps.length; known++) steps[known] = run.steps[known]!;
    steps.push(step);
    const stops = shouldStop(conditions, steps);
    return stops instanceof Promise
      ? Promise.resolve(run.patience.for("stopWhen", stops)).then(judge)
      : judge(stops);
  };
}

function stopConditions(run: Run): StopCondition[] {
  const { maxSteps, stopWhen } = run.spec.options;
  const own = stopWhen === undefined ? [] : Array.isArray(stopWhen) ? stopWhen : [stopWhen];
  const ceiling = own.length > 0 ? STOP_WHEN_CEILING : DEFAULT_MAX_STEPS;
  return [stepCountIs((maxSteps ?? ceiling) - run.earlierSteps), ...own];
}

/** Whether a step rejected by a processor is retried; if so, the model learns why. */
function retryStep(run: Run, tripwire: Tripwire): boolean {
  if (!tripwire.retry || run.retries >= (run.spec.options.maxProcessorRetries ?? 0)) return false;
  run.pipeline.retryCount = ++run.retries;
  const feedback = `Your previous answer was not accepted: ${tripwire.reason}\nPlease answer again.`;
  run.spec.list.add({ role: "user", content: feedback }, "feedback");
  run.newResponseId();
  return true;
}

async function finishAnswer(run: Run): Promise<void> {
  try {
    await processResult(run);
  } finally {
    await run.tellLast();
  }
  if (run.pipeline.seesResult)
    run.span?.setOutput({ "gen_ai.output.messages": run.steps.flatMap((step) => step.content) });
  if (run.format) await structureAnswer(run, run.format);
  run.status = "success";
}

function endAbnormally(run: Run, thrown: unknown): void {
  if (thrown instanceof Tripwire) {
    run.tripwire = thrown;
    run.status = "tripwire";
    run.finishReason = "tripwire";
    return;
  }
  if (run.aborted) {
    run.status = "canceled";
    run.finishReason = "aborted";
    return;
  }
  const error = AgentError.is(thrown)
    ? thrown
    : new AgentError("internal", `The run failed: ${errorMessage(thrown)}`, { cause: thrown });
  run.error = limitError(error, MAX_ERROR_BYTES);
  run.status = "failed";
  run.finishReason = "error";
  // Outside observers only learn that it failed.
  if (UNEXPECTED_CODES.has(error.code)) run.spec.logger.error(`Run ${run.spec.runId} failed:`, thrown);
}

async function announceEnd(run: Run): Promise<void> {
  const { spec, tripwire } = run;
  run.span?.set({ "gen_ai.response.finish_reasons": [run.finishReason], ...usageAttributes(run) });
  if (run.status === "tripwire") {
    const payload = {
      reason: tripwire!.reason,
      ...(tripwire!.retry && { retry: true }),
      ...(tripwire!.metadata !== undefined && { metadata: tripwire!.metadata }),
      processorId: tripwire!.processorId,
    };
    const why = new AgentError("tripwire", tripwire!.reason);
    await run.conclude("failed", why, [agentChunk("tripwire", spec.runId, payload), finishChunk(run)]);
    await tellFinish(run);
  } else if (run.status === "canceled") {
    await run.conclude("aborted", undefined, [agentChunk("abort", spec.runId, {})]);
    await run.call("onAbort", { steps: run.steps });
  } else {
    run.span?.fail(run.error);
    await run.conclude("failed", run.error, [agentChunk("error", spec.runId, { error: run.error })]);
    await run.call("onError", { error: run.error });
  }
}

function finishChunk(run: Run): AgentChunk {
  const all = run.spec.list.get.all.db();
  const isUser = (message: { role: string }) => message.role === "user";
  return agentChunk("finish", run.spec.runId, {
    stepResult: { reason: run.finishReason },
    output: { usage: run.totalUsage },
    metadata: {},
    messages: { all, user: all.filter(isUser), nonUser: all.filter((message) => !isUser(message)) },
  });
}

async function tellFinish(run: Run): Promise<void> {
  if (run.spec.options.onFinish) await run.call("onFinish", finishEvent(run));
}

function finishEvent(run: Run): FinishEvent {
  const last = run.steps.at(-1);
  return {
    text: last?.text ?? "",
    object: run.object,
    steps: run.steps,
    finishReason: run.finishReason,
    usage: last?.usage ?? run.totalUsage,
    totalUsage: run.totalUsage,
    toolCalls: run.steps.flatMap((step) => step.toolCalls),
    toolResults: run.steps.flatMap((step) => step.toolResults),
    reasoningText: last?.reasoningText,
    warnings: run.warnings,
    response: runResponse(run),
    runId: run.spec.runId,
  };
}

function usageAttributes(run: Run): Record<string, unknown> {
  return {
    "gen_ai.usage.input_tokens": run.totalUsage.inputTokens,
    "gen_ai.usage.output_tokens": run.totalUsage.outputTokens,
  };
}
