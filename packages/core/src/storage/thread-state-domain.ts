import type { JSONValue } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import { realSystem, type System } from "../system.ts";
import { checkId } from "./check-id.ts";
import { encodeJson } from "./row-codec.ts";
import type { Storage, Write } from "./storage.ts";
import { THREAD_STATE, type ThreadStateRow } from "./thread-state-table.ts";
import { RUNS } from "./thread-tables.ts";
import { insert, requireRow, update } from "./writes.ts";

/** A named value of a thread. */
export interface ThreadStateValue {
  value: JSONValue;
  /** Rises by one with every change. */
  version: number;
  updatedAt: Date;
}

interface Address {
  threadId: string;
  type: string;
}

const MAX_VALUE_BYTES = 1 << 20;
const ATTEMPTS = 100;

/** Named values of threads, such as a task list. They go with their thread. */
export class ThreadStateDomain {
  readonly #storage: Storage;
  readonly #system: System;

  constructor(storage: Storage, system: System = realSystem) {
    this.#storage = storage;
    this.#system = system;
  }

  async getState(address: Address): Promise<ThreadStateValue | null> {
    const where = { thread_id: checkId("threadId", address?.threadId), type: checkId("type", address.type) };
    const [row] = await this.#storage.select({ table: THREAD_STATE, where, limit: 1 });
    return row ? toValue(row) : null;
  }

  /** All named values of a thread, by type. */
  async listStates(address: Pick<Address, "threadId">): Promise<Map<string, ThreadStateValue>> {
    const where = { thread_id: checkId("threadId", address?.threadId) };
    const rows = await this.#storage.select({ table: THREAD_STATE, where });
    return new Map(rows.map((row) => [row.type, toValue(row)]));
  }

  /** Stores a value. With `expectedVersion`, throws `conflict` if the version differs; 0 means that no value exists. */
  async setState(
    state: Address & { value: unknown; expectedVersion?: number | undefined },
  ): Promise<ThreadStateValue> {
    const { expectedVersion, ...rest } = state;
    if (expectedVersion === undefined) return this.updateState(state, () => rest.value);
    const { write, stored } = this.#write(rest, expectedVersion);
    await this.#storage.commit([write]);
    return stored;
  }

  /**
   * Changes the newest value: `change` may be called more than once. Returning the value it was given changes nothing. With
   * `runId`, throws `superseded` unless that run is active: a late tool call must not change its thread.
   */
  async updateState(
    { runId, ...address }: Address & { runId?: string },
    change: (value: JSONValue | undefined) => unknown,
  ): Promise<ThreadStateValue> {
    const conditions = runId === undefined ? [] : [requireRow(RUNS, { id: runId, state: "running" })];
    for (let attempt = 0; ; attempt++) {
      const seen = await this.getState(address);
      const value = change(seen?.value);
      if (seen && typeof value === "object" && value === seen.value) return seen;
      const { write, stored } = this.#write({ ...address, value }, seen?.version ?? 0);
      try {
        await this.#storage.commit([...conditions, write], {
          key: address.threadId,
          id: this.#system.newId(),
        });
        return stored;
      } catch (error) {
        if (!AgentError.is(error, "conflict")) throw error;
        if (Number(error.details?.["index"]) < conditions.length)
          throw new AgentError("superseded", `Run "${runId}" has ended, so it cannot change its thread.`);
        if (attempt >= ATTEMPTS) throw error;
      }
    }
  }

  #write(
    { threadId, type, value }: Address & { value: unknown },
    version: number,
  ): { write: Write; stored: ThreadStateValue } {
    const bytes = Buffer.byteLength(encodeJson("value", value ?? null));
    if (bytes > MAX_VALUE_BYTES)
      throw new AgentError("limit-exceeded", `value has ${bytes} bytes; the limit is ${MAX_VALUE_BYTES}.`);
    const now = Math.trunc(this.#system.now());
    const where = { thread_id: checkId("threadId", threadId), type: checkId("type", type) };
    const set = { value: value ?? null, version: version + 1, updated_at: now };
    const write =
      version === 0
        ? insert(THREAD_STATE, { ...where, ...set })
        : update(THREAD_STATE, { where: { ...where, version }, set, require: true });
    return { write, stored: toValue({ ...where, ...set }) };
  }
}

/** Puts a value in place of what is there, for a commit that others cannot get in between of. */
export function putThreadState(
  threadId: string,
  type: string,
  value: unknown,
  version: number,
  now: number,
): Write {
  const row = { thread_id: threadId, type, value, version, updated_at: Math.trunc(now) };
  return insert(THREAD_STATE, row, "update");
}

function toValue(row: ThreadStateRow): ThreadStateValue {
  return { value: row.value as JSONValue, version: row.version, updatedAt: new Date(row.updated_at) };
}
