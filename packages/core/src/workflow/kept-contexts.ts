import { RequestContext } from "../request-context/request-context.ts";
import type { RunImage } from "./run-image.ts";

const MAX_CONTEXTS = 10_000;

/** Request contexts of runs that began here: the store has only the keys that may be stored. */
export class KeptContexts {
  readonly #contexts = new Map<string, RequestContext>();

  keep(runId: string, context: RequestContext): void {
    if (context.size() === 0) return;
    this.#contexts.set(runId, context);
    // If another process continues the run, it is never needed again.
    if (this.#contexts.size > MAX_CONTEXTS) this.#contexts.delete(this.#contexts.keys().next().value!);
  }

  of({ runId, requestContext }: Pick<RunImage, "runId" | "requestContext">): RequestContext {
    return this.#contexts.get(runId) ?? new RequestContext(requestContext);
  }

  forget(runId: string): void {
    this.#contexts.delete(runId);
  }
}

/** The context of a run with that of a call that continues it, whose values win. */
export function mergedContext(known: RequestContext, given: RequestContext): RequestContext {
  if (known.size() === 0) return given;
  return new RequestContext([...known.entries(), ...given.entries()]);
}
