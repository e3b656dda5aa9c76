import type { Domain } from "../storage/domain.ts";
import type { Storage } from "../storage/storage.ts";
import type { Table } from "../storage/table.ts";
import { insert, remove } from "../storage/writes.ts";
import type { ResponseCacheStore } from "./response-cache.ts";

type CacheRow = { key: string; value: string; expires_at: number };

const REPLIES: Table<CacheRow> = {
  name: "selvedge_response_cache",
  columns: { key: "text", value: "text", expires_at: "integer" },
  key: ["key"],
  partition: "key",
  indexes: [{ columns: ["expires_at"] }],
};

const DOMAIN: Domain<ResponseCacheStore> = {
  name: "response-cache",
  version: 1,
  tables: [REPLIES],
  open: (storage, system) => ({
    async get(key) {
      const where = { key, expires_at: { gt: Math.trunc(system.now()) } };
      return (await storage.select({ table: REPLIES, where, limit: 1 }))[0]?.value;
    },
    async set(key, value, ttlMs) {
      const now = Math.trunc(system.now());
      await storage.commit([
        remove(REPLIES, { expires_at: { lt: now } }),
        insert(REPLIES, { key, value, expires_at: now + Math.ceil(ttlMs) }, "update"),
      ]);
    },
  }),
};

/** Caches replies in a store, for several processes. Expired ones are deleted when another one is stored. */
export class StoredResponseCache implements ResponseCacheStore {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  async get(key: string): Promise<string | undefined | null> {
    return (await this.#storage.domain(DOMAIN)).get(key);
  }

  async set(key: string, value: string, ttlMs: number): Promise<void> {
    await (await this.#storage.domain(DOMAIN)).set(key, value, ttlMs);
  }
}
