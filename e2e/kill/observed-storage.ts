import { type Commit, type CommitOutcome, Storage, type StorageDriver } from "@selvedge/core/storage";

/** Called around the operations of a store. A hook that ends the process never returns. */
export interface StoreHooks {
  select?(): void;
  beforeCommit(commits: readonly Commit[]): void;
  afterCommit(commits: readonly Commit[]): void;
}

/** The same store, with hooks around its operations. */
export function observedStorage(store: Storage, hooks: StoreHooks): Storage {
  const driver: StorageDriver = {
    flushMs: store.flushMs,
    migrate: () => store.init(),
    addTables: (tables) =>
      store.domain({ name: tables.map(({ name }) => name).join(), version: 1, tables, open: () => {} }),
    async select(queries) {
      hooks.select?.();
      return [...(await store.selectAll(queries))];
    },
    count: (query) => store.count(query),
    async commit(commits): Promise<CommitOutcome[]> {
      hooks.beforeCommit(commits);
      const outcomes = await store.commitAll(commits);
      hooks.afterCommit(commits);
      return outcomes;
    },
    watch: (onChange) => store.watch(onChange),
    close: () => store.close(),
    selectMentioning: (query, terms) => store.selectMentioning(query, terms),
    ownerId: () => store.ownerId(),
    isOwnerDead: (ownerId) => store.isOwnerDead(ownerId),
  };
  return new Storage(driver, { id: store.id });
}
