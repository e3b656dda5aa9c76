import { AgentError } from "../errors.ts";
import { compareCells, type Condition, matches } from "./conditions.ts";
import type { Cell, Cells } from "./row-codec.ts";
import type { Table } from "./tables.ts";

export type Order = readonly { column: string; direction?: "asc" | "desc" }[];

/** Rows by the value of an index's first column, each bucket sorted by the following columns. */
interface Index {
  columns: readonly string[];
  unique: boolean;
  /** The index only contains rows with a value in this column. */
  having: string | undefined;
  buckets: Map<Cell, Cells[]>;
}

/**
 * The rows of one table with its declared indexes, so that what is fast in a database is fast here. A stored row is
 * never changed: an update replaces it, and the old row can restore it.
 */
export class InMemoryTable {
  readonly table: Table;
  readonly #indexes: Index[];
  // Order of arrival, the last sorting criterion, like a row id in a database.
  readonly #arrival = new WeakMap<Cells, number>();
  readonly #rows = new Set<Cells>();
  #lastAuto = 0;
  #arrivals = 0;

  constructor(table: Table) {
    this.table = table;
    const { key, indexes, partition } = table;
    // Threads that are only in memory are forgotten often, with all their rows.
    const isFound = [key, ...indexes.map(({ columns }) => columns)].some(([first]) => first === partition);
    const byPartition = partition === undefined || isFound ? [] : [{ columns: [partition] }];
    this.#indexes = [{ columns: key, unique: true }, ...indexes, ...byPartition].map(
      ({ columns, unique = false, having }: Table["indexes"][number]) => ({
        columns,
        unique,
        having,
        buckets: new Map(),
      }),
    );
  }

  nextAuto(): number {
    // Never decremented, not even when a commit fails.
    return ++this.#lastAuto;
  }

  findByKey(cells: Cells): Cells | undefined {
    return this.#twin(this.#indexes[0]!, cells);
  }

  add(cells: Cells): void {
    for (const index of this.#indexes) {
      if (index.unique && this.#twin(index, cells)) {
        throw new AgentError(
          "conflict",
          `${this.table.name} already has a row with this ${index.columns.join(", ")}`,
        );
      }
    }
    this.#rows.add(cells);
    if (!this.#arrival.has(cells)) this.#arrival.set(cells, ++this.#arrivals);
    for (const index of this.#indexes) {
      if (!isIn(index, cells)) continue;
      const first = cells[index.columns[0]!] ?? null;
      const bucket = index.buckets.get(first);
      if (bucket) bucket.splice(this.#position(bucket, index, cells), 0, cells);
      else index.buckets.set(first, [cells]);
    }
  }

  remove(cells: Cells): void {
    this.#rows.delete(cells);
    for (const index of this.#indexes) {
      if (!isIn(index, cells)) continue;
      const first = cells[index.columns[0]!] ?? null;
      const bucket = index.buckets.get(first)!;
      bucket.splice(this.#position(bucket, index, cells), 1);
      if (bucket.length === 0) index.buckets.delete(first);
    }
  }

  /** Replaces `current` with `next`, or changes nothing if that would violate a unique index. */
  replace(current: Cells, next: Cells): void {
    this.remove(current);
    this.#arrival.set(next, this.#arrival.get(current)!);
    try {
      this.add(next);
    } catch (error) {
      this.add(current);
      throw error;
    }
  }

  *find(conditions: readonly Condition[], order: Order = []): Iterable<Cells> {
    const source = this.#source(conditions, order);
    if (source.sorted) {
      for (const cells of source.rows) if (matches(conditions, cells)) yield cells;
      return;
    }
    const found = Array.from(source.rows).filter((cells) => matches(conditions, cells));
    yield* found.sort((a, b) => this.#compare(a, b, order));
  }

  /** The smallest set of rows the indexes offer, in the requested order if one of them has it. */
  #source(conditions: readonly Condition[], order: Order): { rows: Iterable<Cells>; sorted: boolean } {
    const usable = this.#indexes.filter(
      (index) =>
        conditions.some(({ column, op }) => column === index.columns[0] && (op === "eq" || op === "in")) &&
        hasAll(index, conditions),
    );
    const inOrder = usable.find(
      (index) => isOrderOf(index, order) && bucketsOf(index, conditions).length === 1,
    );
    if (inOrder) {
      const [bucket] = bucketsOf(inOrder, conditions);
      const range = rangeOf(bucket!, inOrder.columns[1], conditions);
      return { rows: walk(bucket!, range, order[0]?.direction === "desc"), sorted: true };
    }
    if (usable.length === 0) return { rows: this.#rows, sorted: order.length === 0 };
    const candidates = usable.map((index) =>
      bucketsOf(index, conditions).map((rows) => ({ rows, ...rangeOf(rows, index.columns[1], conditions) })),
    );
    const size = (parts: (typeof candidates)[number]): number =>
      parts.reduce((sum, { start, end }) => sum + Math.max(0, end - start), 0);
    const best = candidates.reduce((a, b) => (size(b) < size(a) ? b : a));
    return {
      rows: best.flatMap(({ rows, start, end }) => rows.slice(start, end)),
      sorted: order.length === 0,
    };
  }

  #twin(index: Index, cells: Cells): Cells | undefined {
    const first = cells[index.columns[0]!] ?? null;
    if (first === null) return undefined;
    const bucket = index.buckets.get(first) ?? [];
    const rest = index.columns.slice(1);
    const at = lowerBound(bucket, (row) => compareBy(row, cells, rest));
    const row = bucket[at];
    // Rows without a value are never equal, as in SQL.
    return row && rest.every((column) => cells[column] != null && row[column] === cells[column])
      ? row
      : undefined;
  }

  #position(bucket: Cells[], index: Index, cells: Cells): number {
    const rest = index.columns.slice(1);
    const arrival = this.#arrival.get(cells)!;
    return lowerBound(bucket, (row) => compareBy(row, cells, rest) || this.#arrival.get(row)! - arrival);
  }

  #compare(a: Cells, b: Cells, order: Order): number {
    for (const { column, direction } of order) {
      const difference = compareCells(a[column] ?? null, b[column] ?? null);
      if (difference !== 0) return direction === "desc" ? -difference : difference;
    }
    return this.#arrival.get(a)! - this.#arrival.get(b)!;
  }
}

/** Whether each bucket of the index is sorted as requested, or in reverse. */
function isOrderOf(index: Index, order: Order): boolean {
  return order.length === 1 && index.columns.length === 2 && order[0]!.column === index.columns[1];
}

function isIn({ having }: Index, cells: Cells): boolean {
  return having === undefined || (cells[having] ?? null) !== null;
}

/** Whether the index contains every row that matches the conditions. */
function hasAll({ having }: Index, conditions: readonly Condition[]): boolean {
  return (
    having === undefined ||
    conditions.some(
      (condition) =>
        condition.column === having &&
        (condition.op === "eq" ||
          condition.op === "in" ||
          (condition.op === "ne" && condition.value === null)),
    )
  );
}

function bucketsOf(index: Index, conditions: readonly Condition[]): Cells[][] {
  const column = index.columns[0]!;
  const equal = conditions.find((condition) => condition.column === column && condition.op === "eq");
  const among = conditions.find((condition) => condition.column === column && condition.op === "in");
  const values =
    equal?.op === "eq" ? [equal.value] : among?.op === "in" ? [...new Set<Cell>(among.values)] : [];
  return values.flatMap((value) => {
    const bucket = index.buckets.get(value);
    return bucket ? [bucket] : [];
  });
}

/** The part of a sorted bucket that matches the conditions on its sorting column. */
function rangeOf(
  bucket: readonly Cells[],
  column: string | undefined,
  conditions: readonly Condition[],
): { start: number; end: number } {
  let start = 0;
  let end = bucket.length;
  if (column === undefined) return { start, end };
  const at = (value: Cell, past: boolean): number =>
    lowerBound(bucket, (row) => {
      const difference = compareCells(row[column] ?? null, value);
      return past && difference === 0 ? -1 : difference;
    });
  for (const condition of conditions) {
    if (condition.column !== column) continue;
    const isEqual = condition.op === "eq";
    if (isEqual || condition.op === "gte") start = Math.max(start, at(condition.value, false));
    if (isEqual || condition.op === "lte") end = Math.min(end, at(condition.value, true));
    if (condition.op === "gt") start = Math.max(start, at(condition.value, true));
    else if (condition.op === "lt") end = Math.min(end, at(condition.value, false));
  }
  return { start, end };
}

function* walk(
  rows: readonly Cells[],
  { start, end }: { start: number; end: number },
  backwards: boolean,
): Iterable<Cells> {
  if (backwards) for (let index = end - 1; index >= start; index--) yield rows[index]!;
  else for (let index = start; index < end; index++) yield rows[index]!;
}

function compareBy(a: Cells, b: Cells, columns: readonly string[]): number {
  for (const column of columns) {
    const difference = compareCells(a[column] ?? null, b[column] ?? null);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The first position whose row does not come before the target. */
function lowerBound(rows: readonly Cells[], compare: (row: Cells) => number): number {
  let low = 0;
  let high = rows.length;
  // Most rows are added at the end.
  if (high > 0 && compare(rows[high - 1]!) < 0) return high;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(rows[middle]!) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
