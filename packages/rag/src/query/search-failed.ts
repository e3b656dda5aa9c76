import { AgentError, errorMessage } from "@selvedge/core/errors";

/** Wraps a store's error with its location; our own errors already have it. */
export function searchFailed(indexName: string, error: unknown): AgentError {
  if (AgentError.is(error)) return error;
  return new AgentError("storage-failed", `Searching the index ${indexName} failed: ${errorMessage(error)}`, {
    cause: error,
  });
}
