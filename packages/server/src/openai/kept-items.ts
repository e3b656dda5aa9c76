import { FairTable } from "@selvedge/core/guards";

type Json = Record<string, unknown>;

/** Responses whose items are kept, in total and per resource. */
const RESPONSES = { total: 1000, each: 100 };
const MOST_CHARACTERS = 64 << 10;

/**
 * Items of responses that were not stored, by run. Clients refer to items they believe are stored, and for an agent
 * without memory only this process has them.
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
