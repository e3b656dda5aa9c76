import { AgentError, errorMessage } from "@selvedge/protocol";

export { AgentError, errorMessage, showValue, toolErrorCode, UNEXPECTED_CODES } from "@selvedge/protocol";

/** What a store threw, in our words. */
export function storageError(thrown: unknown): AgentError {
  if (AgentError.is(thrown)) return thrown;
  return new AgentError("storage-failed", `The store failed: ${errorMessage(thrown)}`, { cause: thrown });
}
