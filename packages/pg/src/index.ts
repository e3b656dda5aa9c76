export { PgVector } from "./pg-vector.ts";
export type { PgVectorOptions, PgVectorQuery } from "./pg-vector.ts";
export type { PgIndexConfig } from "./index-config.ts";
export { PostgresStore } from "./store/postgres-store.ts";
export type { PostgresDurability, PostgresStoreOptions } from "./store/store-options.ts";
export { copyToPostgres, type CopyProgress } from "./store/copy-store.ts";
export { FILTER_PROMPT as PGVECTOR_PROMPT } from "@selvedge/core/vector";
