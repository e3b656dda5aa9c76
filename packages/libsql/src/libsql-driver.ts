import { AgentError, errorMessage } from "@selvedge/core/errors";
import {
  type Change,
  checkSelect,
  type Commit,
  type CommitOutcome,
  type CommitResult,
  encodeNewRow,
  encodeRow,
  MESSAGES,
  realSystem,
  type Row,
  type Select,
  sleep,
  type StorageDriver,
  type System,
  type Table,
  toConditions,
  type Where,
  type Write,
} from "@selvedge/core/storage";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { indexSlice, isIndexed, lastMessage, messageMentions } from "./message-index.ts";
import { addTables, migrate } from "./migrate.ts";
import { mentionsSql } from "./search-index.ts";
import { isSilent, News, newsSql } from "./news.ts";
import { type Plan, read } from "./plan.ts";
import { isProcessGone, processOwnerId } from "./process-owner.ts";
import { type Query, type Required, type Sql, SqlWriter } from "./sql-writer.ts";
import type { Statement } from "./statement.ts";
import { toRows } from "./to-row.ts";
import { isReadOnly, isUniqueViolation } from "./to-storage-error.ts";
import { watchFile } from "./watch-file.ts";

const FEW_ROWS = 500;

/**
 * The storage contract on one libSQL file, which several processes may share. A commit is synchronous inside, and
 * SQLite has one writer at a time: commits are isolated and ordered whatever their keys, and a response cannot be lost.
 */
export class LibSQLDriver implements StorageDriver {
  readonly #connection: Connection;
  readonly #sql: SqlWriter<Statement>;
  readonly #watchers = new Set<(change: Change) => void>();
  readonly #news = new News();
  #stopWatching: (() => void) | undefined;
  readonly #system: System;

  constructor(options: Pick<ConnectionOptions, "url" | "durability" | "system">) {
    this.#system = options.system ?? realSystem;
    this.#connection = new Connection({
      ...options,
      prepare: (connection) => {
        const plan = (): Plan<Sql[]> => migrate(connection.path, Math.trunc(this.#system.now()));
        if (read(connection, plan()).length === 0) return;
        // The second process to get the lock finds nothing left to do.
        connection.transaction(() => this.#apply(read(connection, plan())));
      },
    });
    this.#sql = new SqlWriter((text) => this.#connection.statement(text));
  }

  migrate(): Promise<void> {
    return this.#connection.open();
  }

  addTables(tables: readonly Table[]): Promise<void> {
    return this.#connection.write(() => this.#apply(read(this.#connection, addTables(tables))));
  }

  #apply(statements: readonly Sql[]): void {
    for (const { text, params } of statements) {
      if (params.length === 0) this.#connection.exec(text);
      else this.#connection.run(text, params);
    }
  }

  async select(queries: readonly Select[]): Promise<Row[][]> {
    const found: Row[][] = [];
    for (const query of queries) found.push(await this.#select(query));
    return found;
  }

  async #select(query: Select): Promise<Row[]> {
    checkSelect(query);
    const found = this.#sql.select(query, toConditions(query.table, query.where));
    return this.#read(query, () => found);
  }

  /** `find` runs while the database can be read, and returns how to find the rows. */
  async #read(
    { table, limit, columns = Object.keys(table.columns) }: Select,
    find: () => Query<Statement>,
  ): Promise<Row[]> {
    const found = await this.#connection.read(() => {
      const { statement, params } = find();
      if (limit !== 1) return statement.rows(params);
      const row = statement.row(params);
      return row ? [row] : [];
    });
    return toRows(table, columns, found);
  }

  async selectMentioning(query: Select, terms: readonly string[]): Promise<Row[]> {
    if (query.table.name === MESSAGES.name) return this.#messagesMentioning(query, terms);
    const mentions = mentionsSql(query.table, terms);
    if (!mentions) return this.#select(query);
    checkSelect(query);
    const conditions = toConditions(query.table, query.where);
    const few = this.#sql.atMost(query.table, conditions, FEW_ROWS);
    const search = this.#sql.select(query, conditions, mentions);
    const all = this.#sql.select(query, conditions);
    // The index covers all rows of the table; reading the few that a caller can see is cheaper.
    return this.#read(query, () => (few.statement.row(few.params) === undefined ? search : all));
  }

  async #messagesMentioning(query: Select, terms: readonly string[]): Promise<Row[]> {
    checkSelect(query);
    const conditions = toConditions(query.table, query.where);
    const mentions = messageMentions(query, terms);
    if (!mentions) return this.#select(query);
    try {
      await this.#indexMessages();
    } catch (error) {
      // A file that cannot be written has no current index.
      if (isReadOnly(error)) return this.#select(query);
      throw error;
    }
    const found = this.#sql.select(query, conditions, mentions);
    return this.#read(query, () => found);
  }

  /** Reads in what has been written since the last search, in slices that let other work run. */
  async #indexMessages(): Promise<void> {
    const connection = this.#connection;
    const last = await connection.read(() => read(connection, lastMessage()));
    while (!(await connection.read(() => read(connection, isIndexed(last))))) {
      await connection.write(() => this.#apply(read(connection, indexSlice(last))));
      await sleep(this.#system, 0);
    }
  }

  async count({ table, where }: { table: Table; where?: Where }): Promise<number> {
    const { statement, params } = this.#sql.count(table, toConditions(table, where));
    const row = await this.#connection.read(() => statement.row(params));
    return row![0] as number;
  }

  async commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    if (commits.length === 1) return [await this.#commit(commits[0]!)];
    try {
      const works = commits.map((commit) => this.#work(commit));
      const results = await this.#connection.write(() => works.map((work) => work()));
      return results.map((result) => ({ result }));
    } catch {
      // Nothing was written. One by one, each learns its own reason.
      return Promise.all(commits.map((commit) => this.#commit(commit)));
    }
  }

  async #commit(commit: Commit): Promise<CommitOutcome> {
    const { writes } = commit;
    const [first] = writes;
    const isHeard = !isSilent(commit);
    const isOneStatement = writes.length === 1 && first?.op === "update" && isHeard;
    try {
      const insert = isHeard ? this.#insertIf(writes) : undefined;
      const inserted = insert && (await this.#connection.write(insert, true));
      return { result: inserted ?? (await this.#connection.write(this.#work(commit), isOneStatement)) };
    } catch (error) {
      return { error };
    }
  }

  /**
   * Writes that insert one row under conditions on other tables are one statement, which costs half of a transaction of
   * several. `undefined` for other writes. The statement returns that if a condition does not hold: the transaction tells
   * which.
   */
  #insertIf(writes: readonly Write[]): (() => CommitResult | undefined) | undefined {
    const index = writes.findIndex(({ op }) => op === "insert");
    const row = writes[index];
    if (writes.length < 2 || row?.op !== "insert" || (row.onConflict ?? "fail") !== "fail" || row.table.auto)
      return undefined;
    const required: Required[] = [];
    for (const write of writes) {
      if (write === row) continue;
      const { table } = write;
      if (write.op !== "require" || table === row.table) return undefined;
      required.push({ table, conditions: toConditions(table, write.where), exists: write.exists });
    }
    const { statement, params } = this.#sql.insertIf(row.table, encodeNewRow(row.table, row.row), required);
    return () => {
      try {
        const { changes } = statement.run(params);
        if (changes === 0) return undefined;
        return {
          changes: writes.map((write) => (write === row ? changes : 0)),
          auto: writes.map(() => undefined),
        };
      } catch (error) {
        throw explain(error, index, row.table);
      }
    };
  }

  /** What a commit does inside a transaction. */
  #work(commit: Commit): () => CommitResult {
    const { writes } = commit;
    const news = isSilent(commit) ? newsSql(commit) : [];
    const operations = writes.map((write) => this.#prepare(write));
    return () => {
      const result: CommitResult = { changes: [], auto: [] };
      for (let index = 0; index < operations.length; index++) {
        try {
          operations[index]!(result);
        } catch (error) {
          throw explain(error, index, writes[index]!.table);
        }
      }
      for (const { text, params } of news) this.#connection.run(text, params);
      return result;
    };
  }

  /** Rewrites the file without the space of deleted rows. */
  async vacuum(): Promise<void> {
    await this.#connection.write(() => this.#connection.exec("VACUUM"), true);
    await this.#connection.write(() => this.#connection.exec("PRAGMA wal_checkpoint(TRUNCATE)"), true);
  }

  close(): Promise<void> {
    this.#stopWatching?.();
    this.#watchers.clear();
    return this.#connection.close();
  }

  ownerId(unique: string): string {
    return processOwnerId(unique);
  }

  isOwnerDead(ownerId: string): boolean {
    return isProcessGone(ownerId);
  }

  /** One check of the file serves all watchers. */
  watch(onChange: (change: Change) => void): () => void {
    const { path } = this.#connection;
    if (path === ":memory:") return () => {};
    this.#watchers.add(onChange);
    // A file that is not open yet is known from the first check on.
    if (this.#connection.isOpen) read(this.#connection, this.#news.start());
    this.#stopWatching ??= watchFile(
      path,
      () => this.#connection.dataVersion(),
      this.#system,
      () => this.#tellNews(),
    );
    return () => {
      this.#watchers.delete(onChange);
      if (this.#watchers.size > 0) return;
      this.#stopWatching?.();
      this.#stopWatching = undefined;
    };
  }

  #tellNews(): void {
    let change: Change = "unknown";
    try {
      change = read(this.#connection, this.#news.look());
    } catch {
      // The file is locked right now: watchers check for themselves.
    }
    for (const watcher of this.#watchers) watcher(change);
  }

  /** Validates and translates a write, so that only database work is left inside the transaction. */
  #prepare(write: Write): Operation {
    if (write.op === "insert") return this.#insert(write);
    const { table } = write;
    const conditions = toConditions(table, write.where);
    if (write.op === "require") {
      const { statement, params } = this.#sql.exists(table, conditions);
      return (result) => {
        if ((statement.row(params) !== undefined) !== write.exists) throw new ConditionFailed();
        add(result, 0);
      };
    }
    const change =
      write.op === "delete"
        ? this.#run(this.#sql.delete(table, conditions))
        : this.#run(
            this.#sql.update(table, { ...write, set: encodeRow(table, write.set ?? {}) }, conditions),
          );
    return (result) => {
      const changes = change();
      if (write.require && changes === 0) throw new ConditionFailed();
      add(result, changes);
    };
  }

  #insert({ table, row, onConflict = "fail" }: Write & { op: "insert" }): Operation {
    const cells = encodeNewRow(table, row);
    const { auto } = table;
    const { statement, params } = this.#sql.insert(table, cells, onConflict);
    if (auto !== undefined && onConflict === "update")
      return (result) => add(result, 1, statement.row(params)![0] as number);
    return (result) => {
      const { changes, lastInsertRowid } = statement.run(params);
      add(result, changes, auto !== undefined && changes > 0 ? Number(lastInsertRowid) : undefined);
    };
  }

  #run({ statement, params }: Query<Statement>): () => number {
    return () => statement.run(params).changes;
  }
}

type Operation = (result: CommitResult) => void;

function add({ changes, auto }: CommitResult, count: number, number?: number): void {
  changes.push(count);
  auto.push(number);
}

class ConditionFailed extends Error {}

function explain(error: unknown, index: number, table: Table): unknown {
  const failed = error instanceof ConditionFailed;
  if (!failed && !isUniqueViolation(error)) return error;
  const reason = failed ? "a condition does not hold" : errorMessage(error);
  return new AgentError("conflict", `${table.name}: ${reason}`, { details: { index, table: table.name } });
}
