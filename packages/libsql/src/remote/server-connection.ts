import { AgentError } from "@selvedge/core/errors";
import { realSystem, sleep, type System } from "@selvedge/core/storage";
import type { Client, InArgs, InStatement, ResultSet, Transaction } from "@libsql/client/web";
import type { Found, Plan } from "../plan.ts";
import type { Sql } from "../sql-writer.ts";
import { isBusy, isFromServer, isUnsent, toServerError } from "./server-error.ts";

/** Without a reply for this long, the connection counts as lost. */
const ANSWER_MS = 60_000;
/** How long to wait for a server that was reachable before: it may restart. */
const AWAY_MS = 30_000;
const PAUSES_MS: readonly number[] = [0, 50, 100, 200, 400, 800, 1_600];

export interface ServerOptions {
  url: string;
  authToken?: string | undefined;
  system?: System | undefined;
}

/**
 * The connection to a libSQL server, on the official client. A transaction is one request. What certainly had no effect
 * is retried, with growing pauses, while the server is unavailable.
 */
export class ServerConnection {
  /** The address, without anything secret. */
  readonly place: string;
  readonly #options: ServerOptions;
  readonly #system: System;
  #client: Promise<Client> | undefined;
  #wasOpen = false;
  /** A request failed without a response, so the next one first makes sure that the server is there. */
  #isLost = false;
  #isClosing = false;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#system = options.system ?? realSystem;
    this.place = options.url.replace(/[?#].*$/s, "").replace(/\/\/[^/@]*@/, "//");
  }

  /** Several reads in one round trip. */
  async read(statements: readonly Sql[]): Promise<ResultSet[]> {
    const inputs = statements.map(toStatement);
    if (inputs.length === 0) return [];
    return this.#retrying(
      () =>
        this.#send(async (client) =>
          inputs.length === 1 ? [await client.execute(inputs[0]!)] : client.batch(inputs, "read"),
        ),
      (error) => isBusy(error) || !isFromServer(error),
    );
  }

  /** Carries a plan out, one round trip for each of its steps. */
  async readPlan<Value>(plan: Plan<Value>): Promise<Value> {
    return carryOut(plan, (statements) => this.read(statements));
  }

  /**
   * The statements in one transaction, in one request. If the response is lost, it may have taken effect: a
   * `storage-failed` says so.
   */
  async transaction(statements: readonly Sql[]): Promise<ResultSet[]> {
    const inputs = statements.map(toStatement);
    if (this.#isLost) await this.read([{ text: "SELECT 1", params: [] }]);
    return this.#retrying(
      () => this.#send((client) => client.batch(inputs, "write")),
      (error) => isBusy(error) || isUnsent(error),
    );
  }

  /** Reads and writes in one transaction, over several requests. The server ends one that takes too long. */
  async interactive(plan: Plan<readonly Sql[]>): Promise<void> {
    await this.#retrying(
      () =>
        this.#send(async (client) => {
          const transaction: Transaction = await client.transaction("write");
          try {
            const writes = await carryOut(plan, (reads) => transaction.batch(reads.map(toStatement)));
            await transaction.batch(writes.map(toStatement));
            await transaction.commit();
          } finally {
            transaction.close();
          }
        }),
      // The plan has begun: it cannot be repeated.
      () => false,
    );
  }

  /** From now on, nothing is retried. */
  stopRetrying(): void {
    this.#isClosing = true;
  }

  async end(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    client?.close();
  }

  async #open(): Promise<Client> {
    const { createClient } = await import("@libsql/client/web");
    const { url, authToken } = this.#options;
    return createClient({ url, ...(authToken !== undefined && { authToken }) });
  }

  async #send<Value>(work: (client: Client) => Promise<Value>): Promise<Value> {
    this.#client ??= this.#open();
    const client = this.#client;
    try {
      const value = await this.#withDeadline(client.then(work));
      this.#wasOpen = true;
      this.#isLost = false;
      return value;
    } catch (error) {
      // A client remembers that it could not find out what its server speaks. Requests under way keep the old one.
      if (!isFromServer(error)) {
        this.#isLost = true;
        if (this.#client === client) this.#client = undefined;
      }
      throw error;
    }
  }

  async #withDeadline<Value>(work: Promise<Value>): Promise<Value> {
    let cancel = (): void => {};
    const deadline = new Promise<never>((_, reject) => {
      cancel = this.#system.setTimer(ANSWER_MS, () =>
        reject(new Error(`no response within ${ANSWER_MS / 1_000} s`)),
      );
    });
    try {
      return await Promise.race([work, deadline]);
    } finally {
      cancel();
    }
  }

  async #retrying<Value>(work: () => Promise<Value>, isRetried: (error: unknown) => boolean): Promise<Value> {
    const began = this.#system.monotonic();
    for (let attempt = 0; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        const isLate = this.#system.monotonic() - began > AWAY_MS;
        const canWait = this.#wasOpen && !this.#isClosing && !isLate;
        if (AgentError.is(error) || !canWait || !isRetried(error))
          throw toServerError(this.place, error, this.#wasOpen);
      }
      await sleep(this.#system, PAUSES_MS[Math.min(attempt, PAUSES_MS.length - 1)]!);
    }
  }
}

async function carryOut<Value>(
  plan: Plan<Value>,
  read: (statements: readonly Sql[]) => Promise<ResultSet[]>,
): Promise<Value> {
  let step = plan.next();
  while (!step.done) {
    const results = await read(step.value);
    step = plan.next(results.map(({ columns, rows }) => rows.map((row) => toFound(columns, row))));
  }
  return step.value;
}

function toFound(columns: readonly string[], row: ResultSet["rows"][number]): Found {
  return Object.fromEntries(columns.map((column, index) => [column, row[index] as string | number | null]));
}

/** The client sends numbers as fractions, unless they are big integers. */
function toStatement({ text, params }: Sql): InStatement {
  const args: InArgs = params.map((param) =>
    typeof param === "number" && Number.isSafeInteger(param) ? BigInt(param) : param,
  );
  return { sql: text, args };
}
