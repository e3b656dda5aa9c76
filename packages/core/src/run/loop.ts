import { AgentError, errorMessage } from "../errors.ts";
import { Tripwire } from "../processor/tripwire.ts";
import { agentChunk } from "./model-part-chunk.ts";
import type { Run } from "./run.ts";
import type { FinishEvent } from "./run-options.ts";
import { joinAnswers } from "./join-answers.ts";
import { runStep } from "./step.ts";
import { stepCountIs, shouldStop, type StopCondition } from "./stop-when.ts";
import { structureAnswer } from "./structure-answer.ts";

const DEFAULT_MAX_STEPS = 5;
/** `stopWhen` decides alone when given alone, but not without end. */
const STOP_WHEN_CEILING = 1000;

/**
 * The loop. Everything an agent does runs through here: `stream()`, `generate()`, a subagent.
 *
 *     start → processInput → input stored → [ step → stored ]… → finish
 *
 * A failure, an abort and a tripwire are ways a run ends: each puts its chunk on the stream, and none is thrown.
 */
export async function runLoop(run: Run): Promise<void> {
  const { spec } = run;
  try {
    run.span = spec.telemetry?.start(`invoke_agent ${spec.agent.name}`, {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.id": spec.agent.id,
      "gen_ai.agent.name": spec.agent.name,
      "gen_ai.conversation.id": spec.threadId,
    });
    await run.announce(agentChunk("start", spec.runId, {}));
    await run.pipeline.input(spec.list);
    const answered = await joinAnswers(spec.list, spec.recorder);
    await spec.recorder?.begin(spec.list.get.input.db());
    await spec.recorder?.replace(answered);
    await takeSteps(run);
    if (run.status === "running") await finishAnswer(run);
  } catch (thrown) {
    endAbnormally(run, thrown);
  }
  try {
    await announceEnd(run);
  } catch (thrown) {
    // A processor may object even to the last chunk.
    endAbnormally(run, thrown);
    await announceEnd(run);
  } finally {
    run.span?.end();
    run.close();
  }
}

async function takeSteps(run: Run): Promise<void> {
  const conditions = stopConditions(run);
  for (let stepNumber = 0; ;) {
    const next = await runStep(run, stepNumber, (tripwire) => retryStep(run, tripwire));
    if (next === "again") continue;
    stepNumber++;
    run.finishReason = run.steps.at(-1)?.finishReason ?? "unknown";
    if (next === "suspend") {
      run.status = "suspended";
      run.finishReason = "suspended";
      return;
    }
    if (next === "stop" || (await shouldStop(conditions, run.steps))) return;
  }
}

function stopConditions(run: Run): StopCondition[] {
  const { maxSteps, stopWhen } = run.spec.options;
  const own = stopWhen === undefined ? [] : Array.isArray(stopWhen) ? stopWhen : [stopWhen];
  const ceiling = own.length > 0 ? STOP_WHEN_CEILING : DEFAULT_MAX_STEPS;
  return [stepCountIs(maxSteps ?? ceiling), ...own];
}

/** Whether a step that a processor turned down is tried again; if so the model is told why. */
function retryStep(run: Run, tripwire: Tripwire): boolean {
  if (!tripwire.retry || run.retries >= (run.spec.options.maxProcessorRetries ?? 0)) return false;
  run.pipeline.retryCount = ++run.retries;
  const feedback = `Your previous answer was not accepted: ${tripwire.reason}\nPlease answer again.`;
  run.spec.list.add({ role: "user", content: feedback }, "feedback");
  run.responseId = run.spec.system.newId();
  return true;
}

async function finishAnswer(run: Run): Promise<void> {
  const { spec } = run;
  const last = run.steps.at(-1);
  if (run.format) await structureAnswer(run, run.format);
  const changed = await run.pipeline.outputResult(spec.list, {
    text: last?.text ?? "",
    usage: run.totalUsage,
    finishReason: run.finishReason,
    steps: run.steps,
  });
  if (changed) await spec.recorder?.rewrite(spec.list.get.response.db());
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
  run.error = AgentError.is(thrown)
    ? thrown
    : new AgentError("internal", `The run failed: ${errorMessage(thrown)}`, { cause: thrown });
  run.status = "failed";
  run.finishReason = "error";
}

/** Throws only before anything was said: when a processor objects to `finish`. */
async function announceEnd(run: Run): Promise<void> {
  const { spec, tripwire } = run;
  run.span?.set({ "gen_ai.response.finish_reasons": [run.finishReason], ...usageAttributes(run) });
  switch (run.status) {
    case "tripwire":
      await run.announce(
        agentChunk("tripwire", spec.runId, {
          reason: tripwire!.reason,
          ...(tripwire!.retry && { retry: true }),
          ...(tripwire!.metadata !== undefined && { metadata: tripwire!.metadata }),
          processorId: tripwire!.processorId,
        }),
      );
      break;
    case "canceled":
      await run.announce(agentChunk("abort", spec.runId, {}));
      await run.call("onAbort", { steps: run.steps });
      return;
    case "failed":
      run.span?.fail(run.error);
      await run.announce(agentChunk("error", spec.runId, { error: run.error }));
      await run.call("onError", { error: run.error });
      return;
  }
  const all = spec.list.get.all.db();
  const isUser = (message: { role: string }) => message.role === "user";
  const finish = agentChunk("finish", spec.runId, {
    stepResult: { reason: run.finishReason },
    output: { usage: run.totalUsage },
    metadata: {},
    messages: { all, user: all.filter(isUser), nonUser: all.filter((message) => !isUser(message)) },
  });
  if (tripwire) await run.announce(finish);
  else await run.emit(finish);
  await run.call("onFinish", finishEvent(run));
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
    response: { ...last?.response, messages: run.spec.list.get.response.db() },
    runId: run.spec.runId,
  };
}

function usageAttributes(run: Run): Record<string, unknown> {
  return {
    "gen_ai.usage.input_tokens": run.totalUsage.inputTokens,
    "gen_ai.usage.output_tokens": run.totalUsage.outputTokens,
  };
}
