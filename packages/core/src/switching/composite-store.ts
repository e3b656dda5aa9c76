import { AgentError } from "../errors.ts";
import { defaultLogger } from "../logger.ts";
import { Storage } from "../storage/storage.ts";

export interface CompositeStoreOptions {
  id?: string;
  /** The store for everything. */
  default?: Storage;
  /** A store named here is used if there is no `default`. */
  domains?: Record<string, unknown>;
}

/**
 * For programs that put domains into different databases. Here a thread, its messages, its runs and its inbox are
 * committed together, so all of them are in one store: `default`, or the first store among `domains`.
 */
export const MastraCompositeStore: new (options: CompositeStoreOptions) => Storage = function choose(
  options: CompositeStoreOptions,
): Storage {
  const given = Object.entries(options?.domains ?? {}).filter(([, store]) => store instanceof Storage);
  const chosen = options?.default ?? (given[0]?.[1] as Storage | undefined);
  if (!chosen)
    throw new AgentError(
      "invalid-argument",
      "A composite store needs a store: new MastraCompositeStore({ default: new LibSQLStore({ url }) }).",
    );
  const apart = given.filter(([, store]) => store !== chosen).map(([name]) => name);
  if (apart.length > 0)
    defaultLogger.warn(`Everything is kept in one store. The stores for ${apart.join(", ")} are not used.`);
  return chosen;
} as never;
