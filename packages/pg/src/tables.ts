import { AgentError } from "@selvedge/core/errors";
import { noSuchIndex, type VectorMetric } from "@selvedge/core/vector";
import type { PoolClient } from "pg";
import { checkSchemaName } from "./check-schema-name.ts";
import { indexedExpression, OPERATORS, type BuiltIndex } from "./index-config.ts";

/** A row of the registry. */
export interface IndexRow {
  number: number;
  dimension: number;
  metric: VectorMetric;
  language: string;
  built: BuiltIndex;
  /** Incremented with every change to the index. A bigint, which the driver returns as text. */
  revision: string;
}

/** Two processes that start at once would create the same tables; the second waits here. */
const LOCK = 7_353_486_201;

/**
 * The tables: a registry, and one per index. They are numbered, so an index may have any name and no name ever appears
 * in a statement.
 */
export class Tables {
  readonly #schema: string;
  extensionVersion = "";

  constructor(schemaName: string) {
    this.#schema = `"${checkSchemaName(schemaName)}"`;
  }

  entries({ number }: { number: number }): string {
    return `${this.#schema}.selvedge_vectors_${number}`;
  }

  async prepare(client: PoolClient): Promise<void> {
    await client.query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
    // Only if they are absent: the user may lack the right to create them.
    const { rows } = await client.query<{
      version: string | null;
      registry: string | null;
      has_schema: boolean;
    }>(
      "SELECT (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS version, " +
        "to_regclass($1)::text AS registry, to_regnamespace($2) IS NOT NULL AS has_schema",
      [`${this.#schema}.selvedge_vector_indexes`, this.#schema],
    );
    const state = rows[0]!;
    if (state.version === null) await client.query("CREATE EXTENSION vector");
    if (!state.has_schema) await client.query(`CREATE SCHEMA ${this.#schema}`);
    if (state.registry === null) {
      await client.query(
        `CREATE TABLE ${this.#registry} (number serial PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE, ` +
          "dimension integer NOT NULL, metric text NOT NULL, language text NOT NULL, built jsonb NOT NULL, " +
          "revision bigint NOT NULL DEFAULT 0)",
      );
    }
    const { rows: extension } = await client.query<{ extversion: string }>(
      "SELECT extversion FROM pg_extension WHERE extname = 'vector'",
    );
    this.extensionVersion = extension[0]!.extversion;
  }

  async find(client: PoolClient, indexName: string): Promise<IndexRow | undefined> {
    const { rows } = await client.query<IndexRow>(
      `SELECT number, dimension, metric, language, built, revision FROM ${this.#registry} WHERE name = $1`,
      [indexName],
    );
    return rows[0];
  }

  async list(client: PoolClient): Promise<string[]> {
    const { rows } = await client.query<{ name: string }>(`SELECT name FROM ${this.#registry} ORDER BY name`);
    return rows.map(({ name }) => name);
  }

  /** Throws the driver's unique violation if another process was faster; the transaction is then retried. */
  async create(
    client: PoolClient,
    index: { indexName: string; dimension: number; metric: VectorMetric; language: string },
  ): Promise<IndexRow> {
    await checkLanguage(client, index.language);
    const { rows } = await client.query<IndexRow>(
      `INSERT INTO ${this.#registry} (name, dimension, metric, language, built) VALUES ($1, $2, $3, $4, '{"type":"flat"}') ` +
        "RETURNING number, dimension, metric, language, built, revision",
      [index.indexName, index.dimension, index.metric, index.language],
    );
    const row = rows[0]!;
    await client.query(
      `CREATE TABLE ${this.entries(row)} (id text COLLATE "C" PRIMARY KEY, vector vector(${row.dimension}) NOT NULL, ` +
        "metadata jsonb, document text, words tsvector NOT NULL, word_count integer NOT NULL)",
    );
    await client.query(
      `CREATE INDEX selvedge_vectors_${row.number}_words ON ${this.entries(row)} USING gin (words)`,
    );
    await client.query(
      `CREATE INDEX selvedge_vectors_${row.number}_metadata ON ${this.entries(row)} USING gin (metadata jsonb_path_ops)`,
    );
    return row;
  }

  /** Locks the table first, as writers do, then the row; the other order could deadlock. */
  async drop(client: PoolClient, indexName: string): Promise<void> {
    const index = await this.find(client, indexName);
    if (!index) return;
    await client.query(`DROP TABLE IF EXISTS ${this.entries(index)}`);
    await client.query(`DELETE FROM ${this.#registry} WHERE number = $1`, [index.number]);
  }

  async build(client: PoolClient, index: IndexRow, config: BuiltIndex): Promise<void> {
    const name = `selvedge_vectors_${index.number}_near`;
    await client.query(`DROP INDEX IF EXISTS ${this.#schema}.${name}`);
    const built = { ...config };
    if (built.type === "ivfflat") built.lists ??= await this.#listsFor(client, index);
    if (built.type !== "flat") {
      const { column, type } = indexedExpression(index.dimension);
      const options =
        built.type === "hnsw"
          ? `m = ${built.m}, ef_construction = ${built.efConstruction}`
          : `lists = ${built.lists}`;
      await client.query(
        `CREATE INDEX ${name} ON ${this.entries(index)} USING ${built.type} ` +
          `(${column} ${type}_${OPERATORS[index.metric].ops}) WITH (${options})`,
      );
    }
    await client.query(`UPDATE ${this.#registry} SET built = $1::jsonb WHERE number = $2`, [
      JSON.stringify(built),
      index.number,
    ]);
  }

  /** The last step of a change: the row is locked only until the commit that follows. */
  async changed(client: PoolClient, index: IndexRow, indexName: string): Promise<void> {
    const { rowCount } = await client.query(
      `UPDATE ${this.#registry} SET revision = revision + 1 WHERE number = $1`,
      [index.number],
    );
    if (rowCount === 0) throw noSuchIndex(indexName);
  }

  get #registry(): string {
    return `${this.#schema}.selvedge_vector_indexes`;
  }

  async #listsFor(client: PoolClient, index: IndexRow): Promise<number> {
    const { rows } = await client.query<{ n: string }>(`SELECT count(*) AS n FROM ${this.entries(index)}`);
    return Math.min(32_768, Math.max(1, Math.ceil(Math.sqrt(Number(rows[0]!.n)))));
  }
}

async function checkLanguage(client: PoolClient, language: string): Promise<void> {
  const { rows } = await client.query<{ cfgname: string }>(
    "SELECT cfgname FROM pg_ts_config WHERE pg_ts_config_is_visible(oid) ORDER BY cfgname",
  );
  if (rows.some(({ cfgname }) => cfgname === language)) return;
  throw new AgentError(
    "invalid-argument",
    `language must be a text search configuration of this PostgreSQL, got ${JSON.stringify(language)}; ` +
      `it has ${rows.map(({ cfgname }) => cfgname).join(", ")}`,
  );
}
