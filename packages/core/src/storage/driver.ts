import type { Row, Table } from "./table.ts";

type Scalar<Value> =
  NonNullable<Value> extends string ? NonNullable<Value> : NonNullable<Value> extends number ? number : never;

/** All given conditions must hold. A column without a value passes `ne` and no other comparison. */
export interface Comparison<Value = string | number> {
  in?: readonly Value[];
  ne?: Value | null;
  gt?: Value;
  gte?: Value;
  lt?: Value;
  lte?: Value;
  /** For `json` columns: the object has each of these keys with exactly this value. */
  has?: Readonly<Record<string, string | number | boolean | null>>;
}

/** Conditions on columns, all of which must hold. A scalar means equality, `null` means "is null". */
export type Where<R extends object = Row> = string extends keyof R
  ? Record<string, string | number | null | Comparison>
  : { [Column in keyof R]?: Scalar<R[Column]> | null | Comparison<Scalar<R[Column]>> };

export interface Select<R extends object = Row> {
  table: Table<R>;
  where?: Where<R>;
  /** Text is ordered by code point; rows without a value come first in ascending order. */
  orderBy?: readonly { column: keyof R & string; direction?: "asc" | "desc" }[];
  limit?: number;
  offset?: number;
  /** The columns to return. Default: all. */
  columns?: readonly (keyof R & string)[];
}

/**
 * One change. With `require`, matching no row makes the whole commit fail with `conflict`: the conditional write on
 * which everything durable is built. `writes.ts` creates them with the types of their table.
 *
 * A column left out of a row (or `undefined`) stays unchanged. `merge` changes a json column by key, where `null` and
 * `undefined` delete the key; `increment` adds to a number and treats "no value" as 0.
 */
export type Write =
  | { op: "insert"; table: Table; row: Row; onConflict?: "fail" | "ignore" | "update" }
  | {
      op: "update";
      table: Table;
      where: Where;
      set?: Row;
      merge?: Record<string, Row>;
      increment?: Record<string, number>;
      require?: boolean;
    }
  | { op: "delete"; table: Table; where: Where; require?: boolean }
  | { op: "require"; table: Table; where: Where; exists: boolean };

export interface CommitOptions {
  /**
   * The subject of the commit: a thread or a resource. Commits with one key take effect one after another, in the order
   * in which a process requested them. Commits with different keys may take effect in any order, or at the same time.
   * Most commits need not name it: `keysOf` finds it in the `partition` columns of their writes.
   */
  key?: string | readonly string[];
  /** Identifies the commit. If responses can be lost, the same id takes effect once, however often it is sent. */
  id?: string;
}

export interface Commit extends CommitOptions {
  writes: readonly Write[];
}

export interface CommitResult {
  /** How many rows each write inserted, changed or deleted. */
  changes: number[];
  /** For an insert into a table with an `auto` column, the number of the inserted or updated row. */
  auto: (number | undefined)[];
}

/** The outcome of one of several commits. */
export type CommitOutcome = { result: CommitResult } | { error: unknown };

/** What another process changed: the keys of its commits, or `"unknown"`. */
export type Change = { keys: ReadonlySet<string> } | "unknown";

/**
 * What an adapter implements. Everything above it (threads, messages, notifications and more) is written once, on top
 * of these methods. `testStore` in `@selvedge/testing` is the contract's test suite.
 *
 * - A commit applies all its writes or none, each seeing those before it.
 * - **Isolation.** A condition that held is still true when the commit becomes visible, for rows that must exist and
 * rows that must not, as long as all commits about these rows share a key (`keysOf`).
 * - **Order.** Commits that share a key are serial and keep the order in which this process requested them. Numbers of
 * an `auto` column rise in that order.
 */
export interface StorageDriver {
  /**
   * A commit may take effect although its response is lost, as over a network. Commits with an id then leave a trace.
   */
  readonly losesAnswers?: boolean;
  /** How long chunks are collected before they are written, in milliseconds. Default: 20; more over a network. */
  readonly flushMs?: number;
  /** Opens the store: creates or upgrades core's tables. Several processes may do it at once. */
  migrate(tables: readonly Table[]): Promise<void>;
  /** Adds missing tables, columns and indexes of a domain. Several processes may do it at once. */
  addTables(tables: readonly Table[]): Promise<void>;
  /**
   * The rows that match each query, in the requested order (otherwise unspecified). Columns without a value are `null`.
   * A query is read no earlier than those before it.
   */
  select(queries: readonly Select[]): Promise<Row[][]>;
  count(query: { table: Table; where?: Where }): Promise<number>;
  /**
   * Applies commits, each in a transaction or a part of one that can fail alone. An outcome with the error `conflict`
   * has `details.index`, the position of the write whose condition failed or whose row already existed.
   */
  commit(commits: readonly Commit[]): Promise<CommitOutcome[]>;
  /** Calls back when another process may have changed the store. Only speed may depend on it. */
  watch(onChange: (change: Change) => void): () => void;
  /** Waits for commits in progress. Afterwards every call fails with `storage-closed`; closing again has no effect. */
  close(): Promise<void>;
  /**
   * Rows that match, minus those in which one of the terms occurs in none of the table's `search` columns; for
   * messages, in none of the texts of the message and its later steps. May return more than that, but must not leave
   * out others: the caller checks again, in lower case. Useful with a full-text index; without this method, `select` is
   * used.
   */
  selectMentioning?(query: Select, terms: readonly string[]): Promise<Row[]>;
  /** A name for this process by which others can tell whether it is gone. */
  ownerId?(unique: string): string;
  /** True if the process behind an owner id is certainly gone. A store that cannot know waits for its lease. */
  isOwnerDead?(ownerId: string): boolean;
}
