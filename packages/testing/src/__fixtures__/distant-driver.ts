import { setImmediate as turn } from "node:timers/promises";
import { AgentError } from "@selvedge/core/errors";
import {
  type Change,
  type Commit,
  type CommitOutcome,
  InMemoryDriver,
  keysOf,
  type Row,
  type Select,
  type StorageDriver,
  type Table,
  type Where,
  KeyLines,
} from "@selvedge/core/storage";
import { Random } from "../simulator/random.ts";

/** What several distant drivers have in common: the rows, the locks, and who wants to hear of changes. */
export class Place {
  readonly rows: InMemoryDriver = new InMemoryDriver("shared");
  readonly locks: KeyLines = new KeyLines();
  readonly random: Random = new Random(7);
  readonly watchers: Set<{ by: StorageDriver; onChange: (change: Change) => void }> = new Set();

  /** Some turns of the event loop, in which others do what they like. */
  async travel(): Promise<void> {
    for (let turns = this.random.between(1, 4); turns > 0; turns--) await turn();
  }
}

/** A correct driver for rows that are elsewhere: everything takes a while, and different keys overtake each other. */
export class DistantDriver implements StorageDriver {
  readonly losesAnswers: boolean = true;
  protected readonly place: Place;
  readonly #lines = new KeyLines();
  readonly #underWay = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(place: Place) {
    this.place = place;
  }

  async migrate(_tables: readonly Table[]): Promise<void> {
    await this.place.travel();
  }

  async addTables(_tables: readonly Table[]): Promise<void> {
    await this.place.travel();
  }

  async select(queries: readonly Select[]): Promise<Row[][]> {
    this.#checkOpen();
    await this.place.travel();
    return this.place.rows.select(queries);
  }

  async count(query: { table: Table; where?: Where }): Promise<number> {
    this.#checkOpen();
    await this.place.travel();
    return this.place.rows.count(query);
  }

  async commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    this.#checkOpen();
    const outcomes = Promise.all(commits.map((commit) => this.#commit(commit)));
    this.#underWay.add(outcomes);
    return outcomes.finally(() => this.#underWay.delete(outcomes));
  }

  #commit(commit: Commit): Promise<CommitOutcome> {
    const keys = keysOf(commit);
    return this.inOrder(keys, () => this.#roundTrip(keys, commit));
  }

  protected inOrder<Value>(keys: readonly string[], work: () => Promise<Value>): Promise<Value> {
    return this.#lines.run(keys, work);
  }

  async #roundTrip(keys: readonly string[], commit: Commit): Promise<CommitOutcome> {
    await this.place.travel();
    const outcome = await this.transaction(keys, commit);
    for (const { by, onChange } of this.place.watchers) if (by !== this) onChange({ keys: new Set(keys) });
    await this.place.travel();
    return outcome;
  }

  protected transaction(keys: readonly string[], commit: Commit): Promise<CommitOutcome> {
    return this.place.locks.run(keys, () => this.apply(commit));
  }

  /** With the locks of the commit's keys. */
  protected async apply(commit: Commit): Promise<CommitOutcome> {
    const [outcome] = await this.place.rows.commit([commit]);
    return outcome!;
  }

  watch(onChange: (change: Change) => void): () => void {
    const watcher = { by: this, onChange };
    this.place.watchers.add(watcher);
    return () => this.place.watchers.delete(watcher);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#underWay);
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new AgentError("storage-closed", "This connection is closed");
  }
}
