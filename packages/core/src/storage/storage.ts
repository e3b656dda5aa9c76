import { AgentError } from "../errors.ts";
import { realSystem, sleep, type System } from "../system.ts";
import type {
  Change,
  Commit,
  CommitOptions,
  CommitOutcome,
  CommitResult,
  Select,
  StorageDriver,
  Where,
  Write,
} from "./driver.ts";
import { COMMITS } from "./commit-table.ts";
import { addDomain, type Domain } from "./domain.ts";
import { KeyLines } from "./key-lines.ts";
import { keysOf } from "./keys-of.ts";
import { ThreadDomain } from "./thread-domain.ts";
import { ThreadStateDomain } from "./thread-state-domain.ts";
import { NotificationDomain } from "./notification-domain.ts";
import {
  checkRetention,
  DEFAULT_RETENTION,
  KEEP_COMMITS_MS,
  prune,
  type PruneReport,
  type Retention,
} from "./prune.ts";
import type { Table } from "./table.ts";
import { SCORE_DOMAIN, type ScoreDomain } from "./score-domain.ts";
import { TABLES } from "./tables.ts";
import type { WorkflowSnapshots } from "./workflow-snapshots.ts";
import { insert } from "./writes.ts";

export type {
  Change,
  Commit,
  CommitOptions,
  CommitOutcome,
  CommitResult,
  Comparison,
  Select,
  StorageDriver,
  Where,
  Write,
} from "./driver.ts";
export type { ColumnValue, Row } from "./table.ts";

type Selected<Query> = Query extends { table: Table<infer R> } ? R[] : never;

/** How often a commit whose response was lost is sent again, and how long to wait in between. */
const ASK_AGAIN_MS: readonly number[] = [0, 50, 200, 500];

const FLUSH_MS = 20;

/**
 * A store: a driver plus everything built on drivers. It owns the domains (threads and messages, notifications, …), the
 * name under which this process takes threads, and whatever lives as long as the store.
 */
export class Storage {
  readonly id: string;
  protected readonly system: System;
  readonly #driver: StorageDriver;
  readonly #attached = new Map<symbol, unknown>();
  readonly #lines = new KeyLines();
  #ownerId: string | undefined;
  #ready: Promise<void> | undefined;
  #domains: Partial<StorageDomains> | undefined;
  readonly #added = new Map<string, Promise<unknown>>();
  readonly #offered = new Map<string, Domain>([[SCORE_DOMAIN.name, SCORE_DOMAIN]]);

  constructor(driver: StorageDriver, { id, system }: { id: string; system?: System | undefined }) {
    this.id = id;
    this.system = system ?? realSystem;
    this.#driver = driver;
  }

  /** Creates or upgrades the tables. Called automatically before first use; calling it again has no effect. */
  init(): Promise<void> {
    // A failed attempt is forgotten, so that a later call can succeed.
    this.#ready ??= this.#driver.migrate(TABLES).catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /** A part of the store by name, or `undefined` if this store does not have it. */
  async getStore<Name extends keyof StorageDomains>(name: Name): Promise<StorageDomains[Name] | undefined> {
    await this.init();
    this.#domains ??= {
      memory: new ThreadDomain(this, this.system),
      notifications: new NotificationDomain(this, this.system),
      threadState: new ThreadStateDomain(this, this.system),
    };
    const offered = this.#offered.get(name);
    if (offered) return (await this.domain(offered)) as StorageDomains[Name];
    return Object.hasOwn(this.#domains, name) ? this.#domains[name] : undefined;
  }

  /** Makes a domain of another room available to `getStore()`. Its tables are added when it is first asked for. */
  offer(domain: Domain): void {
    this.#offered.set(domain.name, domain);
  }

  /** Opens a domain of the store. Adds its tables on first use; one object per store. */
  domain<Store>(domain: Domain<Store>): Promise<Store> {
    const { name } = domain;
    let store = this.#added.get(name) as Promise<Store> | undefined;
    if (!store) {
      store = this.#add(domain);
      this.#added.set(name, store);
      // A failed attempt is forgotten, so that a later call can succeed.
      store.catch(() => this.#added.delete(name));
    }
    return store;
  }

  async #add<Store>(domain: Domain<Store>): Promise<Store> {
    await this.init();
    await addDomain(this, this.#driver, domain, Math.trunc(this.system.now()));
    return domain.open(this, this.system);
  }

  /** Something that lives as long as the store and is shared by all its users, created on first use. */
  attach<Value>(key: symbol, make: () => Value): Value {
    if (!this.#attached.has(key)) this.#attached.set(key, make());
    return this.#attached.get(key) as Value;
  }

  /** The name under which this process takes threads. */
  ownerId(): string {
    const unique = this.system.newId.bind(this.system);
    this.#ownerId ??= this.#driver.ownerId?.(unique()) ?? unique();
    return this.#ownerId;
  }

  /** How long the chunks of a stream are collected before they are written. The first after a pause never waits. */
  get flushMs(): number {
    return this.#driver.flushMs ?? FLUSH_MS;
  }

  /** True if the process behind an owner id is certainly gone. A store that cannot know waits for its lease. */
  isOwnerDead(ownerId: string): boolean {
    return this.#driver.isOwnerDead?.(ownerId) ?? false;
  }

  /** Calls back when another process may have changed the store. Only speed may depend on it. */
  watch(onChange: (change: Change) => void): () => void {
    return this.#driver.watch(onChange);
  }

  /** The rows that match, in the requested order (otherwise unspecified). Columns without a value are `null`. */
  async select<R extends object>(query: Select<R>): Promise<R[]> {
    const [rows] = await this.#driver.select([query as unknown as Select]);
    return rows as R[];
  }

  /** Several selects in one round trip, read in order. Later ones may see a later moment. */
  async selectAll<const Queries extends readonly { table: { name: string } }[]>(
    queries: Queries,
  ): Promise<{ [Index in keyof Queries]: Selected<Queries[Index]> }> {
    return (await this.#driver.select(queries as unknown as Select[])) as never;
  }

  /** Like `select`, minus rows that mention none of the terms; see `StorageDriver.selectMentioning`. */
  async selectMentioning<R extends object>(query: Select<R>, terms: readonly string[]): Promise<R[]> {
    if (!this.#driver.selectMentioning) return this.select(query);
    return (await this.#driver.selectMentioning(query as unknown as Select, terms)) as R[];
  }

  count<R extends object>(query: { table: Table<R>; where?: Where<R> }): Promise<number>;
  count(query: { table: { readonly name: string } }): Promise<number>;
  count(query: object): Promise<number> {
    return this.#driver.count(query as { table: Table; where?: Where });
  }

  /**
   * Applies all writes in one transaction, each seeing those before it, or none. Throws `conflict` with `details.index`
   * (the position of the write) if a condition fails or a row already exists. With an `id`, a commit whose response was
   * lost is sent again and takes effect once; the numbers of the result are then missing.
   */
  commit(writes: readonly Write[], options: CommitOptions = {}): Promise<CommitResult> {
    const commit = { ...options, writes };
    if (!this.#driver.losesAnswers) return this.#commitNow(commit);
    // A commit that is sent again keeps its place before later ones of its keys.
    return this.#lines.run(keysOf(commit), () =>
      options.id === undefined ? this.#commitNow(commit) : this.#commitOnce(this.#traced(commit)),
    );
  }

  async #commitNow(commit: Commit): Promise<CommitResult> {
    const [outcome] = await this.#driver.commit([commit]);
    return resultOf(outcome!);
  }

  /** Several commits at once, each with its own outcome. */
  commitAll(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    if (!this.#driver.losesAnswers) return this.#driver.commit(commits);
    const together: Commit[] = [];
    // When the first has its turn, all commits of the group have theirs.
    let sent: Promise<CommitOutcome[]> | undefined;
    const outcomes = commits.map(({ writes, ...options }) => {
      const keys = keysOf({ ...options, writes });
      // A commit that must wait for others of its key goes alone, so that no other waits with it.
      if (options.id === undefined || !this.#lines.areFree(keys)) return this.commit(writes, options);
      const commit = this.#traced({ ...options, writes });
      const index = together.push(commit) - 1;
      return this.#lines.run(keys, () => {
        sent ??= this.#driver.commit(together);
        return this.#commitOnce(
          commit,
          sent.then((all) => all[index]!),
        );
      });
    });
    return Promise.all(
      outcomes.map((outcome) =>
        outcome.then(
          (result) => ({ result }),
          (error: unknown) => ({ error }),
        ),
      ),
    );
  }

  /**
   * Deletes old chunks, finished runs, idempotency keys and settled notifications, in small commits. Agents do this
   * every minute; call it for a store that no agent is using.
   */
  async prune(retention: Partial<Retention> = {}): Promise<PruneReport> {
    await this.init();
    return prune(this, this.system, checkRetention({ ...DEFAULT_RETENTION, ...retention }));
  }

  /** Waits for commits in progress. Afterwards every call fails with `storage-closed`; closing again has no effect. */
  async close(): Promise<void> {
    await this.#lines.idle();
    await this.#driver.close();
  }

  /** The commit stores its id, so that it can be told from one that did not take effect. */
  #traced(commit: Commit): Commit {
    const trace = insert(COMMITS, { id: commit.id!, created_at: Math.trunc(this.system.now()) });
    return { ...commit, writes: [trace, ...commit.writes] };
  }

  /** Sends a traced commit until its outcome is known. It may have been sent once already. */
  async #commitOnce(traced: Commit, sent?: Promise<CommitOutcome>): Promise<CommitResult> {
    const began = this.system.monotonic();
    const send = (): Promise<CommitOutcome> => this.#driver.commit([traced]).then(([outcome]) => outcome!);
    for (let attempt = 0; ; attempt++) {
      const answer = attempt === 0 && sent ? sent : send();
      const outcome = await answer.catch((error: unknown) => ({ error }));
      if ("result" in outcome) return withoutFirst(outcome.result);
      const { error } = outcome;
      if (AgentError.is(error, "conflict")) {
        const index = Number(error.details?.["index"]);
        // It is there: an earlier attempt took effect.
        if (index === 0) return { changes: [], auto: [] };
        throw new AgentError("conflict", error.message, { details: { ...error.details, index: index - 1 } });
      }
      const wait = AgentError.is(error, "storage-failed") ? ASK_AGAIN_MS[attempt] : undefined;
      if (wait === undefined) throw error;
      await sleep(this.system, wait);
      // The process was paused for a long time: the trace of the first attempt may be gone.
      if (this.system.monotonic() - began > KEEP_COMMITS_MS / 2) throw error;
    }
  }
}

function resultOf(outcome: CommitOutcome): CommitResult {
  if ("error" in outcome) throw outcome.error;
  return outcome.result;
}

function withoutFirst({ changes, auto }: CommitResult): CommitResult {
  return { changes: changes.slice(1), auto: auto.slice(1) };
}

export interface StorageDomains {
  memory: ThreadDomain;
  /** The notification inbox. */
  notifications: NotificationDomain;
  /** Named values of threads. */
  threadState: ThreadStateDomain;
  /** Runs of workflows, as snapshots. Present once workflows use the store. */
  workflows: WorkflowSnapshots;
  /** What scorers found. */
  scores: ScoreDomain;
}
