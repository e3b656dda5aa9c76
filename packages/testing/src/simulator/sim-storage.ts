import { AgentError } from "@selvedge/core/errors";
import {
  type CommitResult,
  type InMemoryStorage,
  type Row,
  type Select,
  Storage,
  type Table,
  type Where,
  type Write,
} from "@selvedge/core/storage";
import { CommitWatch } from "./commit-watch.ts";
import type { PlantedFault } from "./planted-faults.ts";
import type { SimProcess } from "./sim-process.ts";

/**
 * One process's way to the store that all processes share. Every operation waits until the world completes it, and may
 * be slow, fail, or take effect without anybody hearing of it.
 */
export class SimStorage extends Storage {
  readonly #process: SimProcess;
  readonly #shared: InMemoryStorage;
  readonly #watch: CommitWatch;
  readonly #planted: PlantedFault | undefined;
  /** What was attached to this store, such as the runtime of its threads. */
  readonly attached: unknown[] = [];

  constructor(process: SimProcess, shared: InMemoryStorage, planted: PlantedFault | undefined) {
    super("simulated", process);
    this.#process = process;
    this.#shared = shared;
    this.#planted = planted;
    this.#watch = new CommitWatch(process, shared);
  }

  protected override async migrate(): Promise<void> {}

  override attach<Value>(key: symbol, make: () => Value): Value {
    return super.attach(key, () => {
      const value = make();
      this.attached.push(value);
      return value;
    });
  }

  override ownerId(): string {
    return this.#process.name;
  }

  override isOwnerDead(ownerId: string): boolean {
    const { world } = this.#process;
    if (!world.deathIsKnown) return false;
    return world.processes.some((process) => process.name === ownerId && !process.alive);
  }

  override watch(onChange: () => void): () => void {
    this.#process.watchers.add(onChange);
    return () => this.#process.watchers.delete(onChange);
  }

  override select(query: Select): Promise<Row[]> {
    const planted = this.#planted?.select?.(query, this.#process.world) ?? query;
    return this.#read(
      () => `select ${name(query.table)} ${JSON.stringify(query.where ?? {})}`,
      () => this.#shared.select(planted),
    );
  }

  override count(query: { table: Table; where?: Where }): Promise<number> {
    return this.#read(
      () => `count ${name(query.table)}`,
      () => this.#shared.count(query),
    );
  }

  override commit(writes: readonly Write[]): Promise<CommitResult> {
    // As a real store does, take what is written at the time of the call.
    const copy = writes.map(copyWrite);
    return this.#process.perform(
      () => describe(copy),
      () => this.#commitNow(copy),
    );
  }

  override async close(): Promise<void> {}

  #read<Value>(label: () => string, read: () => Promise<Value>): Promise<Value> {
    const { world } = this.#process;
    return this.#process.perform(label, () => {
      if (world.random.chance(world.faults.failedRead)) return Promise.reject(failure("could not be read"));
      return read();
    });
  }

  #commitNow(writes: Write[]): Promise<CommitResult> {
    const { world } = this.#process;
    if (world.random.chance(world.faults.failedCommit)) {
      world.note(() => `${this.#process.name}   fails without effect`);
      return Promise.reject(failure("could not be written"));
    }
    const applied = this.#watch.apply(writes, this.#planted?.commit?.(writes, world) ?? writes);
    for (const other of world.processes) if (other !== this.#process && other.alive) other.tellNews();
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
