import { createHash } from "node:crypto";
import type { AgentChunk, MessagePart } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import type { ModelReply } from "../model/model.ts";
import type { ReadyResponse } from "../processor/processor.ts";
import { Tripwire } from "../processor/tripwire.ts";
import type { OpenSpan } from "../telemetry/telemetry.ts";
import { agentChunk } from "./model-part-chunk.ts";
import type { Run } from "./run.ts";
import type { RunJournal } from "./run-journal.ts";
import { ReplyTaker } from "./reply-taker.ts";
import { StepBuilder } from "./step-builder.ts";
import { addUsage } from "../model/usage.ts";
import type { StepResult } from "../processor/step-result.ts";
import { openReply, prepareStep, type StepSettings } from "./step-request.ts";
import { finalRecord } from "./step-record.ts";
import { announceOpenCalls } from "./open-calls.ts";
import { NO_CALLS, runToolCalls, type ToolCallsOutcome } from "./tool-calls.ts";

/** What the loop does after a step. `again` means that nothing of the step counts. */
export type Next = "continue" | "stop" | "suspend" | "again";

/** What the loop decides about a step. */
export interface StepPolicy {
  /** Whether a step that a processor turned down is tried again. */
  mayRetry(tripwire: Tripwire): boolean;
  /** Whether the stop conditions leave room for another step after this one. */
  mayContinue(step: StepResult): boolean | Promise<boolean>;
}

/** How much is kept of a reply over its limit. */
const KEPT_LENGTH = 100_000;

/** One model call and the tool calls it asked for. Stored in one transaction when it ends, however it ends. */
export async function runStep(run: Run, stepNumber: number, policy: StepPolicy): Promise<Next> {
  const prepared = prepareStep(run, stepNumber);
  const settings = prepared instanceof Promise ? await prepared : prepared;
  const span = startSpan(run, settings);
  let reply: ModelReply | ReadyResponse | undefined;
  let taker: ReplyTaker | undefined;
  try {
    reply = await openReply(run, stepNumber, settings);
    if (!reply) return "again";
    taker = beginStep(run, reply, stepNumber, settings);
    const { step } = taker;
    const started = run.stream.emit(taker.start);
    if (started instanceof Promise) await started;
    if ("chunks" in reply) await taker.takeReady(reply);
    else await reply.each(taker.take);
    if (!step.finished) throw incomplete(step);
    if (run.pipeline.seesStream) await taker.endTexts();
    if (run.pipeline.seesReplies) await processReply(run, step, taker.chunks, "chunks" in reply);
    if (run.pipeline.seesSteps) await processOutput(run, step);
    const { toolSet, activeTools } = settings;
    const tools = step.calls.length > 0 ? await runToolCalls(run, step, toolSet, activeTools) : NO_CALLS;
    if (!run.pipeline.seesResult) span?.setOutput({ "gen_ai.output.messages": step.parts });
    return await endStep(run, step, tools, policy.mayContinue);
  } catch (thrown) {
    if (!run.aborted && !(thrown instanceof Tripwire)) span?.fail(thrown);
    if (!taker || !reply) throw thrown;
    if (!("chunks" in reply)) reply.cancel(thrown);
    return await breakOff(run, taker, thrown, policy);
  } finally {
    run.step = undefined;
    if (span) endSpan(span, taker?.step);
  }
}

function beginStep(
  run: Run,
  reply: ModelReply | ReadyResponse,
  stepNumber: number,
  settings: StepSettings,
): ReplyTaker {
  const ready = "chunks" in reply;
  const start = agentChunk("step-start", run.spec.runId, {
    messageId: run.responseId,
    model: (ready ? settings.candidates[0]! : reply.candidate).model.modelId,
    request: (ready ? undefined : reply.request) ?? {},
    warnings: [],
  });
  const step = (run.step = StepBuilder.begin(stepNumber, start));
  if (!ready) step.setExchange(reply.request, reply.response);
  return new ReplyTaker(run, step, start, settings.toolSet);
}

/** A step that did not come to its end: it is retried if a processor wants that, or what there is of it is stored. */
async function breakOff(run: Run, taker: ReplyTaker, thrown: unknown, policy: StepPolicy): Promise<"again"> {
  const { step } = taker;
  if (thrown instanceof Tripwire) {
    if (step.stored || !policy.mayRetry(thrown)) {
      await keepSignals(run);
      throw thrown;
    }
    step.finishReason = "retry";
    const result = step.build();
    run.totalUsage = addUsage(run.totalUsage, result.usage);
    await run.stream.emit(stepFinish(run, result, "continue"));
    await run.joinLater();
    return "again";
  }
  if (!step.stored) await taker.endTexts().catch(() => {});
  if (AgentError.is(thrown, "limit-exceeded")) step.cut(KEPT_LENGTH);
  await storePartial(run, step, thrown);
  await keepSignals(run);
  throw thrown;
}

function incomplete({ text }: StepBuilder): AgentError {
  return new AgentError(
    "model-incomplete",
    `The model's reply ended before it was finished, after ${text.length} characters.`,
  );
}

async function processReply(
  run: Run,
  step: StepBuilder,
  chunks: AgentChunk[],
  fromCache: boolean,
): Promise<void> {
  const { stepNumber, text, calls: toolCalls, finishReason, usage, providerMetadata } = step;
  const facts = { stepNumber, text, toolCalls, finishReason, usage, providerMetadata };
  await run.pipeline.response({ ...facts, chunks, fromCache });
}

async function processOutput(run: Run, step: StepBuilder): Promise<void> {
  const { list } = run.spec;
  const before = responseLength(run);
  list.appendResponse(run.responseMessage(), step.parts);
  step.listed = true;
  await run.pipeline.outputStep(list, {
    stepNumber: step.stepNumber,
    steps: run.steps,
    text: step.text,
    toolCalls: step.calls,
    finishReason: step.finishReason,
    usage: step.usage,
    providerMetadata: step.providerMetadata,
  });
  step.adopt(currentResponse(run)?.content.parts.slice(before) ?? []);
}

/** The step becomes part of the conversation and, with memory, of the thread; signals that waited for it join. */
export async function endStep(
  run: Run,
  step: StepBuilder,
  tools: ToolCallsOutcome,
  mayContinue: StepPolicy["mayContinue"],
): Promise<Next> {
  if (tools.client) step.finishReason = "tool-calls";
  const wanted = tools.suspended ? "suspend" : tools.answered && !tools.client ? "continue" : "stop";
  const result = step.build();
  const judged = mayContinue(result);
  const room = judged instanceof Promise ? await judged : judged;
  const next = wanted === "continue" && !room ? "stop" : wanted;
  converse(run, step);
  const { journal } = run.spec;
  if (journal && next !== "suspend") return commitStep(run, step, journal, tools, { next, room });
  if (next === "suspend") {
    const record = await finalRecord(run, step, tools.metadata);
    await (journal ? journal.suspend(record, run.openCalls) : run.spec.park(run, record));
    await announceOpenCalls(run);
  }
  run.addStep(result);
  if (toldLast(run, next)) tellLater(run, next);
  else {
    const told = tellStep(run, result, next);
    if (told) await told;
  }
  if (run.hasMoreToSay) await run.joinLater();
  return next;
}

async function commitStep(
  run: Run,
  step: StepBuilder,
  journal: RunJournal,
  { metadata, client }: ToolCallsOutcome,
  { next, room }: { next: "continue" | "stop"; room: boolean },
): Promise<Next> {
  const record = await finalRecord(run, step, metadata);
  const own = run.takeLater();
  let shown: AgentChunk[] = [];
  let objection: { thrown: unknown } | undefined;
  const signals = await journal.commitStep(record, {
    take: room && !client,
    next,
    own,
    endsNow: next === "stop" && !run.looksBack,
    async finish(joined) {
      if (joined && next === "stop") step.finishReason = "other";
      if (!joined && own.length === 0 && toldLast(run, next)) return [];
      try {
        shown = await run.stream.prepare(stepFinish(run, step.build(), joined ? "continue" : next));
      } catch (thrown) {
        // A processor's. It ends the run, not the commit of what was said before.
        objection = { thrown };
      }
      return shown;
    },
  });
  run.addStep(step.build());
  const joining = [...own, ...signals];
  if (joining.length === 0 && toldLast(run, next)) tellLater(run, next);
  else {
    await run.stream.reveal(shown);
    if (objection) throw (objection as { thrown: unknown }).thrown;
    if (run.spec.options.onStepFinish) await run.call("onStepFinish", run.steps.at(-1)!);
  }
  for (const signal of joining) await run.join(signal);
  if (run.hasMoreToSay) await run.joinLater();
  return signals.length > 0 ? "continue" : next;
}

/** The last step is announced after processors have seen the whole answer. */
function toldLast(run: Run, next: Next): boolean {
  return next === "stop" && run.pipeline.seesResult;
}

function tellLater(run: Run, next: Next): void {
  run.untold = async () => tellStep(run, run.steps.at(-1)!, next);
}

function converse(run: Run, step: StepBuilder): void {
  step.stored = true;
  if (step.listed) run.spec.list.invalidate();
  else run.spec.list.appendResponse(run.responseMessage(), step.parts);
}

/** Keeps what there is of a step that did not come to its end, marked as incomplete. No call is left without an answer. */
export async function storePartial(
  run: Run,
  step: StepBuilder,
  error: unknown,
  metadata?: Record<string, unknown>,
): Promise<void> {
  if (step.stored) return;
  const { runId } = run.spec;
  const end = run.aborted ? agentChunk("abort", runId, {}) : agentChunk("error", runId, { error });
  if (!step.breakOff(end)) return;
  step.finishReason = run.aborted ? "aborted" : "error";
  const record = await finalRecord(run, step, { ...metadata, incomplete: true });
  run.addStep(step.build());
  try {
    converse(run, step);
    await run.spec.journal?.commitStep(record, { take: false, next: "stop" });
  } catch (error) {
    run.spec.logger.error(`The partial answer of run ${run.spec.runId} could not be stored`, error);
  }
}

/** What processors said about a step that failed stays all the same. */
async function keepSignals(run: Run): Promise<void> {
  try {
    await run.joinLater();
  } catch (error) {
    run.spec.logger.error(`A signal of run ${run.spec.runId} could not be stored`, error);
  }
}

function tellStep(run: Run, step: StepResult, next: Next): Promise<void> | undefined {
  const told = run.stream.emit(stepFinish(run, step, next));
  if (!(told instanceof Promise) && !run.spec.options.onStepFinish) return undefined;
  return Promise.resolve(told).then(() => run.call("onStepFinish", step));
}

function stepFinish(run: Run, step: StepResult, next: Next): AgentChunk {
  const { finishReason, warnings, text, toolCalls, usage, providerMetadata } = step;
  return agentChunk("step-finish", run.spec.runId, {
    stepResult: { reason: finishReason, isContinued: next === "continue", warnings },
    output: { text, toolCalls: toolCalls.map(({ payload }) => payload), usage },
    metadata: providerMetadata ? { providerMetadata } : {},
  });
}

function currentResponse(run: Run): { content: { parts: MessagePart[] } } | undefined {
  return run.spec.list.get.response.db().findLast((message) => message.id === run.responseId);
}

function responseLength(run: Run): number {
  return currentResponse(run)?.content.parts.length ?? 0;
}

/** Equal for equal system messages: a change shows that the provider cannot use its prompt cache. */
function prefixHash(messages: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(messages)).digest("hex").slice(0, 16);
}

function startSpan(run: Run, settings: StepSettings): OpenSpan | undefined {
  const { telemetry } = run.spec;
  if (!telemetry) return undefined;
  const model = settings.candidates[0]?.model;
  return telemetry.start(
    `chat ${model?.modelId}`,
    {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": model?.provider,
      "gen_ai.request.model": model?.modelId,
      "selvedge.prompt.prefix_hash": prefixHash(run.spec.list.getSystemMessages()),
      ...(telemetry.recordInputs && { "gen_ai.input.messages": run.spec.list.get.all.model() }),
    },
    run.span,
  );
}

function endSpan(span: OpenSpan, step: StepBuilder | undefined): void {
  if (step)
    span.set({
      "gen_ai.response.finish_reasons": [step.finishReason],
      "gen_ai.usage.input_tokens": step.usage.inputTokens,
      "gen_ai.usage.output_tokens": step.usage.outputTokens,
    });
  span.end();
}
