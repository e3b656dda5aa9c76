import { AgentError } from "@selvedge/client-js";

/** Whether the server is unreachable or temporarily unavailable. */
export function isPassing(error: unknown): boolean {
  return AgentError.is(error) && (error.retryable || error.status >= 500) && error.status !== 501;
}
