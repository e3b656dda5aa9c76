import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import { AgentError, errorMessage } from "@selvedge/core/errors";
import { sleep, type System } from "@selvedge/core/storage";
import pg from "pg";
import { codeOf, toPgError } from "../to-pg-error.ts";
import type { Statement } from "./sql.ts";
import type { StoreSettings } from "./store-options.ts";

const CONNECT_MS = 10_000;
/** How long to wait for a free connection: more than others need to give theirs back, even on a busy machine. */
const QUEUE_MS = 60_000;
/** Without a reply for this long, the connection counts as lost. */
const ANSWER_MS = 60_000;
/** How long to wait for a server that was reachable before: it may restart or fail over. */
const AWAY_MS = 30_000;
/**
 * A connection on which nothing arrives is checked after this time. Networks drop idle connections without a word, and
 * the one that listens is idle most of the time.
 */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };
const PAUSES_MS: readonly number[] = [0, 50, 100, 200, 400, 800, 1_600];
/** A table could not be locked in time: others use it in this pause. */
const PAUSE_FOR_OTHERS_MS = 3_000;
const MAX_PREPARED = 500;
const COMMIT = "COMMIT";
/** If BEGIN itself failed, the statements after it, which were already sent, would take effect one by one. */
const ONLY_READ = "SET default_transaction_read_only TO on";

/** A transaction that had no effect, and which of its statements is the reason. */
export class Refused extends Error {
  readonly index: number;

  constructor(cause: unknown, index: number) {
    super(errorMessage(cause), { cause });
    this.index = index;
  }
}

/** There was no connection: nothing was sent. */
class Unsent extends Error {
  constructor(cause: unknown) {
    super(errorMessage(cause), { cause });
  }
}

/**
 * The connections of a store. What certainly had no effect is retried, with growing pauses, while the server is unavailable.
 */
export class Connections {
  readonly #settings: StoreSettings;
  readonly #system: System;
  readonly #pool: pg.Pool;
  readonly #opening: readonly Statement[];
  readonly #closing: readonly Statement[];
  readonly #names = new Map<string, string>();
  #wasOpen = false;
  #isClosing = false;

  constructor(settings: StoreSettings, system: System) {
    this.#settings = settings;
    this.#system = system;
    const { pool, pipeline, durability } = settings;
    const synchronous =
      durability === undefined
        ? ""
        : `SET LOCAL synchronous_commit TO ${durability === "power-safe" ? "on" : "off"}; `;
    // Between two round trips, a process that stands still would keep its locks.
    const idle = pipeline ? "" : "SET LOCAL idle_in_transaction_session_timeout TO 10000; ";
    const begin = { text: `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ${synchronous}${idle}` };
    const commit = { text: COMMIT };
    // A connection of the caller's pool is as it was afterwards.
    const guards = pipeline && isPool(pool);
    this.#opening = guards ? [{ text: ONLY_READ }, begin] : [begin];
    this.#closing = guards ? [commit, { text: "RESET default_transaction_read_only" }] : [commit];
    this.#pool = isPool(pool)
      ? pool
      : new pg.Pool({
          connectionTimeoutMillis: QUEUE_MS,
          Client: QuickClient,
          query_timeout: ANSWER_MS,
          ...KEEP_ALIVE,
          application_name: "selvedge",
          allowExitOnIdle: true,
          ...pool,
          pipeline,
          ...(pipeline && { onConnect: (client) => this.#prepare(client) }),
        });
    // A connection that breaks while idle leaves the pool. Without a listener it would end the process.
    if (this.#pool.listenerCount("error") === 0) this.#pool.on("error", () => {});
  }

  /** Several reads in one round trip. */
  read(statements: readonly Statement[]): Promise<pg.QueryResult[]> {
    return this.#retrying(
      () => this.#withClient(async (client) => Promise.all(await this.#send(client, statements))),
      (error) => isAway(causeOf(error)),
    );
  }

  /**
   * The statements in one transaction, and in one round trip: no transaction waits for its client. Throws `Refused` if it
   * certainly had no effect.
   */
  transaction(statements: readonly Statement[]): Promise<pg.QueryResult[]> {
    return this.#retrying(
      () => this.#withClient((client) => this.#transaction(client, statements)),
      (error) =>
        (error instanceof Unsent && isAway(error.cause)) ||
        (error instanceof Refused && (isAway(error.cause) || isTransient(error.cause))),
    );
  }

  /** A connection for several round trips, such as a migration. */
  session<Value>(work: (client: pg.ClientBase) => Promise<Value>): Promise<Value> {
    return this.#retrying(
      () => this.#withClient(work),
      (error) => isAway(causeOf(error)) || isTransient(causeOf(error)) || isLocked(error),
    );
  }

  /** A separate connection, which does not keep the process alive. */
  async listener(config: pg.PoolConfig): Promise<pg.Client> {
    const client = new pg.Client({
      connectionTimeoutMillis: CONNECT_MS,
      ...KEEP_ALIVE,
      application_name: "selvedge news",
      ...config,
      // A pool hides these two.
      password: config.password,
      ssl: config.ssl,
    });
    client.on("error", () => {});
    await client.connect();
    (client.connection.stream as Socket).unref();
    return client;
  }

  /** From now on, nothing is retried. */
  stopRetrying(): void {
    this.#isClosing = true;
  }

  async end(): Promise<void> {
    if (this.#settings.isOwnPool) await this.#pool.end();
  }

  /** Behind a pooler in transaction mode, the setting would be one of a connection that others use. */
  async #prepare(client: pg.ClientBase): Promise<void> {
    if (this.#settings.checksForPooler) {
      const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      const { processID = null } = client as { processID?: number | null };
      if (processID !== null && rows[0]!.pid !== processID) throw isPooler();
    }
    await client.query(ONLY_READ);
  }

  async #transaction(client: pg.PoolClient, statements: readonly Statement[]): Promise<pg.QueryResult[]> {
    const first = this.#opening.length;
    const sent = await this.#send(client, [...this.#opening, ...statements, ...this.#closing]);
    const answers = await Promise.allSettled(sent);
    const committed = first + statements.length;
    const index = answers.findIndex(({ status }, at) => status === "rejected" && at <= committed);
    const failed = answers[index];
    if (failed?.status === "rejected") {
      const { reason } = failed as { reason: unknown };
      const wasEnding = index === committed;
      const hadNoEffect = wasEnding
        ? isFromServer(reason) && reason.severity === "ERROR"
        : isFromServer(reason) || !this.#settings.pipeline;
      // If the server ended during COMMIT, or did not reply, the commit may have taken effect.
      throw hadNoEffect ? new Refused(reason, index - first) : reason;
    }
    return answers
      .slice(first, committed)
      .map((answer) => (answer as PromiseFulfilledResult<pg.QueryResult>).value);
  }

  /** Statements with a name are parsed once per connection. */
  async #send(client: pg.PoolClient, statements: readonly Statement[]): Promise<Promise<pg.QueryResult>[]> {
    const query = ({ text, values }: Statement): Promise<pg.QueryResult> =>
      client.query({ text, ...(values && { values, name: this.#nameOf(text) }), types: TYPES });
    if (!this.#settings.pipeline) return oneByOne(client, statements, query);
    const { stream } = client.connection;
    stream.cork();
    const sent = statements.map(query);
    stream.uncork();
    return sent;
  }

  /**
   * The name is made from the text, as several stores may share a pool: `pg` does not send a statement whose name it knows
   * with another text, and would commit the rest.
   */
  #nameOf(text: string): string | undefined {
    if (!this.#settings.prepare) return undefined;
    let name = this.#names.get(text);
    if (name === undefined && this.#names.size < MAX_PREPARED)
      this.#names.set(
        text,
        (name = `selvedge_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`),
      );
    return name;
  }

  async #withClient<Value>(work: (client: pg.PoolClient) => Promise<Value>): Promise<Value> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw this.#pool.ending ? poolEnded(error) : new Unsent(error);
    });
    this.#wasOpen = true;
    let isBroken = false;
    const onError = (): void => void (isBroken = true);
    client.on("error", onError);
    try {
      return await work(client);
    } catch (error) {
      const cause = causeOf(error);
      isBroken ||= isAway(cause);
      throw error;
    } finally {
      client.off("error", onError);
      client.release(isBroken);
    }
  }

  async #retrying<Value>(work: () => Promise<Value>, isRetried: (error: unknown) => boolean): Promise<Value> {
    const began = this.#system.monotonic();
    for (let attempt = 0; ; attempt++) {
      let pause = PAUSES_MS[Math.min(attempt, PAUSES_MS.length - 1)]!;
      try {
        return await work();
      } catch (error) {
        if (isLocked(error)) pause = PAUSE_FOR_OTHERS_MS;
        const isLate = this.#system.monotonic() - began > AWAY_MS;
        const canWait = this.#wasOpen || codeOf(causeOf(error)) === "57P03";
        if (!isRetried(error) || !canWait || isLate || this.#isClosing)
          throw error instanceof Unsent ? toPgError(error.cause) : error;
      }
      await sleep(this.#system, pause);
    }
  }
}

/** A pool has one limit for two waits: until a connection is free, and until a new one is open. */
class QuickClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super({ ...config, connectionTimeoutMillis: CONNECT_MS });
  }
}

/** For poolers: each statement waits for the one before. What follows a failure is not sent. */
async function oneByOne(
  client: pg.PoolClient,
  statements: readonly Statement[],
  query: (statement: Statement) => Promise<pg.QueryResult>,
): Promise<Promise<pg.QueryResult>[]> {
  const done: Promise<pg.QueryResult>[] = [];
  for (const statement of statements) {
    const answer = query(statement);
    done.push(answer);
    try {
      await answer;
    } catch {
      if (statements.at(-1)!.text === COMMIT) await client.query("ROLLBACK").catch(() => {});
      break;
    }
  }
  return done;
}

/** Whether the server ended the connection, refused it for now, or only reads: another attempt may reach a better one. */
function isAway(error: unknown): boolean {
  if (!isFromServer(error)) return error instanceof Error && !isOurs(error);
  const { code = "" } = error;
  return code.startsWith("08") || AWAY.has(code);
}

/** A standby refuses BEGIN READ WRITE with 0A000, and its message depends on the server's language. */
const AWAY: ReadonlySet<string> = new Set(["0A000", "25006", "53300", "57P01", "57P02", "57P03", "57P05"]);

/** A deadlock or a serialization failure vanishes when the transaction is tried again. */
function isTransient(error: unknown): boolean {
  return ["40001", "40P01"].includes(codeOf(error));
}

function isLocked(error: unknown): boolean {
  return codeOf(error) === "55P03";
}

function causeOf(error: unknown): unknown {
  return error instanceof Refused || error instanceof Unsent ? error.cause : error;
}

/** A pool may come from another copy of `pg`. */
function isFromServer(error: unknown): error is pg.DatabaseError {
  return error instanceof Error && "severity" in error;
}

/** Not an error of a connection. */
function isOurs(error: Error): boolean {
  return AgentError.is(error) || error instanceof TypeError || error instanceof RangeError;
}

function isPooler(): AgentError {
  return new AgentError(
    "invalid-argument",
    "There is a pooler or a proxy between this PostgresStore and PostgreSQL. If it is a pooler in transaction mode, pass " +
      "pipeline: false, prepare: false, and listenConnectionString with the address of the server. If each client keeps " +
      "its own connection, as in session mode, pass pipeline: true.",
  );
}

function poolEnded(cause: unknown): AgentError {
  const message = "The pool of this PostgresStore was ended. Close the store first, and then its pool.";
  return new AgentError("storage-closed", message, { cause });
}

function isPool(pool: pg.Pool | pg.PoolConfig): pool is pg.Pool {
  return "connect" in pool;
}

const INT8 = 20;

/** Integers are safe ones, as the row codec checks. */
export const TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format: "text") =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};
