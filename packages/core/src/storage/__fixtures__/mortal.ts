import type { VirtualSystem } from "@selvedge/testing";
import type { InMemoryStorage } from "../in-memory-storage.ts";
import {
  type Commit,
  type CommitOutcome,
  type Row,
  type Select,
  Storage,
  type StorageDriver,
  type Where,
} from "../storage.ts";
import type { Table } from "../table.ts";

/** A process's way to a shared store. At one commit the process dies: before it took effect, or right after. */
class MortalDriver implements StorageDriver {
  readonly #shared: InMemoryStorage;
  readonly #name: string;
  readonly #dead: Set<string>;
  #left: number;
  readonly #after: boolean;

  constructor(shared: InMemoryStorage, name: string, dead: Set<string>, left: number, after: boolean) {
    this.#shared = shared;
    this.#name = name;
    this.#dead = dead;
    this.#left = left;
    this.#after = after;
  }

  get dead(): boolean {
    return this.#dead.has(this.#name);
  }

  async migrate(): Promise<void> {}
  async addTables(): Promise<void> {}

  ownerId(): string {
    return this.#name;
  }

  isOwnerDead(owner: string): boolean {
    return this.#dead.has(owner);
  }

  select(queries: readonly Select[]): Promise<Row[][]> {
    return this.dead ? never() : Promise.all(queries.map((query) => this.#shared.select(query)));
  }

  count(query: { table: Table; where?: Where }): Promise<number> {
    return this.dead ? never() : this.#shared.count(query);
  }

  async commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    if (this.dead) return never();
    const last = this.#left-- === 0;
    if (last) this.#dead.add(this.#name);
    if (last && !this.#after) return never();
    const outcomes = await this.#shared.commitAll(commits);
    return last ? never() : outcomes;
  }

  watch(): () => void {
    return () => {};
  }

  async close(): Promise<void> {}
}

/** A store that one of several processes sees. `dead` has the names of those that died. */
export class Mortal extends Storage {
  readonly driver: MortalDriver;

  constructor(
    shared: InMemoryStorage,
    name: string,
    dead: Set<string>,
    system: VirtualSystem,
    left: number,
    after: boolean,
  ) {
    const driver = new MortalDriver(shared, name, dead, left, after);
    super(driver, { id: name, system });
    this.driver = driver;
  }

  get dead(): boolean {
    return this.driver.dead;
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
