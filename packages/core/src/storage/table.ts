import type { JSONValue } from "@selvedge/protocol";

/** A value of a column. `json` columns hold any JSON value; everything else a scalar. `null` means "no value". */
export type ColumnValue = JSONValue | undefined;

/** A row as adapters see it: of any table. */
export type Row = Record<string, ColumnValue>;

export type ColumnType = "text" | "integer" | "real" | "json";

type TypeOf<Value> =
  NonNullable<Value> extends string
    ? "text"
    : NonNullable<Value> extends number
      ? "integer" | "real"
      : "json";

/**
 * How a table looks to every adapter. `R` is what its rows hold, so that a misspelt column does not compile. Names are
 * snake_case because they are also the names in SQL.
 */
export interface Table<R extends object = Row> {
  readonly name: string;
  readonly columns: {
    readonly [Column in keyof R]-?: string extends keyof R ? ColumnType : TypeOf<R[Column]>;
  };
  /** The columns that identify a row; `onConflict` speaks of these. */
  readonly key: readonly (keyof R & string)[];
  /**
   * The column with the key of the commits that write to the table, such as the thread. Rows of one key change one commit
   * after another.
   */
  readonly partition?: keyof R & string;
  /** An integer column that the store numbers by itself, rising with each insert of the same key. */
  readonly auto?: keyof R & string;
  /** Rows are short: a store may keep them in the order of their key, which saves it an index. */
  readonly clustered?: boolean;
  /** Text columns that are searched. A store may keep a full-text index of them; see `Storage.selectMentioning`. */
  readonly search?: readonly (keyof R & string)[];
  readonly indexes: readonly {
    readonly columns: readonly (keyof R & string)[];
    readonly unique?: boolean;
    /**
     * Only rows with a value in this column need to be in it, which keeps it small where few have one. Serves queries
     * that say so too (`{ ne: null }`).
     */
    readonly having?: keyof R & string;
  }[];
}

/** A table, whatever its rows hold. */
export type AnyTable = Pick<Table, keyof Table>;

/** What the rows of a table hold. A column without a value is `null`. */
export type RowOf<T> = T extends Table<infer R> ? R : never;
