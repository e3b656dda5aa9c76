import { textOf, toWords, type VectorMetric } from "@selvedge/core/vector";
import type { Connection } from "./connection.ts";

/** A row of the registry. `revision` rises with every change to the index, `count` is its number of entries. */
export interface IndexRow {
  number: number;
  dimension: number;
  metric: VectorMetric;
  revision: number;
  count: number;
  /** The registered HNSW file, as JSON; see `hnsw-cache.ts`. */
  cache: string | null;
}

export const INDEXES = "selvedge_vector_indexes";

/** Tables are numbered: index names may differ only in case, which table names may not. */
export function tableOf({ number }: { number: number }): string {
  return `selvedge_vectors_${number}`;
}

/** The words of the entries, for full-text search; a row has the key of its entry. */
export function wordsOf({ number }: { number: number }): string {
  return `selvedge_words_${number}`;
}

export function createRegistry(connection: Connection): void {
  const columns = connection.all<{ name: string }>("SELECT name FROM pragma_table_info(?)", [INDEXES]);
  if (columns.some(({ name }) => name === "cache")) return;
  connection.transaction(() => {
    connection.exec(
      `CREATE TABLE IF NOT EXISTS ${INDEXES} (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, ` +
        "dimension INTEGER NOT NULL, metric TEXT NOT NULL, revision INTEGER NOT NULL DEFAULT 0, " +
        "count INTEGER NOT NULL DEFAULT 0, cache TEXT)",
    );
    // Another process may have been faster; otherwise a registry without these columns has the first layout.
    const now = connection.all<{ name: string }>("SELECT name FROM pragma_table_info(?)", [INDEXES]);
    if (!now.some(({ name }) => name === "cache")) migrate(connection);
  });
}

export function createTables(connection: Connection, index: { number: number; dimension: number }): void {
  connection.exec(
    `CREATE TABLE ${tableOf(index)} (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, ` +
      `vector F32_BLOB(${index.dimension}) NOT NULL, length REAL NOT NULL, metadata TEXT, document TEXT, ` +
      "revision INTEGER NOT NULL)",
  );
  connection.exec(`CREATE INDEX ${tableOf(index)}_by_revision ON ${tableOf(index)} (revision)`);
  connection.exec(
    `CREATE VIRTUAL TABLE ${wordsOf(index)} USING fts5(words, content='', contentless_delete=1, ` +
      `tokenize='porter unicode61')`,
  );
}

export function dropTables(connection: Connection, index: { number: number }): void {
  connection.exec(`DROP TABLE IF EXISTS ${wordsOf(index)}`);
  connection.exec(`DROP TABLE IF EXISTS ${tableOf(index)}`);
}

/** Replaces an entry in the full-text search. */
export function setWords(
  connection: Connection,
  index: { number: number },
  entry: { key: number; metadata: string | null; document: string | null },
  isNew: boolean,
): void {
  if (!isNew) connection.run(`DELETE FROM ${wordsOf(index)} WHERE rowid = ?`, [entry.key]);
  const words = toWords(textOf(entry.metadata, entry.document));
  if (words.length === 0) return;
  connection.run(`INSERT INTO ${wordsOf(index)} (rowid, words) VALUES (?, ?)`, [entry.key, words.join(" ")]);
}

/** From the first layout, which had neither keys nor words nor revisions. */
function migrate(connection: Connection): void {
  connection.exec(`ALTER TABLE ${INDEXES} ADD COLUMN revision INTEGER NOT NULL DEFAULT 0`);
  connection.exec(`ALTER TABLE ${INDEXES} ADD COLUMN count INTEGER NOT NULL DEFAULT 0`);
  connection.exec(`ALTER TABLE ${INDEXES} ADD COLUMN cache TEXT`);
  for (const index of connection.all<IndexRow>(`SELECT number, dimension FROM ${INDEXES}`)) {
    const old = `${tableOf(index)}_old`;
    connection.exec(`ALTER TABLE ${tableOf(index)} RENAME TO ${old}`);
    createTables(connection, index);
    connection.exec(
      `INSERT INTO ${tableOf(index)} (id, vector, length, metadata, document, revision) ` +
        `SELECT id, vector, length, metadata, document, 0 FROM ${old} ORDER BY id`,
    );
    connection.exec(`DROP TABLE ${old}`);
    const entries = connection.all<{ key: number; metadata: string | null; document: string | null }>(
      `SELECT key, metadata, document FROM ${tableOf(index)}`,
    );
    for (const entry of entries) setWords(connection, index, entry, true);
    connection.run(`UPDATE ${INDEXES} SET count = ? WHERE number = ?`, [entries.length, index.number]);
  }
}
