import { FairTable } from "@selvedge/core/guards";

type Json = Record<string, unknown>;

/** Responses whose items are kept, in all and of one resource. */
const RESPONSES = { total: 1000, each: 100 };
const MOST_CHARACTERS = 64 << 10;

/**
 * The items of responses that had nowhere to be stored, by run. Clients refer to what they take to be stored, and for an
 * agent without memory this process is the only place that knows it.
 */
export class KeptItems {
  readonly #table = new FairTable<{ owner: string; items: readonly Json[] }>(RESPONSES);

  get(runId: string): { owner: string; items: readonly Json[] } | undefined {
    return this.#table.get(runId);
  }

  keep(runId: string, owner: string, items: readonly Json[]): void {
    if (JSON.stringify(items).length <= MOST_CHARACTERS) this.#table.set(runId, owner, { owner, items });
  }
}
