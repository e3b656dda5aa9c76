import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { MessageChannel } from "node:worker_threads";
import { AgentError } from "@selvedge/core/errors";
import { realSystem, sleep, type System } from "@selvedge/core/storage";
import Database from "libsql";
import { parseUrl } from "./parse-url.ts";
import { type Param, Statement } from "./statement.ts";
import { isBusy, toStorageError } from "./to-storage-error.ts";

/** `process-safe` survives the death of the process; `power-safe` (slower) also that of the machine. */
export type Durability = "process-safe" | "power-safe";

export interface ConnectionOptions {
  url: string;
  durability?: Durability | undefined;
  system?: System | undefined;
  /** The memory for cached pages of the file. Default: 16 MiB. */
  cacheKib?: number;
  /** Runs once after opening, inside the same retries. */
  prepare?: (connection: Connection) => void;
}

// The driver blocks the event loop while it waits for a lock, so it waits briefly and the rest is awaited.
const BUSY_TIMEOUT_MS = 10;
const GIVE_UP_AFTER_MS = 5_000;
const MAX_STATEMENTS = 256;
const CACHE_KIB = 16_384;
/** How often a busy connection checks that its file is still there. A write this close to the deletion may as well have preceded it. */
const IDENTITY_MS = 1;

/**
 * One open database. Everything inside `read` and `write` is synchronous, so nothing interleaves within a process;
 * between processes SQLite's lock decides, and a process that finds it taken retries for five seconds.
 */
export class Connection {
  readonly path: string;
  readonly #options: ConnectionOptions;
  readonly #system: System;
  /** Statements by their text, for callers that have only the text. */
  readonly #statements = new Map<string, Statement>();
  readonly #prepared = new Set<Statement>();
  readonly #begin: Statement = this.statement("BEGIN IMMEDIATE");
  readonly #commit: Statement = this.statement("COMMIT");
  #database: Database.Database | undefined;
  #opening: Promise<void> | undefined;
  // Writes that wait for the lock, in the order in which they were requested.
  #lastWrite: Promise<unknown> | undefined;
  #closed = false;
  /** The identity of the file, even if its name is reused. */
  #identity: string | undefined;
  #identifiedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ConnectionOptions) {
    this.path = parseUrl(options.url);
    this.#options = options;
    this.#system = options.system ?? realSystem;
  }

  get isOpen(): boolean {
    return this.#database !== undefined && !this.#closed;
  }

  open(): Promise<void> {
    this.#opening ??= this.#retry(() => this.#openNow()).catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async read<T>(work: () => T): Promise<T> {
    if (!this.#database) await this.open();
    const first = this.#closed ? undefined : this.#tryNow(work);
    return first ? first.result : this.#retry(work);
  }

  /**
   * Runs `work` in a transaction that holds the write lock from the start, and rolls back if it throws. A single
   * statement is a transaction by itself.
   */
  async write<T>(work: () => T, isOneStatement = false): Promise<T> {
    if (this.#closed) throw this.#closedError();
    const transaction = (): T => {
      this.#checkIdentity();
      return isOneStatement ? work() : this.transaction(work);
    };
    // Usually the lock is free.
    const first = this.#lastWrite || !this.#database ? undefined : this.#tryNow(transaction);
    if (first) return first.result;
    // The first write opens the file, and later ones wait in line as behind any other.
    const whenOpen = async (): Promise<T> => {
      if (!this.#database) await this.open();
      return this.#retry(transaction, true);
    };
    const turn: Promise<T> = this.#lastWrite ? this.#lastWrite.then(whenOpen) : whenOpen();
    const settled = turn.then(
      () => {},
      () => {},
    );
    this.#lastWrite = settled;
    try {
      return await turn;
    } finally {
      if (this.#lastWrite === settled) this.#lastWrite = undefined;
    }
  }

  /** For use inside `prepare`; elsewhere use `write`. */
  transaction<T>(work: () => T): T {
    this.#begin.run([]);
    try {
      const result = work();
      this.#commit.run([]);
      return result;
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back.
      if (this.#database?.inTransaction) this.run("ROLLBACK");
      throw error;
    }
  }

  /** For frequently used statements: keeping it avoids the lookup by text. */
  statement(text: string): Statement {
    return new Statement(text, (statement) => this.#prepare(statement));
  }

  run(sql: string, params: readonly Param[] = []): Database.RunResult {
    return this.#find(sql).run(params);
  }

  all<T = Record<string, string | number | null>>(sql: string, params: readonly Param[] = []): T[] {
    return this.#find(sql).all(params);
  }

  /** The first row, for queries that match at most one. */
  get<T = Record<string, string | number | null>>(sql: string, params: readonly Param[]): T | undefined {
    return this.#find(sql).get(params);
  }

  /** Changes when another connection commits; `undefined` while that is unknown. */
  dataVersion(): number | undefined {
    if (!this.#database || this.#closed) return undefined;
    try {
      return this.all<{ data_version: number }>("PRAGMA data_version")[0]?.data_version;
    } catch {
      return undefined;
    }
  }

  exec(sql: string): void {
    this.#open().exec(sql);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#opening?.catch(() => {});
    await this.#lastWrite;
    const database = this.#database;
    if (!database) return;
    try {
      // So that the one file contains everything, for backups by copy.
      if (this.path !== ":memory:") database.pragma("wal_checkpoint(TRUNCATE)");
    } catch {
      // A reader in another process, or a read-only file: committed data is safe in the log beside it.
    }
    this.#forgetStatements();
    this.#database = undefined;
    database.close();
  }

  #openNow(): void {
    if (this.path !== ":memory:") mkdirSync(dirname(this.path), { recursive: true });
    const database = new Database(this.path, { timeout: BUSY_TIMEOUT_MS });
    try {
      database.pragma("journal_mode = WAL");
      // Moving the log into the file is the only time SQLite waits for the disk: less often, in larger pieces.
      database.pragma("wal_autocheckpoint = 4000");
      database.pragma(`cache_size = -${this.#options.cacheKib ?? CACHE_KIB}`);
      database.pragma(`synchronous = ${this.#options.durability === "power-safe" ? "FULL" : "NORMAL"}`);
      this.#database = database;
      this.#identity = this.#readIdentity();
      this.#options.prepare?.(this);
    } catch (error) {
      this.#database = undefined;
      this.#forgetStatements();
      database.close();
      throw error;
    }
  }

  #readIdentity(): string | undefined {
    if (this.path === ":memory:") return undefined;
    const stat = statSync(this.path, { throwIfNoEntry: false });
    return stat && `${stat.dev} ${stat.ino}`;
  }

  /** Writes to a file that was deleted or replaced are lost with it, so they must not be acknowledged. */
  #checkIdentity(): void {
    const now = this.#system.monotonic();
    if (now - this.#identifiedAt < IDENTITY_MS) return;
    if (this.#identity === this.#readIdentity()) {
      this.#identifiedAt = now;
      return;
    }
    throw new AgentError(
      "storage-failed",
      `Database ${this.path} was deleted or replaced while it was open. Nothing was written. Put the file back, or restart the process to open the new one.`,
    );
  }

  #open(): Database.Database {
    if (!this.#database) throw this.#closedError();
    return this.#database;
  }

  #closedError(): AgentError {
    return new AgentError("storage-closed", `Database ${this.path} is closed`);
  }

  #find(text: string): Statement {
    let statement = this.#statements.get(text);
    if (!statement) {
      statement = this.statement(text);
      if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
      this.#statements.set(text, statement);
    }
    return statement;
  }

  #prepare(statement: Statement): Database.Statement {
    const prepared = this.#open().prepare(statement.text);
    if (this.#prepared.size >= MAX_STATEMENTS) {
      const [oldest] = this.#prepared;
      oldest!.forget();
      this.#prepared.delete(oldest!);
    }
    this.#prepared.add(statement);
    return prepared;
  }

  /** Statements keep the database open after `close`. */
  #forgetStatements(): void {
    for (const statement of this.#prepared) statement.forget();
    this.#prepared.clear();
  }

  /** The system's timers let a process exit; a process with something to commit must not. */
  async #pause(ms: number): Promise<void> {
    const { port1: alive } = new MessageChannel();
    alive.ref();
    try {
      await sleep(this.#system, ms);
    } finally {
      alive.close();
    }
  }

  /** Returns `undefined` if another process has the lock. */
  #tryNow<T>(work: () => T): { result: T } | undefined {
    try {
      return { result: work() };
    } catch (error) {
      if (isBusy(error)) return undefined;
      throw toStorageError(this.path, error);
    }
  }

  async #retry<T>(work: () => T, evenWhenClosing = false): Promise<T> {
    const start = this.#system.monotonic();
    for (let attempt = 1; ; attempt++) {
      if (this.#closed && !evenWhenClosing) throw this.#closedError();
      try {
        return work();
      } catch (error) {
        if (!isBusy(error) || this.#system.monotonic() - start > GIVE_UP_AFTER_MS) {
          throw toStorageError(this.path, error);
        }
      }
      await this.#pause(this.#system.random() * Math.min(5 * attempt, 50));
    }
  }
}
