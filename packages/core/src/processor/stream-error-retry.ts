import { sleep } from "../system.ts";
import { causesOf } from "./error-causes.ts";
import { OptionChecks } from "./option-checks.ts";
import type { ProcessAPIErrorArgs, Processor } from "./processor.ts";

type Delay = number | ((retry: { attempt: number; error: unknown }) => number);

export interface StreamErrorMatcher {
  match: (error: unknown) => boolean;
  /** Overrides the processor's own. */
  maxRetries?: number;
  delayMs?: Delay;
  onRetry?: (retry: { attempt: number; error: unknown; delayMs: number }) => unknown;
}

export interface StreamErrorRetryOptions {
  /** How often a step is retried. Default: 1. */
  maxRetries?: number;
  /** Errors to retry, besides those marked as retryable. */
  matchers?: (((error: unknown) => boolean) | StreamErrorMatcher)[];
  /** Also retry unknown errors, except authorization errors. */
  retryUnknownErrors?: boolean;
  /** The delay before a retry. */
  delayMs?: Delay;
  /** The longest delay a provider may ask for, in milliseconds. Default: 30,000. */
  maxRetryAfterMs?: number;
}

/** Codes of temporary errors that OpenAI puts on its stream. */
const PASSING = new Set([
  "server_error",
  "rate_limit_exceeded",
  "overloaded_error",
  "internal_server_error",
  "service_unavailable",
  "timeout",
]);

/** Retries a rejected model call, but only one without any output: what a reader has seen is never sent twice. */
export class StreamErrorRetryProcessor implements Processor {
  readonly id = "stream-error-retry-processor";
  readonly #maxRetries: number;
  readonly #matchers: StreamErrorMatcher[];
  readonly #retriesUnknown: boolean;
  readonly #delay: Delay;
  readonly #maxRetryAfterMs: number;

  constructor(options: StreamErrorRetryOptions = {}) {
    const check = new OptionChecks("StreamErrorRetryProcessor");
    const { maxRetries = 1, matchers = [], retryUnknownErrors = false, delayMs = 0 } = options;
    if (!Array.isArray(matchers)) check.refuse("matchers", matchers, "a list");
    this.#maxRetries = check.integer("maxRetries", maxRetries, 0);
    this.#matchers = matchers.map((given, index) => toMatcher(check, given, `matchers[${index}]`));
    this.#retriesUnknown = check.boolean("retryUnknownErrors", retryUnknownErrors);
    this.#delay = checkDelay(check, "delayMs", delayMs);
    this.#maxRetryAfterMs = check.number("maxRetryAfterMs", options.maxRetryAfterMs ?? 30_000, 0);
  }

  async processAPIError(args: ProcessAPIErrorArgs): Promise<{ retry: boolean }> {
    const { error, state, stepNumber, system, abortSignal, logger } = args;
    const causes = causesOf(error);
    if (causes.some(isUnauthorized)) return { retry: false };
    const matcher = this.#matchers.find(({ match }) => causes.some((cause) => match(cause)));
    if (!matcher && !this.#retriesUnknown && !causes.some(isPassing)) return { retry: false };
    const made = (state["retries"] ??= new Map()) as Map<number, number>;
    const attempt = (made.get(stepNumber) ?? 0) + 1;
    if (attempt > (matcher?.maxRetries ?? this.#maxRetries)) return { retry: false };
    made.set(stepNumber, attempt);
    const wanted = matcher?.delayMs ?? this.#delay;
    const own = typeof wanted === "function" ? wanted({ attempt, error }) : wanted;
    const asked = Math.min(this.#maxRetryAfterMs, Math.max(0, ...causes.map(retryAfter)));
    const delayMs = Math.max(own, asked);
    try {
      await matcher?.onRetry?.({ attempt, error, delayMs });
    } catch (thrown) {
      logger.warn(`onRetry of processor "${this.id}" threw`, thrown);
    }
    if (delayMs > 0) await sleep(system, delayMs, abortSignal);
    return { retry: true };
  }
}

function toMatcher(check: OptionChecks, given: unknown, path: string): StreamErrorMatcher {
  if (typeof given === "function") return { match: given as StreamErrorMatcher["match"] };
  const matcher = Object(given) as StreamErrorMatcher;
  if (typeof matcher.match !== "function") check.refuse(path, given, "a function or { match }");
  if (matcher.maxRetries !== undefined) check.integer(`${path}.maxRetries`, matcher.maxRetries, 0);
  if (matcher.delayMs !== undefined) checkDelay(check, `${path}.delayMs`, matcher.delayMs);
  check.func(`${path}.onRetry`, matcher.onRetry);
  return matcher;
}

function checkDelay(check: OptionChecks, path: string, delay: Delay): Delay {
  return typeof delay === "function" ? delay : check.number(path, delay, 0);
}

function isUnauthorized(error: unknown): boolean {
  const { statusCode } = Object(error) as { statusCode?: unknown };
  return statusCode === 401 || statusCode === 403;
}

function isPassing(error: unknown): boolean {
  const { isRetryable, code, type } = Object(error) as Record<string, unknown>;
  return isRetryable === true || PASSING.has(String(code)) || PASSING.has(String(type));
}

/** The delay the provider asks for, in milliseconds. */
function retryAfter(error: unknown): number {
  const { responseHeaders } = Object(error) as { responseHeaders?: Record<string, string> };
  const ms = Number(responseHeaders?.["retry-after-ms"]);
  if (ms > 0) return ms;
  const seconds = Number(responseHeaders?.["retry-after"]);
  return seconds > 0 ? seconds * 1000 : 0;
}
