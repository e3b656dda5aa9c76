import { AgentError, errorMessage } from "@selvedge/core/errors";

/** What a store threw, with the place it happened at; our own errors say that already. */
export function searchFailed(indexName: string, error: unknown): AgentError {
  if (AgentError.is(error)) return error;
  return new AgentError("storage-failed", `Searching the index ${indexName} failed: ${errorMessage(error)}`, {
    cause: error,
  });
}
