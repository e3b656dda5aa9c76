import { AgentError } from "../errors.ts";
import { checkSelect } from "./check-select.ts";
import { toConditions } from "./conditions.ts";
import type { Commit, CommitOutcome, CommitResult, Select, StorageDriver, Where, Write } from "./driver.ts";
import { InMemoryTable } from "./in-memory-table.ts";
import { type Cells, columnType, decodeRow, encodeNewRow, encodeRow, mergeCell } from "./row-codec.ts";
import type { Row, Table } from "./table.ts";

type Applied = { changes: number; auto?: number };

/** The contract in the memory of one process. Commits are synchronous inside, so no reader sees half of one. */
export class InMemoryDriver implements StorageDriver {
  readonly #name: string;
  readonly #tables = new Map<string, InMemoryTable>();
  #closed = false;

  constructor(name: string) {
    this.#name = name;
  }

  async migrate(): Promise<void> {}
  async addTables(): Promise<void> {}

  async select(queries: readonly Select[]): Promise<Row[][]> {
    return queries.map((query) => this.#select(query));
  }

  async count({ table, where }: { table: Table; where?: Where }): Promise<number> {
    let count = 0;
    for (const _ of this.#table(table).find(toConditions(table, where))) count++;
    return count;
  }

  async commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    return commits.map(({ writes }) => {
      try {
        return { result: this.#commit(writes) };
      } catch (error) {
        return { error };
      }
    });
  }

  /** Only one process can see it. */
  watch(): () => void {
    return () => {};
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#tables.clear();
  }

  #select(query: Select): Row[] {
    checkSelect(query);
    const { offset = 0, limit = Infinity } = query;
    const rows: Row[] = [];
    if (limit === 0) return rows;
    let skipped = 0;
    for (const cells of this.#table(query.table).find(
      toConditions(query.table, query.where),
      query.orderBy,
    )) {
      if (skipped++ < offset) continue;
      rows.push(decodeRow(query.table, cells, query.columns));
      if (rows.length === limit) break;
    }
    return rows;
  }

  #commit(writes: readonly Write[]): CommitResult {
    const result: CommitResult = { changes: [], auto: [] };
    const undo: (() => void)[] = [];
    for (const [index, write] of writes.entries()) {
      try {
        const { changes, auto } = this.#apply(write, undo);
        result.changes.push(changes);
        result.auto.push(auto);
      } catch (error) {
        for (const step of undo.reverse()) step();
        if (!AgentError.is(error, "conflict")) throw error;
        throw new AgentError("conflict", error.message, { details: { index, table: write.table.name } });
      }
    }
    return result;
  }

  #apply(write: Write, undo: (() => void)[]): Applied {
    const table = this.#table(write.table);
    if (write.op === "insert") return insert(table, write, undo);
    const found = [...table.find(toConditions(write.table, write.where))];
    if (write.op === "require") {
      if (found.length > 0 !== write.exists) throw conflict(write);
      return { changes: 0 };
    }
    if (write.require && found.length === 0) throw conflict(write);
    const change = write.op === "update" ? changer(write) : undefined;
    for (const current of found) {
      if (change) replace(table, current, change(current), undo);
      else {
        table.remove(current);
        undo.push(() => table.add(current));
      }
    }
    return { changes: found.length };
  }

  #table(table: Table): InMemoryTable {
    if (this.#closed) throw new AgentError("storage-closed", `Storage ${this.#name} is closed`);
    let rows = this.#tables.get(table.name);
    if (!rows) this.#tables.set(table.name, (rows = new InMemoryTable(table)));
    return rows;
  }
}

function insert(table: InMemoryTable, write: Write & { op: "insert" }, undo: (() => void)[]): Applied {
  const { auto } = table.table;
  const cells = encodeNewRow(table.table, write.row);
  const current =
    write.onConflict === undefined || write.onConflict === "fail" ? undefined : table.findByKey(cells);
  if (!current) {
    const added = auto === undefined ? cells : { ...cells, [auto]: table.nextAuto() };
    table.add(added);
    undo.push(() => table.remove(added));
    return { changes: 1, ...(auto !== undefined && { auto: added[auto] as number }) };
  }
  if (write.onConflict === "ignore") return { changes: 0 };
  replace(table, current, { ...current, ...cells }, undo);
  return { changes: 1, ...(auto !== undefined && { auto: current[auto] as number }) };
}

function replace(table: InMemoryTable, current: Cells, next: Cells, undo: (() => void)[]): void {
  table.replace(current, next);
  undo.push(() => table.replace(next, current));
}

/** Applies an update to a row. Everything is checked before the first row changes. */
function changer(write: Write & { op: "update" }): (current: Cells) => Cells {
  const { table, merge = {}, increment = {} } = write;
  const set = encodeRow(table, write.set ?? {});
  for (const column of [...Object.keys(merge), ...Object.keys(increment)]) columnType(table, column);
  return (current) => {
    const next = { ...current, ...set };
    for (const [column, patch] of Object.entries(merge)) {
      next[column] = mergeCell(table, column, next[column] ?? null, patch);
    }
    for (const [column, amount] of Object.entries(increment)) {
      next[column] = Number(next[column] ?? 0) + amount;
    }
    return next;
  };
}

function conflict(write: Write): AgentError {
  return new AgentError("conflict", `A condition on ${write.table.name} does not hold`);
}
