import { AgentError } from "@selvedge/core/errors";
import {
  type Change,
  type Commit,
  type CommitOutcome,
  type CommitResult,
  KeyLines,
  keysOf,
  type Row,
  type Select,
  Storage,
  type StorageDriver,
  type Table,
  type Where,
  type Write,
} from "@selvedge/core/storage";
import { CommitWatch } from "./commit-watch.ts";
import type { PlantedFault } from "./planted-faults.ts";
import type { SimSurroundings } from "./sim-app.ts";
import type { SimProcess } from "./sim-process.ts";

type StoreSurroundings = Pick<SimSurroundings, "shared" | "sessions" | "planted"> & {
  /** Called when a commit took effect, with what the code wrote. */
  committed?(writes: readonly Write[]): void;
};

/** One process's view of the store that all processes share. */
export class SimStorage extends Storage {
  /** What was attached to this store, such as the runtime of its threads. */
  readonly attached: unknown[] = [];

  constructor(process: SimProcess, around: StoreSurroundings) {
    super(new SimDriver(process, around), { id: "simulated", system: process });
  }

  override attach<Value>(key: symbol, make: () => Value): Value {
    return super.attach(key, () => {
      const value = make();
      this.attached.push(value);
      return value;
    });
  }
}

/**
 * One process's way to the store. Every operation waits until the world completes it, and may be slow, fail, or take effect
 * without anybody hearing of it. Commits of one key keep their order; others overtake each other.
 */
class SimDriver implements StorageDriver {
  readonly losesAnswers = true;
  readonly #process: SimProcess;
  readonly #shared: Storage;
  readonly #watch: CommitWatch;
  readonly #planted: PlantedFault | undefined;
  readonly #committed: ((writes: readonly Write[]) => void) | undefined;
  readonly #lines = new KeyLines();

  constructor(process: SimProcess, { shared, sessions, planted, committed }: StoreSurroundings) {
    this.#process = process;
    this.#shared = shared;
    this.#planted = planted;
    this.#committed = committed;
    this.#watch = new CommitWatch(process, shared, sessions);
  }

  async migrate(): Promise<void> {}
  async addTables(): Promise<void> {}

  ownerId(): string {
    return this.#process.name;
  }

  isOwnerDead(ownerId: string): boolean {
    const { world } = this.#process;
    if (!world.deathIsKnown) return false;
    return world.processes.some((process) => process.name === ownerId && !process.alive);
  }

  watch(onChange: (change: Change) => void): () => void {
    this.#process.watchers.add(onChange);
    return () => this.#process.watchers.delete(onChange);
  }

  select(queries: readonly Select[]): Promise<Row[][]> {
    const { world } = this.#process;
    const planted = queries.map((query) => this.#planted?.select?.(query, world) ?? query);
    return this.#read(
      () =>
        queries.map(({ table, where }) => `select ${name(table)} ${JSON.stringify(where ?? {})}`).join(", "),
      () => Promise.all(planted.map((query) => this.#shared.select(query))),
    );
  }

  count(query: { table: Table; where?: Where }): Promise<number> {
    return this.#read(
      () => `count ${name(query.table)}`,
      () => this.#shared.count(query),
    );
  }

  commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    return Promise.all(commits.map((commit) => this.#commitInLine(commit)));
  }

  async close(): Promise<void> {}

  #commitInLine(commit: Commit): Promise<CommitOutcome> {
    // As a real store does, take what is written at the time of the call.
    const copy = commit.writes.map(copyWrite);
    const keys = keysOf({ ...commit, writes: copy });
    return this.#lines
      .run(keys, () =>
        this.#process.perform(
          () => describe(copy),
          () => this.#commitNow(copy, keys),
        ),
      )
      .then(
        (result) => ({ result }),
        (error: unknown) => ({ error }),
      );
  }

  #read<Value>(label: () => string, read: () => Promise<Value>): Promise<Value> {
    const { world } = this.#process;
    return this.#process.perform(label, () => {
      if (world.random.chance(world.faults.failedRead)) return Promise.reject(failure("could not be read"));
      return read();
    });
  }

  #commitNow(writes: Write[], keys: readonly string[]): Promise<CommitResult> {
    const { world } = this.#process;
    if (world.random.chance(world.faults.failedCommit)) {
      world.note(() => `${this.#process.name}   fails without effect`);
      return Promise.reject(failure("could not be written"));
    }
    const planted = this.#planted?.commit?.(writes, world) ?? writes;
    const applied = this.#watch.apply(writes, planted).then((result) => {
      this.#committed?.(writes);
      return result;
    });
    for (const other of world.processes) if (other !== this.#process && other.alive) other.tellNews(keys);
    if (!world.random.chance(world.faults.unsureCommit)) return applied;
    world.note(() => `${this.#process.name}   takes effect and reports a failure`);
    world.reached.add("a commit that took effect reported a failure");
    return applied.then(() => {
      throw failure("did not answer");
    });
  }
}

function failure(what: string): AgentError {
  return new AgentError("storage-failed", `The simulated store ${what}.`);
}

function copyWrite(write: Write): Write {
  const { table, ...rest } = write;
  return { ...(JSON.parse(JSON.stringify(rest)) as Omit<Write, "table">), table } as Write;
}

function name(table: Table): string {
  return table.name.replace("selvedge_", "");
}

function describe(writes: readonly Write[]): string {
  return `commit ${writes.map(describeWrite).join(", ")}`;
}

function describeWrite(write: Write): string {
  const what = `${write.op} ${name(write.table)}`;
  if (write.op !== "insert") return `${what} ${JSON.stringify(write.where)}`;
  const { thread_id: threadId, run_id: runId, first, last, id, state } = write.row;
  return `${what} ${JSON.stringify({ threadId, runId, first, last, id, state })}`;
}
