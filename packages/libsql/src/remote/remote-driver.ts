import { AgentError, errorMessage } from "@selvedge/core/errors";
import {
  type Change,
  checkSelect,
  type Commit,
  type CommitOutcome,
  type CommitResult,
  commitTogether,
  encodeNewRow,
  encodeRow,
  KeyLines,
  keysOf,
  MESSAGES,
  realSystem,
  type Row,
  type Select,
  type StorageDriver,
  type System,
  type Table,
  toConditions,
  type Where,
  type Write,
} from "@selvedge/core/storage";
import type { ResultSet } from "@libsql/client/web";
import { indexSlice, isIndexed, lastMessage, messageMentions } from "../message-index.ts";
import { addTables, migrate } from "../migrate.ts";
import { isSilent, newsSql } from "../news.ts";
import type { Plan } from "../plan.ts";
import { mentionsSql } from "../search-index.ts";
import { type Mentions, type Query, type Sql, SqlWriter } from "../sql-writer.ts";
import { toRows } from "../to-row.ts";
import { RemoteNews } from "./remote-news.ts";
import { ServerConnection, type ServerOptions } from "./server-connection.ts";
import { failedStatement } from "./server-error.ts";

/** A request takes longer than a write to a file, and readers notice a tenth of a second. */
const FLUSH_MS = 50;
const POLL_MS = 500;
/** How often a change of the schema is planned again because another process was faster. */
const PLANS = 5;
/** Fails a transaction whose condition is false: this text is not JSON. */
const FAILS = "'a condition does not hold'";
const NOT_JSON = "malformed JSON";
const NOT_UNIQUE = "UNIQUE constraint failed";

export interface RemoteDriverOptions extends ServerOptions {
  pollMs?: number | undefined;
}

/**
 * The storage contract on a libSQL server, which any number of processes may share. A commit is one request: all its
 * statements are sent together, a condition that fails is an error on the server, and nothing of it takes effect. The
 * server has one writer at a time, so commits are isolated whatever their keys.
 */
export class RemoteDriver implements StorageDriver {
  readonly losesAnswers: boolean = true;
  readonly flushMs: number = FLUSH_MS;
  readonly #connection: ServerConnection;
  readonly #system: System;
  readonly #sql = new SqlWriter((text: string) => text);
  readonly #news: RemoteNews;
  readonly #lines = new KeyLines();
  readonly #underWay = new Set<Promise<unknown>>();
  #ready: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: RemoteDriverOptions) {
    this.#system = options.system ?? realSystem;
    this.#connection = new ServerConnection(options);
    this.#news = new RemoteNews(this.#connection, this.#system, options.pollMs ?? POLL_MS);
  }

  migrate(): Promise<void> {
    return this.#track(() => this.#open());
  }

  addTables(tables: readonly Table[]): Promise<void> {
    return this.#track(async () => {
      await this.#open();
      await this.#changeSchema(() => addTables(tables));
    });
  }

  select(queries: readonly Select[]): Promise<Row[][]> {
    return this.#select(queries);
  }

  async #select(queries: readonly Select[], mentions?: Mentions): Promise<Row[][]> {
    for (const query of queries) checkSelect(query);
    const statements = queries.map((query) =>
      toSql(this.#sql.select(query, toConditions(query.table, query.where), mentions)),
    );
    const results = await this.#track(() => this.#read(statements));
    return queries.map(({ table, columns = Object.keys(table.columns) }, index) =>
      toRows(table, columns, results[index]!.rows as never),
    );
  }

  async selectMentioning(query: Select, terms: readonly string[]): Promise<Row[]> {
    const isMessages = query.table.name === MESSAGES.name;
    const mentions = isMessages ? messageMentions(query, terms) : mentionsSql(query.table, terms);
    if (isMessages && mentions) await this.#track(() => this.#indexMessages());
    const [rows] = await this.#select([query], mentions);
    return rows!;
  }

  async count({ table, where }: { table: Table; where?: Where }): Promise<number> {
    const statement = toSql(this.#sql.count(table, toConditions(table, where)));
    const [result] = await this.#track(() => this.#read([statement]));
    return result!.rows[0]![0] as number;
  }

  commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    return commitTogether(commits, (commit) => this.#track(() => this.#commit(commit)));
  }

  watch(onChange: (change: Change) => void): () => void {
    return this.#news.watch(onChange);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Whatever is done first creates or upgrades the tables. A failed attempt is forgotten, so that a later one can succeed. */
  #open(): Promise<void> {
    this.#ready ??= this.#changeSchema(() =>
      migrate(this.#connection.place, Math.trunc(this.#system.now())),
    ).catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /** If it is refused, another process may have done it. Then there is less to do, or nothing. */
  async #changeSchema(plan: () => Plan<Sql[]>): Promise<void> {
    for (let left = PLANS; ; left--) {
      const statements = await this.#connection.readPlan(plan());
      if (statements.length === 0) return;
      try {
        await this.#connection.transaction(statements);
        return;
      } catch (error) {
        if (left === 1) throw error;
      }
    }
  }

  async #read(statements: readonly Sql[]): Promise<ResultSet[]> {
    await this.#open();
    return this.#connection.read(statements);
  }

  /** Reads in what has been written since the last search. A change in between must not be missed. */
  async #indexMessages(): Promise<void> {
    await this.#open();
    const last = await this.#connection.readPlan(lastMessage());
    while (!(await this.#connection.readPlan(isIndexed(last))))
      await this.#connection.interactive(indexSlice(last));
  }

  async #close(): Promise<void> {
    this.#connection.stopRetrying();
    await Promise.allSettled(this.#underWay);
    await this.#news.close();
    await this.#connection.end();
  }

  async #commit(commit: Commit): Promise<CommitResult> {
    const { writes } = commit;
    const keys = keysOf(commit);
    const operations = writes.map((write) => this.#toOperation(write));
    if (writes.length === 0) return { changes: [], auto: [] };
    const statements = operations.flatMap((operation) => operation.statements);
    if (isSilent(commit)) statements.push(...newsSql(commit));
    return this.#lines.run(keys, async () => {
      await this.#open();
      try {
        return toResult(operations, await this.#connection.transaction(statements));
      } catch (error) {
        throw explain(error, operations, writes);
      }
    });
  }

  #toOperation(write: Write): Operation {
    const { table } = write;
    if (write.op === "insert") return this.#insert(write);
    const conditions = toConditions(table, write.where);
    if (write.op === "require") {
      const { text, params } = toSql(this.#sql.exists(table, conditions));
      const found = `EXISTS (${text})`;
      return { statements: [requireSql(write.exists ? found : `NOT ${found}`, params)], toCount: () => 0 };
    }
    const change =
      write.op === "delete"
        ? this.#sql.delete(table, conditions)
        : this.#sql.update(table, { ...write, set: encodeRow(table, write.set ?? {}) }, conditions);
    const statements = [toSql(change)];
    if (write.require) statements.push(requireSql("changes() > 0", []));
    return { statements, toCount: ([result]) => result!.rowsAffected };
  }

  #insert({ table, row, onConflict = "fail" }: Write & { op: "insert" }): Operation {
    const cells = encodeNewRow(table, row);
    const { auto } = table;
    const isUpsert = onConflict === "update";
    return {
      statements: [toSql(this.#sql.insert(table, cells, onConflict))],
      toCount: ([result]) => (isUpsert ? 1 : result!.rowsAffected),
      toAuto: ([result]) => {
        if (auto === undefined) return undefined;
        if (isUpsert) return result!.rows[0]![0] as number;
        return result!.rowsAffected > 0 ? Number(result!.lastInsertRowid) : undefined;
      },
    };
  }

  /** Closing waits for it. */
  async #track<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#closing) throw new AgentError("storage-closed", `Database ${this.#connection.place} is closed`);
    const working = work();
    this.#underWay.add(working);
    try {
      return await working;
    } finally {
      this.#underWay.delete(working);
    }
  }
}

/** The statements of a write, and what their results mean. */
interface Operation {
  statements: Sql[];
  toCount(results: readonly ResultSet[]): number;
  toAuto?(results: readonly ResultSet[]): number | undefined;
}

function toSql({ statement, params }: Query<string>): Sql {
  return { text: statement, params };
}

function requireSql(condition: string, params: Sql["params"]): Sql {
  return { text: `SELECT json(CASE WHEN ${condition} THEN '1' ELSE ${FAILS} END)`, params };
}

function toResult(operations: readonly Operation[], results: readonly ResultSet[]): CommitResult {
  const result: CommitResult = { changes: [], auto: [] };
  let first = 0;
  for (const { statements, toCount, toAuto } of operations) {
    const own = results.slice(first, (first += statements.length));
    result.changes.push(toCount(own));
    result.auto.push(toAuto?.(own));
  }
  return result;
}

/** A condition that failed, or a row that was there, as `conflict`. */
function explain(error: unknown, operations: readonly Operation[], writes: readonly Write[]): unknown {
  const failed = failedStatement(error);
  const message = errorMessage(error);
  if (failed === undefined || !(message.includes(NOT_JSON) || message.includes(NOT_UNIQUE))) return error;
  let end = 0;
  const index = operations.findIndex(({ statements }) => failed < (end += statements.length));
  const table = writes[index]?.table.name;
  const reason = message.includes(NOT_JSON) ? "a condition does not hold" : message;
  return new AgentError("conflict", `${table}: ${reason}`, { details: { index, table } });
}
