export { PgVector } from "./pg-vector.ts";
export type { PgVectorOptions, PgVectorQuery } from "./pg-vector.ts";
export type { PgIndexConfig } from "./index-config.ts";
