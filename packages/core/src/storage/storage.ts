import type { JSONValue } from "@selvedge/protocol";
import { realSystem, type System } from "../system.ts";
import { MemoryDomain } from "./memory-domain.ts";
import { NotificationDomain } from "./notification-domain.ts";
import { checkRetention, DEFAULT_RETENTION, prune, type PruneReport, type Retention } from "./prune.ts";
import { ResponseDomain } from "./response-domain.ts";
import type { Table } from "./tables.ts";

/** A value of a column. `json` columns take any JSON value; everything else a scalar. `null` means "no value". */
export type ColumnValue = JSONValue | undefined;
export type Row = Record<string, ColumnValue>;

/** All that are given must hold. A column without a value passes `ne` and no other comparison. */
export interface Comparison {
  in?: readonly (string | number)[];
  ne?: string | number | null;
  gt?: string | number;
  gte?: string | number;
  lt?: string | number;
  lte?: string | number;
  /** For `json` columns: the object has each of these keys with exactly this value. */
  has?: Readonly<Record<string, string | number | boolean | null>>;
}

/** Conditions on columns, all of which must hold. A scalar means equality, `null` means "is null". */
export type Where = Record<string, string | number | null | Comparison>;

export interface Select {
  table: Table;
  where?: Where;
  /** Text is ordered by code point; rows without a value come first in ascending order. */
  orderBy?: readonly { column: string; direction?: "asc" | "desc" }[];
  limit?: number;
  offset?: number;
  /** The columns to return; all of them unless given. */
  columns?: readonly string[];
}

/**
 * One change. With `require`, matching no row makes the whole commit fail with `conflict`: that is the conditional
 * write everything durable is built from.
 *
 * A column left out of a row (or `undefined`) is left as it is. `merge` changes a json column by key, where `null` and
 * `undefined` delete the key; `increment` adds to a number, taking "no value" for 0.
 */
export type Write =
  | { op: "insert"; table: Table; row: Row; onConflict?: "fail" | "ignore" | "update" }
  | {
      op: "update";
      table: Table;
      where: Where;
      set?: Row;
      merge?: Record<string, Row>;
      increment?: Record<string, number>;
      require?: boolean;
    }
  | { op: "delete"; table: Table; where: Where; require?: boolean }
  | { op: "require"; table: Table; where: Where; exists: boolean };

export interface CommitResult {
  /** Rows each write inserted, changed or deleted. */
  changes: number[];
  /** For an insert into a table with an `auto` column, the number of the row it inserted or updated. */
  auto: (number | undefined)[];
}

/**
 * The storage contract. An adapter implements `migrate`, `select`, `count`, `commit` and `close`; the domains above it
 * (threads and messages, and whatever comes later) are written once, against these, and work on every adapter.
 * `testStore` in `@selvedge/testing` is the contract as a suite.
 */
export abstract class Storage {
  readonly id: string;
  protected readonly system: System;
  readonly #attached = new Map<symbol, unknown>();
  #ownerId: string | undefined;
  #ready: Promise<void> | undefined;
  #domains: StorageDomains | undefined;

  constructor(id: string, system: System = realSystem) {
    this.id = id;
    this.system = system;
  }

  /** Creates or upgrades the tables. Called by itself before first use; calling it again is free. */
  init(): Promise<void> {
    // A failed attempt is forgotten, so that a later call can succeed.
    this.#ready ??= this.migrate().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /** A part of the store by name, or `undefined` when this store does not have it. */
  async getStore<Name extends keyof StorageDomains>(name: Name): Promise<StorageDomains[Name] | undefined> {
    await this.init();
    this.#domains ??= {
      memory: new MemoryDomain(this, this.system),
      notifications: new NotificationDomain(this, this.system),
      responses: new ResponseDomain(this, this.system),
    };
    return Object.hasOwn(this.#domains, name) ? this.#domains[name] : undefined;
  }

  /** Something that lives as long as the store and is shared by all who use it, made when first asked for. */
  attach<Value>(key: symbol, make: () => Value): Value {
    if (!this.#attached.has(key)) this.#attached.set(key, make());
    return this.#attached.get(key) as Value;
  }

  /** The name under which this process takes threads. */
  ownerId(): string {
    this.#ownerId ??= this.system.newId();
    return this.#ownerId;
  }

  /** True when the process behind an owner id is certainly gone. A store that cannot know waits for its lease. */
  isOwnerDead(_ownerId: string): boolean {
    return false;
  }

  /**
   * Deletes chunks, ended runs, idempotency keys and settled notifications that are older than asked, in small commits.
   * Agents do it by themselves every minute; call it for a store that no agent is using.
   */
  async prune(retention: Partial<Retention> = {}): Promise<PruneReport> {
    await this.init();
    return prune(this, this.system, checkRetention({ ...DEFAULT_RETENTION, ...retention }));
  }

  /** Calls back when another process may have changed the store. A store that only one process can see never does. */
  watch(_onChange: () => void): () => void {
    return () => {};
  }

  protected abstract migrate(): Promise<void>;

  /** Rows that match, in the asked order (without one: unspecified). Columns without a value come back as `null`. */
  abstract select(query: Select): Promise<Row[]>;

  /**
   * Rows that match, less those in which one of the terms is in none of the table's `search` columns; of messages, in none
   * of the texts that they and their later steps have. A store may leave
   * out any of these, which is what a full-text index is good for, and must not leave out others: the caller looks again,
   * at lower-case text. Without an index it is `select`.
   */
  selectMentioning(query: Select, _terms: readonly string[]): Promise<Row[]> {
    return this.select(query);
  }

  abstract count(query: { table: Table; where?: Where }): Promise<number>;

  /**
   * Applies all writes in one transaction, each seeing those before it, or none. Throws `conflict` with
   * `details.index` (the position of the write) when a condition fails or a row is already there.
   */
  abstract commit(writes: readonly Write[]): Promise<CommitResult>;

  /** Waits for commits under way. Afterwards every call fails with `storage-closed`; closing again is free. */
  abstract close(): Promise<void>;
}

export interface StorageDomains {
  memory: MemoryDomain;
  /** The notification inbox. */
  notifications: NotificationDomain;
  /** Answers that can be gone on from by their ids. */
  responses: ResponseDomain;
}
