import {
  type Commit,
  type CommitOutcome,
  type Row,
  type Select,
  Storage,
  type StorageDriver,
  type Table,
  type Where,
} from "@selvedge/core/storage";

/**
 * Any store, as a world can use it: one operation after another, each of which ends in a turn of its own, and rows always
 * in a certain order. So a seed gives the same trace, whatever the store and however long it takes.
 */
export class OneByOneStorage extends Storage {
  readonly #driver: OneByOneDriver;

  constructor(store: Storage) {
    const driver = new OneByOneDriver(store);
    super(driver, { id: store.id });
    this.#driver = driver;
  }

  get isBusy(): boolean {
    return this.#driver.underWay > 0;
  }
}

class OneByOneDriver implements StorageDriver {
  readonly #store: Storage;
  #last: Promise<unknown> = Promise.resolve();
  underWay = 0;

  constructor(store: Storage) {
    this.#store = store;
  }

  migrate(): Promise<void> {
    return this.#store.init();
  }

  async addTables(): Promise<void> {}

  select(queries: readonly Select[]): Promise<Row[][]> {
    return this.#inTurn(() => this.#store.selectAll(queries.map(ordered)) as Promise<Row[][]>);
  }

  count(query: { table: Table; where?: Where }): Promise<number> {
    return this.#inTurn(() => this.#store.count(query));
  }

  commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    return this.#inTurn(() => this.#store.commitAll(commits));
  }

  watch(): () => void {
    return () => {};
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    this.underWay++;
    // Everything else is done before an answer arrives, even from a store that answers at once.
    const done = this.#last.then(work).finally(nextTurn);
    this.#last = done
      .catch(() => {})
      .then(nextTurn)
      .then(() => void this.underWay--);
    return done;
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function ordered(query: Select): Select {
  const known = query.orderBy ?? [];
  const rest = query.table.key.filter((column) => !known.some((one) => one.column === column));
  return { ...query, orderBy: [...known, ...rest.map((column) => ({ column }))] };
}
