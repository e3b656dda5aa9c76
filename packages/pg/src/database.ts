import { AgentError } from "@selvedge/core/errors";
import type { Pool, PoolClient, PoolConfig } from "pg";
import { codeOf, isTransient, toPgError } from "./to-pg-error.ts";

const TRIES = 6;

/** Where the tables are. The owner of a given `pool` closes it. */
export interface DatabaseOptions {
  connectionString?: string;
  pool?: Pool;
  /** Any other `pg` option: host, port, user, ssl, max, statement_timeout, … */
  poolConfig?: PoolConfig;
  prepare: (client: PoolClient) => Promise<void>;
}

/** A pool opened on first use, with transactions that are retried after a conflict. */
export class Database {
  readonly #options: DatabaseOptions;
  #pool: Promise<Pool> | undefined;
  #isClosed = false;

  constructor(options: DatabaseOptions) {
    if (options.connectionString === undefined && !options.pool && !options.poolConfig) {
      throw new AgentError(
        "invalid-argument",
        'PgVector needs a connectionString such as "postgresql://user:password@localhost:5432/app", or a pool',
      );
    }
    this.#options = options;
  }

  /** `begin` may do more than BEGIN, such as settings for this transaction. */
  async transaction<T>(work: (client: PoolClient) => Promise<T>, begin = "BEGIN"): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(await this.#open(), work, begin);
      } catch (error) {
        if (!isTransient(error) || attempt === TRIES) throw toPgError(error);
      }
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const pool = await this.#pool?.catch(() => undefined);
    if (!this.#options.pool) await pool?.end();
  }

  async #once<T>(pool: Pool, work: (client: PoolClient) => Promise<T>, begin: string): Promise<T> {
    const client = await pool.connect();
    let isBroken = false;
    // A connection may break between two statements; without a listener that would end the process.
    const onError = (): void => {
      isBroken = true;
    };
    client.on("error", onError);
    try {
      await client.query(begin);
      const result = await work(client);
      await client.query("COMMIT");
      return result;
    } catch (error) {
      await client.query("ROLLBACK").catch(() => {
        isBroken = true;
      });
      throw error;
    } finally {
      client.off("error", onError);
      client.release(isBroken);
    }
  }

  #open(): Promise<Pool> {
    if (this.#isClosed) throw new AgentError("storage-closed", "This PgVector is closed");
    this.#pool ??= this.#start().catch((error: unknown) => {
      this.#pool = undefined;
      throw error;
    });
    return this.#pool;
  }

  async #start(): Promise<Pool> {
    const { connectionString, poolConfig, prepare } = this.#options;
    const pool =
      this.#options.pool ??
      (await createPool({ connectionTimeoutMillis: 10_000, connectionString, ...poolConfig }));
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          await this.#once(pool, prepare, "BEGIN");
          return pool;
        } catch (error) {
          if (!isTransient(error) || attempt === TRIES) throw error;
        }
      }
    } catch (error) {
      if (!this.#options.pool) await pool.end();
      throw ["58P01", "0A000"].includes(codeOf(error))
        ? new AgentError(
            "not-supported",
            "This PostgreSQL has no pgvector. Install it (on Debian: apt-get install postgresql-<version>-pgvector) " +
              "or use a service that includes it",
            { cause: error },
          )
        : toPgError(error);
    }
  }
}

async function createPool(config: PoolConfig): Promise<Pool> {
  const { default: pg } = await import("pg");
  const pool = new pg.Pool(config);
  // A connection that breaks while idle leaves the pool; without a listener it would end the process.
  pool.on("error", () => {});
  return pool;
}
