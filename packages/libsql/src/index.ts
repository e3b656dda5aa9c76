export { LibSQLStore } from "./libsql-store.ts";
export type { LibSQLStoreOptions } from "./libsql-store.ts";
export { LibSQLVector } from "./libsql-vector.ts";
export type { LibSQLVectorOptions } from "./libsql-vector.ts";
export type { Durability } from "./connection.ts";
export { FILTER_PROMPT as LIBSQL_PROMPT } from "@selvedge/core/vector";
