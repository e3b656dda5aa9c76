import type { Socket } from "node:net";
import { AgentError, errorMessage } from "@selvedge/core/errors";
import {
  type Cells,
  type Change,
  checkSelect,
  type Commit,
  type CommitOutcome,
  type CommitResult,
  decodeRow,
  keysOf,
  realSystem,
  type Row,
  type Select,
  type StorageDriver,
  type System,
  type Table,
  type Where,
  type Write,
  KeyLines,
} from "@selvedge/core/storage";
import pg from "pg";
import { News } from "./news.ts";
import { showNul } from "./nul.ts";
import { addTables, CONDITION_FAILED, migrate } from "./schema.ts";
import { SqlWriter, type Statement } from "./sql.ts";

export interface PostgresOptions {
  connectionString: string;
  schema?: string;
  /** Connections at most, besides the one that listens. */
  connections?: number;
  system?: System;
}

/** A round trip takes longer than in a file, and readers notice a tenth of a second. */
const FLUSH_MS = 50;
const MAX_PREPARED = 500;
const TRIES = 5;
const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended(key, hashtext($2))) FROM unnest($1::text[]) AS key`;

/**
 * The storage contract on PostgreSQL, for any number of processes. A commit is one transaction in one round trip: all
 * statements are sent together, a condition that fails raises an error on the server, and what follows does nothing. So no
 * transaction waits for its client.
 *
 * Isolation is READ COMMITTED and a lock per key. The lock is a statement by itself: the statements after it see what was
 * committed while it waited, which a statement that takes it would not.
 */
export class PostgresDriver implements StorageDriver {
  readonly losesAnswers = true;
  readonly flushMs = FLUSH_MS;
  readonly #schema: string;
  readonly #system: System;
  readonly #config: pg.ClientConfig;
  readonly #pool: pg.Pool;
  readonly #sql: SqlWriter;
  readonly #news: News;
  readonly #lines = new KeyLines();
  readonly #names = new Map<string, string>();
  readonly #underWay = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor(options: PostgresOptions) {
    const { connectionString, schema = "public", connections = 8, system = realSystem } = options;
    this.#schema = schema;
    this.#system = system;
    this.#sql = new SqlWriter(schema);
    this.#config = { connectionString, types: { getTypeParser } };
    this.#pool = new pg.Pool({ ...this.#config, pipeline: true, max: connections, allowExitOnIdle: true });
    // A connection that breaks says so to whoever uses it. Without listeners it would also end the process.
    this.#pool.on("error", () => {});
    this.#pool.on("connect", (client) => client.on("error", () => {}));
    this.#news = new News({
      channel: `selvedge_${schema}`,
      self: system.newId(),
      connect: () => this.#connectListener(),
      publish: (channel, payload) => this.#pool.query("SELECT pg_notify($1, $2)", [channel, payload]),
      system,
    });
  }

  migrate(tables: readonly Table[]): Promise<void> {
    return this.#track(() =>
      this.#withClient((client) => migrate(client, this.#schema, tables, Math.trunc(this.#system.now()))),
    );
  }

  addTables(tables: readonly Table[]): Promise<void> {
    return this.#track(() => this.#withClient((client) => addTables(client, this.#schema, tables)));
  }

  async select(queries: readonly Select[]): Promise<Row[][]> {
    for (const query of queries) checkSelect(query);
    const results = await this.#read(queries.map((query) => this.#sql.select(query)));
    return queries.map(({ table, columns }, index) =>
      results[index]!.rows.map((cells: Cells) => decodeRow(table, showNuls(table, cells), columns)),
    );
  }

  async count({ table, where }: { table: Table; where?: Where }): Promise<number> {
    const [result] = await this.#read([this.#sql.count(table, where)]);
    return (result!.rows[0] as { n: number }).n;
  }

  async commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    const together = commits.length > 1 ? await this.#track(() => this.#commitTogether(commits)) : undefined;
    if (together) return together;
    return Promise.all(
      commits.map((commit) =>
        this.#track(() => this.#commit(commit)).then(
          (result) => ({ result }),
          (error: unknown) => ({ error }),
        ),
      ),
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

  async #close(): Promise<void> {
    await Promise.allSettled(this.#underWay);
    await this.#news.close();
    await this.#pool.end();
  }

  /** In one transaction. Answers `undefined` when one was refused and nothing took effect: alone, each learns its reason. */
  async #commitTogether(commits: readonly Commit[]): Promise<CommitOutcome[] | undefined> {
    const writes = commits.flatMap((commit) => commit.writes);
    try {
      const { changes, auto } = await this.#commit({ key: commits.flatMap(keysOf), writes });
      let first = 0;
      return commits.map((commit) => {
        const end = first + commit.writes.length;
        const result = { changes: changes.slice(first, end), auto: auto.slice(first, end) };
        first = end;
        return { result };
      });
    } catch (error) {
      return AgentError.is(error, "storage-failed") ? commits.map(() => ({ error })) : undefined;
    }
  }

  async #commit(commit: Commit): Promise<CommitResult> {
    const { writes } = commit;
    const keys = keysOf(commit);
    const statements = this.statements(
      keys,
      writes.map((write) => this.#sql.write(write)),
    );
    if (writes.length === 0) return { changes: [], auto: [] };
    return this.#lines.run(keys, async () => {
      for (let attempt = 1; ; attempt++) {
        try {
          const results = await this.#withClient((client) => this.#transaction(client, statements));
          this.#news.changed(keys);
          return toResult(writes, results.slice(statements.length - writes.length));
        } catch (error) {
          // Nobody knows whether it took effect.
          if (!(error instanceof Refused)) this.#news.changed(keys);
          else if (isTransient(error) && attempt < TRIES) continue;
          throw error instanceof Refused ? toError(error, statements.length, writes) : toStorageError(error);
        }
      }
    });
  }

  /** Sends everything at once. Throws `Refused` when it certainly had no effect. */
  async #transaction(client: pg.PoolClient, statements: readonly Statement[]): Promise<pg.QueryResult[]> {
    const sent = this.#send(client, [
      { text: "BEGIN ISOLATION LEVEL READ COMMITTED", values: [] },
      ...statements,
      { text: "COMMIT", values: [] },
    ]);
    const answers = await Promise.allSettled(sent);
    const end = answers.at(-1)!;
    const index = answers.findIndex(({ status }) => status === "rejected");
    // What failed makes COMMIT roll back. Without the answer to COMMIT it may have taken effect.
    if (end.status === "rejected") throw end.reason;
    const failed = answers[index];
    if (failed?.status === "rejected") throw new Refused(failed.reason, index - 1);
    return answers.slice(1, -1).map((answer) => (answer as PromiseFulfilledResult<pg.QueryResult>).value);
  }

  async #read(statements: readonly Statement[]): Promise<pg.QueryResult[]> {
    return this.#track(async () => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await this.#withClient((client) => Promise.all(this.#send(client, statements)));
        } catch (error) {
          if (error instanceof pg.DatabaseError || attempt === TRIES) throw toStorageError(error);
        }
      }
    });
  }

  /** In one round trip. Statements with a name are parsed once per connection. */
  #send(client: pg.PoolClient, statements: readonly Statement[]): Promise<pg.QueryResult>[] {
    const { stream } = client.connection;
    stream.cork();
    const sent = statements.map(({ text, values }) =>
      client.query({ text, values, name: this.#nameOf(text) }),
    );
    stream.uncork();
    return sent;
  }

  #nameOf(text: string): string | undefined {
    let name = this.#names.get(text);
    if (name === undefined && this.#names.size < MAX_PREPARED)
      this.#names.set(text, (name = `s${this.#names.size}`));
    return name;
  }

  async #withClient<Value>(work: (client: pg.PoolClient) => Promise<Value>): Promise<Value> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw toStorageError(error);
    });
    let isBroken = false;
    try {
      return await work(client);
    } catch (error) {
      const cause = error instanceof Refused ? error.cause : error;
      isBroken = !(cause instanceof pg.DatabaseError) || cause.severity !== "ERROR";
      throw error;
    } finally {
      client.release(isBroken);
    }
  }

  /** What is under way when the store closes is waited for. */
  async #track<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#closing) throw new AgentError("storage-closed", "This PostgreSQL store is closed");
    const working = work();
    this.#underWay.add(working);
    try {
      return await working;
    } finally {
      this.#underWay.delete(working);
    }
  }

  async #connectListener(): Promise<pg.Client> {
    const client = new pg.Client({ ...this.#config, keepAlive: true });
    client.on("error", () => {});
    await client.connect();
    // Waiting for news does not keep a process alive.
    (client.connection.stream as Socket).unref();
    return client;
  }
}

/** A transaction that was rolled back, and which of its statements is the reason. */
class Refused extends Error {
  readonly index: number;

  constructor(cause: unknown, index: number) {
    super(errorMessage(cause), { cause });
    this.index = index;
  }
}

function toResult(writes: readonly Write[], results: readonly pg.QueryResult[]): CommitResult {
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

function toError(
  { cause, message, index: at }: Refused,
  statements: number,
  writes: readonly Write[],
): AgentError {
  const index = at - (statements - writes.length);
  const code = codeOf(cause);
  if (code !== CONDITION_FAILED && code !== "23505") return toStorageError(cause);
  const table = writes[index]!.table.name;
  return new AgentError("conflict", `${table}: ${message}`, { details: { index, table } });
}

function toStorageError(error: unknown): AgentError {
  if (AgentError.is(error)) return error;
  return new AgentError("storage-failed", `PostgreSQL: ${errorMessage(error)}`, { cause: error });
}

/** Conflicts that vanish when the transaction is tried again: a deadlock, a serialization failure. */
function isTransient({ cause }: Refused): boolean {
  return ["40001", "40P01"].includes(codeOf(cause));
}

function codeOf(error: unknown): string {
  return error instanceof pg.DatabaseError ? (error.code ?? "") : "";
}

function showNuls(table: Table, cells: Cells): Cells {
  for (const [column, cell] of Object.entries(cells))
    if (table.columns[column] === "json" && cell !== null) cells[column] = showNul(cell as string);
  return cells;
}

const INT8 = 20;

/** Integers are safe ones, as the row codec checks. */
const getTypeParser: typeof pg.types.getTypeParser = ((oid: number, format: "text") =>
  oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser;
