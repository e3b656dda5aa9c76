import { backoff } from "@selvedge/protocol";
import { AgentError, errorMessage } from "../errors.ts";
import type { System } from "../system.ts";

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** The longest wait a provider may ask for. */
const LONGEST_RETRY_AFTER_MS = 60_000;

const NETWORK_CODES: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_SOCKET",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);

/** A reply that failed after the provider accepted the request and before any output. */
export class ModelStreamError extends Error {
  constructor(what: string, cause: unknown) {
    super(cause === undefined ? `the stream ${what}` : `the stream ${what}: ${errorMessage(cause)}`, {
      cause,
    });
    this.name = "ModelStreamError";
  }
}

/** The relevant fields of the AI SDK's `APICallError`, read by shape so that any copy of that package works. */
interface ErrorShape {
  isRetryable?: unknown;
  statusCode?: unknown;
  status?: unknown;
  code?: unknown;
  cause?: unknown;
  message?: unknown;
  responseHeaders?: unknown;
}

/** Whether the same call may succeed a little later. */
export function isRetryable(error: unknown): boolean {
  if (AgentError.is(error)) return error.retryable;
  // Providers report overload and broken connections in the stream; there, only a clear refusal is final.
  if (error instanceof ModelStreamError) return judge(error.cause) ?? true;
  return judge(error) ?? false;
}

function judge(error: unknown, depth = 0): boolean | undefined {
  if (typeof error !== "object" || error === null || depth > 4) return undefined;
  const { isRetryable: flag, statusCode, status, code, cause, message } = error as ErrorShape;
  if (typeof flag === "boolean") return flag;
  for (const number of [statusCode, status, code]) {
    if (typeof number === "number" && number >= 400 && number < 600) {
      return number === 408 || number === 409 || number === 429 || number >= 500;
    }
  }
  if (typeof code === "string" && NETWORK_CODES.has(code)) return true;
  if (error instanceof TypeError && (message === "fetch failed" || message === "terminated")) return true;
  return judge(cause, depth + 1);
}

/**
 * The delay before retry number `attempt` (from 1): what the provider asks for, otherwise back-off with full jitter.
 */
export function retryDelay(error: unknown, attempt: number, system: System): number {
  const asked = retryAfter(error, system);
  if (asked !== undefined) return Math.min(asked, LONGEST_RETRY_AFTER_MS);
  return backoff(attempt, system.random(), { firstMs: FIRST_DELAY_MS, capMs: LONGEST_DELAY_MS });
}

function retryAfter(error: unknown, system: System): number | undefined {
  const headers = responseHeaders(error instanceof ModelStreamError ? error.cause : error);
  if (!headers) return undefined;
  const ms = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (ms >= 0) return ms;
  const value = headers["retry-after"];
  if (value === undefined) return undefined;
  const seconds = Number(value);
  const wait = Number.isNaN(seconds) ? Date.parse(value) - system.now() : seconds * 1000;
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

function responseHeaders(error: unknown): Record<string, string | undefined> | undefined {
  const headers = (error as ErrorShape | null | undefined)?.responseHeaders;
  return typeof headers === "object" && headers !== null ? (headers as Record<string, string>) : undefined;
}
