import { AgentError } from "../errors.ts";
import type { System } from "../system.ts";
import type { Domain } from "./domain.ts";
import {
  OM_CHUNKS,
  OM_EVENTS,
  OM_JOBS,
  OM_RECORDS,
  type OmChunkRow,
  type OmEventRow,
  type OmJobRow,
  type OmRecordRow,
  recordKey,
} from "./om-tables.ts";
import { keyOf, newRecord, type OmAddress, partOf } from "./om-address.ts";
import { bindWrites } from "./om-clone.ts";
import { historyOf, type ObservationalMemoryRecord, type OmHistoryOptions, toOmRecord } from "./om-record.ts";
import type { Storage, Write } from "./storage.ts";
import { insert, remove, update } from "./writes.ts";

/** A record as it was read: the row of the log, and the row of the thread's messages, which is the same in thread scope. */
export interface OmState {
  record: OmRecordRow | undefined;
  part: OmRecordRow | undefined;
  /** Active and buffered ones after the asked number, in the order in which they were stored. */
  chunks: OmChunkRow[];
  /** Jobs that are not done: the first of the thread's observations, and reflections. */
  jobs: OmJobRow[];
  /** Chunks for the stream of the thread that wait for a number. */
  events: OmEventRow[];
}

/** Where an observer fails for long, its jobs pile up; a step needs to know the first ones. */
const SOME = 5;
const OPEN: readonly OmJobRow["state"][] = ["waiting", "running", "failed"];

/** The rows of observational memory. */
export class OmDomain {
  readonly #storage: Storage;
  readonly #system: System;

  constructor(storage: Storage, system: System) {
    this.#storage = storage;
    this.#system = system;
  }

  /** All that a step needs to know, in one read. */
  async read(address: OmAddress, afterNumber: number = 0): Promise<OmState> {
    const { threadId } = address;
    const key = keyOf(address);
    const source = partOf(address);
    const open = { thread_id: key, state: { in: OPEN } };
    const orderBy = [{ column: "number" as const }];
    const [rows, chunks, observations, reflections, events] = await this.#storage.selectAll([
      { table: OM_RECORDS, where: { thread_id: key, source: { in: ["", source] } } },
      {
        table: OM_CHUNKS,
        where: { thread_id: key, state: { in: ["active", "buffered"] }, number: { gt: afterNumber } },
        orderBy,
      },
      { table: OM_JOBS, where: { ...open, source: threadId, kind: "observe" }, orderBy, limit: SOME },
      { table: OM_JOBS, where: { ...open, kind: "reflect" }, orderBy, limit: SOME },
      { table: OM_EVENTS, where: { thread_id: key, source: threadId }, orderBy: [{ column: "seq" }] },
    ]);
    const record = rows.find((row) => row.source === "");
    const part = rows.find((row) => row.source === source);
    return { record, part, chunks, jobs: [...observations, ...reflections], events };
  }

  /** Looks up the numbers of the messages that a copied record speaks of. */
  async bind(part: OmRecordRow): Promise<void> {
    try {
      await this.#storage.commit(await bindWrites(this.#storage, part));
    } catch (error) {
      // Another process was faster.
      if (!AgentError.is(error, "conflict")) throw error;
    }
  }

  /** The record of a thread or, where there is none or `threadId` is `null`, of its resource. */
  async getObservationalMemory(
    threadId: string | null,
    resourceId: string,
  ): Promise<ObservationalMemoryRecord | null> {
    const [record] = await this.#records(threadId, resourceId);
    return record ? toOmRecord(this.#storage, record, threadId, (owner) => this.#isLive(owner)) : null;
  }

  /** The generations of a log, newest first. */
  async getObservationalMemoryHistory(
    threadId: string | null,
    resourceId: string,
    limit?: number,
    options: OmHistoryOptions = {},
  ): Promise<ObservationalMemoryRecord[]> {
    const [record] = await this.#records(threadId, resourceId);
    if (!record) return [];
    const current = await toOmRecord(this.#storage, record, threadId, (owner) => this.#isLive(owner));
    return historyOf(this.#storage, record, current, limit, options);
  }

  async initializeObservationalMemory(input: {
    threadId: string | null;
    resourceId: string;
    scope: "thread" | "resource";
    config?: unknown;
  }): Promise<ObservationalMemoryRecord> {
    const { threadId, resourceId, scope, config } = input;
    if (scope === "thread" && threadId === null)
      throw new AgentError("invalid-argument", 'scope "thread" needs a threadId, got null.');
    const address = { scope, threadId: threadId ?? "", resourceId };
    const row = newRecord(address, "", this.#system, config === undefined ? null : config);
    await this.#storage.commit([insert(OM_RECORDS, row, "ignore")]);
    return (await this.getObservationalMemory(threadId, resourceId))!;
  }

  /** Forgets a log: the messages stay, and are observed again when the thread is used. */
  async clearObservationalMemory(threadId: string | null, resourceId: string): Promise<void> {
    const records = await this.#records(threadId, resourceId);
    if (records.length > 0) await this.#storage.commit(clearWrites(records[0]!.thread_id));
  }

  /** Stores a record as it was read elsewhere, with its active observations as one chunk. */
  async insertObservationalMemoryRecord(record: ObservationalMemoryRecord): Promise<void> {
    const { scope, threadId, resourceId } = record;
    const address = { scope, threadId: threadId ?? "", resourceId };
    const now = Math.trunc(this.#system.now());
    const text = record.activeObservations;
    const tokens = record.observationTokenCount;
    await this.#storage.commit([
      insert(OM_RECORDS, {
        ...newRecord(address, "", this.#system, record.config ?? null),
        id: record.id,
        generation: record.generationCount,
        log_tokens: tokens,
        version: 1,
        total_observed: record.totalTokensObserved,
      }),
      ...(text === ""
        ? []
        : [
            insert(OM_CHUNKS, {
              thread_id: keyOf(address),
              id: this.#system.newId(),
              source: threadId ?? "",
              kind: record.originType === "reflection" ? "reflect" : "observe",
              state: "active",
              generation: record.generationCount,
              position: 1,
              upto: 0,
              first_seq: 0,
              last_seq: 0,
              message_count: 0,
              message_tokens: 0,
              text,
              tokens,
              hints: {},
              cycle_id: record.id,
              input_tokens: 0,
              created_at: now,
              activated_at: now,
            }),
          ]),
    ]);
  }

  /** Thresholds of one record, merged with those it has. Creates the record when there is none. */
  async updateObservationalMemoryConfig(
    address: OmAddress,
    config: Record<string, unknown>,
  ): Promise<ObservationalMemoryRecord> {
    await this.#storage.commit([
      insert(OM_RECORDS, newRecord(address, "", this.#system, {}), "ignore"),
      update(OM_RECORDS, {
        where: { thread_id: keyOf(address), source: "" },
        set: { updated_at: Math.trunc(this.#system.now()) },
        merge: { config: config as never },
      }),
    ]);
    return (await this.getObservationalMemory(address.threadId, address.resourceId))!;
  }

  async #records(threadId: string | null, resourceId: string): Promise<OmRecordRow[]> {
    const keys = [
      ...(threadId === null ? [] : [recordKey("thread", threadId, resourceId)]),
      recordKey("resource", "", resourceId),
    ];
    const rows = await this.#storage.select({
      table: OM_RECORDS,
      where: { thread_id: { in: keys }, source: "", resource_id: resourceId },
    });
    return rows.toSorted((a, b) => keys.indexOf(a.thread_id) - keys.indexOf(b.thread_id));
  }

  #isLive(owner: string): boolean {
    return !this.#storage.isOwnerDead(owner);
  }
}

export const OM_DOMAIN: Domain<OmDomain> = {
  name: "observational-memory",
  version: 1,
  tables: [OM_RECORDS, OM_CHUNKS, OM_JOBS, OM_EVENTS],
  open: (storage, system) => new OmDomain(storage, system),
};

/** Removes all rows of a record. */
export function clearWrites(key: string): Write[] {
  const where = { thread_id: key };
  return [
    remove(OM_RECORDS, where),
    remove(OM_CHUNKS, where),
    remove(OM_JOBS, where),
    remove(OM_EVENTS, where),
  ];
}
