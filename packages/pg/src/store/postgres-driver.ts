import { AgentError } from "@selvedge/core/errors";
import {
  type Cells,
  type Change,
  checkSelect,
  type Commit,
  type CommitOutcome,
  type CommitResult,
  commitTogether,
  KeyLines,
  keysOf,
  type Row,
  type Select,
  type StorageDriver,
  type System,
  type Table,
  TABLES,
  type Where,
  type Write,
} from "@selvedge/core/storage";
import type { QueryResult } from "pg";
import { codeOf, toPgError } from "../to-pg-error.ts";
import { Connections, Refused } from "./connections.ts";
import { News } from "./news.ts";
import { addTables, CONDITION_FAILED, migrate } from "./schema.ts";
import { type Mentions, SqlWriter, type Statement, toRows } from "./sql.ts";
import type { StoreSettings } from "./store-options.ts";
import { WordIndex } from "./word-index.ts";

/** A round trip takes longer than in a file, and readers notice a tenth of a second. */
const FLUSH_MS = 50;
const MAX_NAME_BYTES = 63;
const UNIQUE_VIOLATION = "23505";
const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended(key, hashtext($2))) FROM unnest($1::text[]) AS key`;

/**
 * The storage contract on PostgreSQL, for any number of processes. A commit is one transaction in one round trip: all
 * statements are sent together, a condition that fails raises an error on the server, and what follows has no effect.
 *
 * Isolation is READ COMMITTED plus a lock per key. The lock is a separate statement: the statements after it see what was
 * committed while it waited, which a statement that takes it would not.
 */
export class PostgresDriver implements StorageDriver {
  readonly losesAnswers: boolean = true;
  readonly flushMs: number = FLUSH_MS;
  readonly #schema: string;
  readonly #system: System;
  readonly #connections: Connections;
  readonly #sql: SqlWriter;
  readonly #words: WordIndex;
  readonly #news: News;
  readonly #lines = new KeyLines();
  readonly #underWay = new Set<Promise<unknown>>();
  #ready: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(settings: StoreSettings, system: System) {
    this.#schema = settings.schema;
    this.#system = system;
    this.#sql = new SqlWriter(settings.schema);
    this.#connections = new Connections(settings, system);
    this.#words = new WordIndex(settings.schema, this.#connections, (queries) => this.select(queries));
    this.#news = new News({
      channel: channelOf(settings.schema),
      settings,
      connections: this.#connections,
      system,
    });
  }

  migrate(tables: readonly Table[]): Promise<void> {
    return this.#track(() => this.#open(tables));
  }

  addTables(tables: readonly Table[]): Promise<void> {
    return this.#track(async () => {
      await this.#open();
      await this.#connections.session((client) => addTables(client, this.#schema, tables));
    });
  }

  async select(queries: readonly Select[], mentions?: Mentions): Promise<Row[][]> {
    for (const query of queries) checkSelect(query);
    const statements = queries.map((query) => this.#sql.select(query, mentions));
    const results = await this.#track(() => this.#read(statements));
    return queries.map((query, index) => toRows(query, results[index]!.rows as Cells[]));
  }

  async selectMentioning(query: Select, terms: readonly string[]): Promise<Row[]> {
    checkSelect(query);
    const mentions = await this.#track(async () => {
      await this.#open();
      return this.#words.mentions(query, terms);
    });
    const [rows] = await this.select([query], mentions);
    return rows!;
  }

  async count({ table, where }: { table: Table; where?: Where }): Promise<number> {
    const statement = this.#sql.count(table, where);
    const [result] = await this.#track(() => this.#read([statement]));
    return (result!.rows[0] as { n: number }).n;
  }

  commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    return commitTogether(
      commits,
      (commit) => this.#track(() => this.#commit(commit)),
      (all) => this.#commitAlike(all),
    );
  }

  watch(onChange: (change: Change) => void): () => void {
    return this.#news.watch(onChange);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The statements of a transaction: the locks of its keys, and then what it writes. */
  protected statements(keys: readonly string[], writes: readonly Statement[]): Statement[] {
    return keys.length === 0 ? [...writes] : [{ text: LOCK, values: [keys, this.#schema] }, ...writes];
  }

  /** Whatever is done first creates or upgrades the tables. A failed attempt is forgotten, so that a later one can succeed. */
  #open(tables: readonly Table[] = TABLES as readonly Table[]): Promise<void> {
    this.#ready ??= this.#connections
      .session((client) => migrate(client, this.#schema, tables, Math.trunc(this.#system.now())))
      .catch((error: unknown) => {
        this.#ready = undefined;
        throw toPgError(error);
      });
    return this.#ready;
  }

  async #read(statements: readonly Statement[]): Promise<QueryResult[]> {
    await this.#open();
    return this.#connections.read(statements);
  }

  async #close(): Promise<void> {
    this.#connections.stopRetrying();
    await Promise.allSettled(this.#underWay);
    await this.#news.close();
    await this.#connections.end();
  }

  /** One statement for the writes at the same place, if the commits look alike, as the chunks of many threads do. */
  #commitAlike(commits: readonly Commit[]): Promise<CommitResult[]> | undefined {
    const statements = this.#alike(commits);
    if (!statements) return undefined;
    const keys = keysOf({ key: commits.flatMap(keysOf), writes: [] });
    return this.#track(async () => {
      await this.#transaction(keys, statements);
      return commits.map(({ writes }) => insertedAll(writes));
    });
  }

  /** The statements of commits whose writes have the same kinds, tables and columns, in the same order. */
  #alike(commits: readonly Commit[]): Statement[] | undefined {
    const [{ writes: first }] = commits as readonly [Commit];
    const isLike = (write: Write, index: number): boolean =>
      write.op === first[index]!.op && write.table.name === first[index]!.table.name;
    if (!commits.every(({ writes }) => writes.length === first.length && writes.every(isLike)))
      return undefined;
    const statements = first.map((_, index) =>
      this.#sql.writeAll(commits.map(({ writes }) => writes[index]!)),
    );
    return statements.every((statement) => statement !== undefined) ? statements : undefined;
  }

  async #commit(commit: Commit): Promise<CommitResult> {
    const { writes } = commit;
    const statements = writes.map((write) => this.#sql.write(write));
    if (writes.length === 0) return { changes: [], auto: [] };
    return toResult(writes, await this.#transaction(keysOf(commit), statements, writes));
  }

  #transaction(
    keys: readonly string[],
    writing: readonly Statement[],
    writes: readonly Write[] = [],
  ): Promise<QueryResult[]> {
    const statements = this.statements(keys, writing);
    const before = statements.length - writing.length;
    return this.#lines.run(keys, async () => {
      await this.#open();
      try {
        const results = await this.#connections.transaction(statements);
        this.#news.changed(keys);
        return results.slice(before);
      } catch (error) {
        if (error instanceof Refused) throw toError(error, error.index - before, writes);
        // It may have taken effect.
        this.#news.changed(keys);
        throw toPgError(error);
      }
    });
  }

  /** Closing waits for it. */
  async #track<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#closing) throw new AgentError("storage-closed", "This PostgreSQL store is closed");
    const working = work().catch((error: unknown) => {
      throw toPgError(error);
    });
    this.#underWay.add(working);
    try {
      return await working;
    } finally {
      this.#underWay.delete(working);
    }
  }
}

/** PostgreSQL refuses to notify longer names. Two schemas with one channel only hear more than they need. */
function channelOf(schema: string): string {
  const bytes = Buffer.from(`selvedge_${schema}`).subarray(0, MAX_NAME_BYTES);
  // The last character may have been cut in two.
  return bytes.toString().replace(/\uFFFD+$/, "");
}

function toResult(writes: readonly Write[], results: readonly QueryResult[]): CommitResult {
  const changes = writes.map((write, index) => {
    if (write.op === "require") return 0;
    const { rows, rowCount } = results[index]!;
    return write.op !== "insert" && write.require ? (rows[0] as { n: number }).n : (rowCount ?? 0);
  });
  const auto = writes.map((write, index) =>
    write.op === "insert" && write.table.auto !== undefined
      ? (results[index]!.rows[0] as { auto: number } | undefined)?.auto
      : undefined,
  );
  return { changes, auto };
}

function insertedAll(writes: readonly Write[]): CommitResult {
  return { changes: writes.map(({ op }) => (op === "insert" ? 1 : 0)), auto: writes.map(() => undefined) };
}

function toError({ cause, message }: Refused, index: number, writes: readonly Write[]): AgentError {
  const code = codeOf(cause);
  if (code !== CONDITION_FAILED && code !== UNIQUE_VIOLATION) return toPgError(cause);
  const table = writes[index]?.table.name;
  return new AgentError("conflict", `${table}: ${message}`, { details: { index, table } });
}
