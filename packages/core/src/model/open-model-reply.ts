import { AgentError } from "../errors.ts";
import { sleep, type System } from "../system.ts";
import { failureReason } from "./failure-reason.ts";
import { ModelAttempt } from "./model-attempt.ts";
import { modelName } from "./model-name.ts";
import type { ModelCallOptions, ModelCandidate, ModelLimits, ModelReply } from "./model.ts";
import { isRetryable, retryDelay } from "./retry-policy.ts";

/** A call that failed before any output, and what is tried instead. */
export interface ModelRetry {
  readonly failed: ModelCandidate;
  readonly next: ModelCandidate;
  readonly error: unknown;
  /** How often `failed` has been called. */
  readonly attempts: number;
  readonly delayMs: number;
}

export interface OpenModelReplySettings {
  limits: ModelLimits;
  /** Retries for candidates that set no number. */
  maxRetries: number;
  system: System;
  /** For the limits. Default: those of the system. */
  timers?: Pick<System, "setTimer"> | undefined;
  abortSignal?: AbortSignal | undefined;
  onRetry?: ((retry: ModelRetry) => void) | undefined;
}

/**
 * The reply of the first candidate that starts one. Failures before the first output are retried, then the next
 * candidate is tried; after the first output nothing is retried.
 *
 * Throws `model-failed` if no candidate responds (`model-timeout` if all of them were silent), and the reason of
 * `abortSignal` as soon as it aborts.
 */
export async function openModelReply(
  candidates: readonly ModelCandidate[],
  buildOptions: (candidate: ModelCandidate) => ModelCallOptions,
  settings: OpenModelReplySettings,
): Promise<ModelReply> {
  const { limits, system, timers = system, abortSignal, onRetry } = settings;
  const failures: Failure[] = [];
  for (let index = 0; index < candidates.length; index++) {
    const candidate = candidates[index]!;
    const options = buildOptions(candidate);
    const retries = candidate.maxRetries ?? candidate.modelSettings?.maxRetries ?? settings.maxRetries;
    for (let attempts = 1; ; attempts++) {
      abortSignal?.throwIfAborted();
      const attempt = new ModelAttempt(candidate, { system, timers, limits, abortSignal });
      try {
        await attempt.open(options);
        return attempt;
      } catch (error) {
        abortSignal?.throwIfAborted();
        if (attempts <= retries && isRetryable(error)) {
          const delayMs = retryDelay(error, attempts, system);
          onRetry?.({ failed: candidate, next: candidate, error, attempts, delayMs });
          await sleep(system, delayMs, abortSignal);
          continue;
        }
        failures.push({ candidate, error, attempts });
        const next = candidates[index + 1];
        if (next) onRetry?.({ failed: candidate, next, error, attempts, delayMs: 0 });
        break;
      }
    }
  }
  throw allFailed(failures);
}

interface Failure {
  candidate: ModelCandidate;
  error: unknown;
  attempts: number;
}

function allFailed(failures: Failure[]): AgentError {
  const last = failures.at(-1);
  if (!last)
    return new AgentError("invalid-argument", "There is no model to call: the list of candidates is empty.");
  const reasons = failures.map(({ candidate, error, attempts }) => {
    const calls = attempts === 1 ? "" : ` (${attempts} calls)`;
    return `${modelName(candidate.model)}${calls}: ${failureReason(error, candidate)}`;
  });
  const silent = failures.every(({ error }) => AgentError.is(error, "model-timeout"));
  const message =
    reasons.length === 1 ? `The model failed. ${reasons[0]}` : `All models failed. ${reasons.join(" | ")}`;
  return new AgentError(silent ? "model-timeout" : "model-failed", message, {
    cause: last.error,
    details: { models: failures.map(({ candidate }) => modelName(candidate.model)) },
  });
}
