/** How a table looks to every adapter. Names are snake_case because they are also the names in SQL. */
export interface Table {
  readonly name: string;
  readonly columns: Readonly<Record<string, "text" | "integer" | "real" | "json">>;
  /** The columns that identify a row; `onConflict` speaks of these. */
  readonly key: readonly string[];
  /** An integer column the store numbers by itself, rising with each insert into the table. */
  readonly auto?: string;
  /** Text columns that are searched. A store may keep a full-text index of them; see `Storage.selectMentioning`. */
  readonly search?: readonly string[];
  readonly indexes: readonly {
    readonly columns: readonly string[];
    readonly unique?: boolean;
    /**
     * Only rows with a value in this column need to be in it, which keeps it small where few have one. Serves queries
     * that say so too (`{ ne: null }`).
     */
    readonly having?: string;
  }[];
}
