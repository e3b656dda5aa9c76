import { AgentError } from "@selvedge/core/errors";
import type { Storage, ThreadDomain } from "@selvedge/core/storage";

/** A store, or its threads. */
export type ThreadSource = Storage | ThreadDomain;

/** The threads of a store, opened on first use. */
export function threadDomainOf(source: ThreadSource | undefined, owner: string): () => Promise<ThreadDomain> {
  return async () => {
    const store = source && "getStore" in source ? await source.getStore("memory") : source;
    if (store) return store;
    throw new AgentError(
      "storage-required",
      `${owner} has no store for threads and messages. Pass one as \`storage\`, such as new LibSQLStore({ url }).`,
    );
  };
}
