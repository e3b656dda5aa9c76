import { AgentError, errorMessage } from "@selvedge/core/errors";
import { backoff } from "@selvedge/core/guards";
import { realSystem, sleep, type System } from "@selvedge/core/storage";
import type { Embedder } from "@selvedge/core/vector";

const RETRIES = 2;
const FIRST_WAIT_MS = 200;

/** Embeds a query. A failing embedder is retried twice, unless its error is not retryable. */
export async function embedQuery(
  embedder: Embedder,
  queryText: string,
  { abortSignal, system = realSystem }: { abortSignal?: AbortSignal | undefined; system?: System } = {},
): Promise<number[]> {
  for (let attempt = 0; ; attempt++) {
    abortSignal?.throwIfAborted();
    try {
      const [vector] = await embedder.embed([queryText], abortSignal ? { abortSignal } : {});
      if (Array.isArray(vector) && vector.length > 0) return vector;
      throw new AgentError("model-failed", `Embedder ${embedder.id} returned no vector for the query`);
    } catch (error) {
      abortSignal?.throwIfAborted();
      const isFinal = AgentError.is(error) && !error.retryable;
      if (isFinal) throw error;
      if (attempt >= RETRIES) {
        throw new AgentError(
          "model-failed",
          `The query could not be embedded by ${embedder.id}: ${errorMessage(error)}`,
          {
            cause: error,
          },
        );
      }
      await sleep(
        system,
        backoff(attempt, system.random(), { firstMs: FIRST_WAIT_MS, jitter: 0.5 }),
        abortSignal,
      );
    }
  }
}
