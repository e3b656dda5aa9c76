import { AgentError, errorMessage } from "@selvedge/core/errors";
import type { Telemetry } from "@selvedge/core/memory";
import { isRetryable } from "@selvedge/core/model";
import { OM_JOBS, type OmJobRow, update, type Write } from "@selvedge/core/storage";
import { failedChunk } from "./job-chunks.ts";
import { type JobContext, type JobReport, UnusableAnswer } from "./job-context.ts";
import { observe } from "./observe-job.ts";
import type { OmHookStart } from "./om-options.ts";
import { publish } from "./publish.ts";
import { reflect } from "./reflect-job.ts";
import { renew } from "./renew-job.ts";

const WORK = { observe, reflect, renew };
const RETRIES = 8;
const LONGEST_DELAY_S = 120;
const LONGEST_ERROR = 1_000;

/** Carries out a job that this process has taken, and stores the outcome. Throws only if the store does. */
export async function carryOut(job: OmJobRow, context: JobContext): Promise<void> {
  const { server, abortSignal } = context;
  const { hooks } = server.config;
  const isObservation = job.kind !== "reflect";
  const facts: OmHookStart = {
    threadId: job.source,
    resourceId: job.source_resource,
    trigger: job.waited === 1 ? "turn-sync" : "async-buffer",
  };
  const call = async (hook: ((args: never) => unknown) | undefined, args: object): Promise<void> => {
    try {
      await hook?.(args as never);
    } catch (error) {
      server.warn(`A hook of observational memory threw (thread "${job.source}").`, error);
    }
  };
  await call(isObservation ? hooks.onObservationStart : hooks.onReflectionStart, facts);
  let report: JobReport | undefined;
  let failure: unknown;
  const span = await startSpan(job, context);
  try {
    report = await WORK[job.kind](job, context);
    span?.set({
      "gen_ai.request.model": report?.model,
      "gen_ai.usage.input_tokens": report?.usage.inputTokens,
      "gen_ai.usage.output_tokens": report?.usage.outputTokens,
      "selvedge.om.outcome": "done",
    });
  } catch (error) {
    span?.set({ "selvedge.om.outcome": "failed" });
    span?.fail(error);
    if (abortSignal.aborted || isOfStore(error)) throw error;
    failure = error;
    await fail(job, context, error);
  } finally {
    span?.end();
  }
  await call(isObservation ? hooks.onObservationEnd : hooks.onReflectionEnd, {
    ...facts,
    ...(report && { usage: report.usage, providerMetadata: report.providerMetadata }),
    ...(failure !== undefined && { error: failure }),
  });
}

/** The span of one attempt. Telemetry that cannot be had changes nothing. */
async function startSpan(
  job: OmJobRow,
  { agent }: JobContext,
): Promise<ReturnType<Telemetry["start"]> | undefined> {
  const telemetry = await agent.telemetry?.().catch(() => undefined);
  return telemetry?.start(`observational_memory ${job.kind}`, {
    "gen_ai.agent.id": agent.id,
    "gen_ai.conversation.id": job.source,
    "selvedge.om.cycle_id": job.cycle_id,
    "selvedge.om.attempt": job.attempt,
    "selvedge.om.input_tokens": job.tokens,
  });
}

async function fail(job: OmJobRow, { server, threads, limits }: JobContext, error: unknown): Promise<void> {
  const { system, logger } = threads;
  const now = Math.trunc(system.now());
  const text = errorMessage(error).slice(0, LONGEST_ERROR);
  const what = `${job.kind === "reflect" ? "A reflection" : "An observation"} of thread "${job.source}" failed.`;
  const attempted = job.most ?? Math.min(job.tokens, limits.messageTokens);
  const isTooLong = job.kind === "observe" && isContextTooLong(error) && attempted > 1;
  const retries =
    isTooLong || (job.attempt <= RETRIES && !(error instanceof UnusableAnswer) && mayPass(error));
  const delay = isTooLong ? 0 : retryDelayMs(job.attempt, system.random());
  const set: Partial<OmJobRow> = retries
    ? { state: "waiting", due_at: now + delay, ...(isTooLong && { most: Math.ceil(attempted / 2) }) }
    : { state: "failed" };
  const { thread_id, source, number } = job;
  // Later jobs wait for it, or for the next attempt.
  const later: Write = update(OM_JOBS, {
    where: { thread_id, source, kind: "observe", state: "waiting", number: { gt: number } },
    set: { state: set.state!, ...(set.due_at !== undefined && { due_at: set.due_at }) },
  });
  const stored = await publish(
    threads,
    job,
    [failedChunk(job, now, text)],
    [
      update(OM_JOBS, {
        where: { thread_id, id: job.id, owner: job.owner, fence: job.fence, state: "running" },
        set: { ...set, owner: null, last_error: text },
        require: true,
      }),
      ...(job.kind === "observe" ? [later] : []),
    ],
  );
  if (stored) server.warn(what, error);
  else logger.warn(`${what} Another process has taken over the job.`);
}

/** 1, 2, 4 … 120 seconds, plus or minus a fifth. */
function retryDelayMs(attempt: number, random: number): number {
  const seconds = Math.min(LONGEST_DELAY_S, 2 ** Math.max(0, attempt - 1));
  return Math.round(seconds * 1_000 * (0.8 + 0.4 * random));
}

/** Whether a retry may help: transport errors, 408, 425, 429 and 5xx. */
function mayPass(error: unknown): boolean {
  if (AgentError.is(error, "model-incomplete") || AgentError.is(error, "model-timeout")) return true;
  if (AgentError.is(error, "model-failed")) return error.cause === undefined || isRetryable(error.cause);
  return isRetryable(error);
}

const TOO_LONG =
  /context.{0,20}(length|window|limit)|too (many|long).{0,20}tokens|maximum.{0,20}tokens|(prompt|input) is too long|input token count/i;

function isContextTooLong(error: unknown): boolean {
  for (let one: unknown = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++) {
    if (TOO_LONG.test(one.message)) return true;
  }
  return false;
}

function isOfStore(error: unknown): boolean {
  return AgentError.is(error, "storage-closed") || AgentError.is(error, "storage-failed");
}
