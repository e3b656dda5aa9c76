import type { StoredMessage, StoredThread } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import { realSystem, sleep, type System } from "../system.ts";
import { deletionListeners } from "./deletion-listeners.ts";
import { domainTables } from "./domain.ts";
import { checkId, checkMetadata, cleanText } from "./check-id.ts";
import { cloneThread, type CloneThreadOptions, type CloneThreadResult } from "./clone-thread.ts";
import {
  assemble,
  listMessages,
  type ListMessagesOptions,
  type ListMessagesResult,
  recentSelect,
} from "./list-messages.ts";
import { type NewMessageRow, toMessageRow, toThread, toThreadRow } from "./message-rows.ts";
import { touchThread } from "./message-writes.ts";
import { forgetSource } from "./om-clone.ts";
import { OM_DOMAIN, type OmDomain } from "./om-domain.ts";
import { recountWrites } from "./om-recount.ts";
import { renewWrites } from "./om-renew.ts";
import type { ObservationalMemoryRecord } from "./om-record.ts";
import { OM_RECORDS } from "./om-tables.ts";
import { type Page, type PageOptions, toWindow } from "./page.ts";
import { resourceWrites, type StoredResource, toResource } from "./resource-rows.ts";
import { searchMessages, type SearchMessagesOptions } from "./search-messages.ts";
import type { Row, Select, Storage, Where, Write } from "./storage.ts";
import type { Table } from "./table.ts";
import {
  MESSAGES,
  MESSAGE_STEPS,
  type MessageRow,
  RESOURCES,
  TABLES,
  THREADS,
  type ThreadRow,
} from "./tables.ts";
import { ACTORS, LANES } from "./thread-tables.ts";
import { withLanes } from "./with-lanes.ts";
import { insert, remove, requireNone, update } from "./writes.ts";
import { noThread } from "./no-thread.ts";

/** How often a thread that gains messages is read again to delete it. */
const DELETE_ATTEMPTS = 20;

export interface ListThreadsOptions extends PageOptions {
  filter?:
    | {
        resourceId?: string | undefined;
        /** Threads whose metadata has all of these keys with these values. */
        metadata?: Record<string, string | number | boolean | null> | undefined;
        /** Threads with this in their title or id, in any case. */
        text?: string | undefined;
      }
    | undefined;
  /** Also those that subagents work on. */
  includeSubagents?: boolean | undefined;
  orderBy?:
    | { field?: "createdAt" | "updatedAt" | undefined; direction?: "ASC" | "DESC" | undefined }
    | undefined;
}

export interface ListThreadsResult extends Page {
  threads: StoredThread[];
}

/** Threads read at a time while looking for a text. */
const LOOKED_AT = 500;

/** Threads, messages and resources on any store. What a run writes while it goes is in `message-writes.ts`. */
export class ThreadDomain {
  readonly #storage: Storage;
  readonly #system: System;

  constructor(storage: Storage, system: System = realSystem) {
    this.#storage = storage;
    this.#system = system;
  }

  async getThreadById({ threadId }: { threadId: string }): Promise<StoredThread | null> {
    const id = checkId("threadId", threadId);
    const [[row], lanes] = await this.#storage.selectAll([
      { table: THREADS, where: { id }, limit: 1 },
      { table: LANES, where: { thread_id: id } },
    ]);
    return row ? withLanes(toThread(row), lanes) : null;
  }

  /** Creates or replaces. A thread stays with its resource: saving it under another one is a `conflict`. */
  async saveThread({ thread }: { thread: StoredThread }): Promise<StoredThread> {
    const row = toThreadRow(thread);
    const where: Where = { id: thread.id, resource_id: { ne: thread.resourceId } };
    await this.#commit(
      [
        requireNone(THREADS, where),
        // Messages may have been accepted for a thread before it is created.
        requireNone(ACTORS, { thread_id: thread.id, resource_id: { ne: thread.resourceId } }),
        insert(THREADS, row, "update"),
      ],
      () => `Thread ${thread.id} does not belong to resource ${thread.resourceId}`,
    );
    return thread;
  }

  /** Changes the title, and the metadata by key; `null` and `undefined` delete a key. */
  async updateThread(patch: {
    id: string;
    title?: string | undefined;
    metadata?: Record<string, unknown> | undefined;
  }): Promise<StoredThread> {
    const id = checkId("id", patch.id);
    const { changes } = await this.#storage.commit([
      update(THREADS, {
        where: { id },
        set: {
          updated_at: this.#now(),
          ...(patch.title !== undefined && { title: cleanText(patch.title) }),
        },
        ...(patch.metadata && { merge: { metadata: checkMetadata("metadata", patch.metadata) as Row } }),
      }),
    ]);
    const row = changes[0] === 1 ? await this.#find(THREADS, id) : undefined;
    if (!row) throw noThread(id);
    return toThread(row);
  }

  /**
   * Deletes the thread with all its messages, and all that waits for it or goes on there: a run under way finds out at
   * its next write. Deleting what is not there is fine.
   */
  async deleteThread({ threadId }: { threadId: string }): Promise<void> {
    const id = checkId("threadId", threadId);
    const tables = [...TABLES, ...(await domainTables(this.#storage))];
    const ofThreads = tables.filter(
      ({ name, partition }) => partition === "thread_id" && name !== MESSAGE_STEPS.name,
    );
    const [row] = await this.#storage.select({ table: THREADS, where: { id }, limit: 1 });
    const shared = row && tables.some(({ name }) => name === OM_RECORDS.name) ? row.resource_id : undefined;
    for (let attempt = 1; ; attempt++) {
      const messages = await this.#storage.select({
        table: MESSAGES,
        where: { thread_id: id },
        orderBy: [{ column: "seq" }],
        columns: ["id", "seq"],
      });
      const ids = messages.map((message) => message.id);
      try {
        await this.#storage.commit([
          // Steps are found through their messages, so one that came meanwhile must be known.
          requireNone(MESSAGES, { thread_id: id, seq: { gt: messages.at(-1)?.seq ?? 0 } }),
          remove(THREADS, { id }),
          ...(ids.length > 0 ? [remove(MESSAGE_STEPS, { message_id: { in: ids } })] : []),
          ...ofThreads.map((table) => remove(table, { thread_id: id })),
          ...(shared === undefined ? [] : await forgetSource(this.#storage, id, shared)),
        ]);
        break;
      } catch (error) {
        if (!AgentError.is(error, "conflict") || attempt === DELETE_ATTEMPTS) throw error;
      }
    }
    for (const tell of deletionListeners(this.#storage)) tell(id);
  }

  /** Newest first, unless asked otherwise. */
  async listThreads(options: ListThreadsOptions = {}): Promise<ListThreadsResult> {
    const window = toWindow(options, 100);
    const { resourceId, metadata } = options.filter ?? {};
    const where: Where<ThreadRow> = {
      ...(resourceId !== undefined && { resource_id: checkId("resourceId", resourceId) }),
      ...(metadata && { metadata: { has: metadata } }),
      ...(!options.includeSubagents && { parent_id: null }),
    };
    const column = options.orderBy?.field === "updatedAt" ? "updated_at" : "created_at";
    const direction = options.orderBy?.direction === "ASC" ? "asc" : "desc";
    // The id makes the order of threads of the same millisecond the same on every page.
    const orderBy = [
      { column, direction },
      { column: "id", direction },
    ] as const;
    const text = options.filter?.text?.toLowerCase() ?? "";
    if (text !== "") {
      const { rows, total } = await this.#threadsWith(text, where, orderBy, window);
      return { threads: rows.map(toThread), ...window.page(total) };
    }
    const [total, rows] = await Promise.all([
      this.#storage.count({ table: THREADS, where }),
      this.#storage.select({
        table: THREADS,
        where,
        orderBy,
        ...(window.limit !== undefined && { limit: window.limit, offset: window.offset }),
      }),
    ]);
    return { threads: rows.map(toThread), ...window.page(total) };
  }

  async listMessages(options: ListMessagesOptions): Promise<ListMessagesResult> {
    return listMessages(this.#storage, options, this.#system);
  }

  /** Messages of a resource that have words in them, the newest first, however old. */
  async searchMessages(options: SearchMessagesOptions): Promise<StoredMessage[]> {
    return searchMessages(this.#storage, options, this.#system);
  }

  /** The messages that exist, in thread order. */
  async listMessagesById({ messageIds }: { messageIds: string[] }): Promise<{ messages: StoredMessage[] }> {
    const rows = await this.#storage.select({
      table: MESSAGES,
      where: { id: { in: messageIds.map((id) => checkId("messageId", id)) } },
      orderBy: [{ column: "seq" }],
    });
    return { messages: await assemble(this.#storage, rows) };
  }

  /** The last `limit` messages of a thread, oldest first. */
  async recentMessages({ threadId, limit }: { threadId: string; limit: number }): Promise<StoredMessage[]> {
    const rows = await this.#storage.select(recentSelect(checkId("threadId", threadId), limit));
    return assemble(this.#storage, rows.reverse());
  }

  /**
   * Adds or replaces whole messages. A replaced message keeps its place; new ones go to the end, the older first. An id
   * that is in use on another thread or resource is a `conflict`.
   */
  async saveMessages({ messages }: { messages: StoredMessage[] }): Promise<{ messages: StoredMessage[] }> {
    if (messages.length === 0) return { messages: [] };
    const rows = messages.map(toMessageRow);
    rows.sort((a, b) => a.created_at - b.created_at);
    const writes = rows.flatMap(messageUpsert);
    const ids = rows.map((row) => row.id);
    const threads = new Map(rows.map((row) => [row.thread_id, row.resource_id]));
    await this.#om();
    await this.#commit(
      [
        ...writes,
        remove(MESSAGE_STEPS, { message_id: { in: ids } }),
        ...Array.from(threads, ([id, resourceId]) => [
          touchThread(id, this.#now()),
          ...recountWrites(id, resourceId ?? id),
        ]).flat(),
      ],
      (index) => `Message ${ownerOf(writes[index])} belongs to another thread or resource; give it a new id`,
    );
    return { messages };
  }

  async deleteMessages(messageIds: readonly string[]): Promise<void> {
    if (messageIds.length === 0) return;
    const ids = messageIds.map((id) => checkId("messageId", id));
    await this.#om();
    await this.#storage.commit([
      ...(await renewWrites(this.#storage, ids, this.#system)),
      remove(MESSAGE_STEPS, { message_id: { in: ids } }),
      remove(MESSAGES, { id: { in: ids } }),
    ]);
  }

  /** Copies a thread with its messages; the copies have ids from `newId`. */
  async cloneThread(options: CloneThreadOptions, newId?: () => string): Promise<CloneThreadResult> {
    return cloneThread(this.#storage, options, {
      newId: newId ?? (() => this.#system.newId()),
      now: this.#now(),
      system: this.#system,
    });
  }

  // Observational memory

  readonly supportsObservationalMemory = true;

  async getObservationalMemory(
    threadId: string | null,
    resourceId: string,
  ): Promise<ObservationalMemoryRecord | null> {
    return (await this.#om()).getObservationalMemory(threadId, resourceId);
  }

  async getObservationalMemoryHistory(
    ...args: Parameters<OmDomain["getObservationalMemoryHistory"]>
  ): Promise<ObservationalMemoryRecord[]> {
    return (await this.#om()).getObservationalMemoryHistory(...args);
  }

  async initializeObservationalMemory(
    ...args: Parameters<OmDomain["initializeObservationalMemory"]>
  ): Promise<ObservationalMemoryRecord> {
    return (await this.#om()).initializeObservationalMemory(...args);
  }

  async clearObservationalMemory(threadId: string | null, resourceId: string): Promise<void> {
    await (await this.#om()).clearObservationalMemory(threadId, resourceId);
  }

  async insertObservationalMemoryRecord(record: ObservationalMemoryRecord): Promise<void> {
    await (await this.#om()).insertObservationalMemoryRecord(record);
  }

  async updateObservationalMemoryConfig(
    ...args: Parameters<OmDomain["updateObservationalMemoryConfig"]>
  ): Promise<ObservationalMemoryRecord> {
    return (await this.#om()).updateObservationalMemoryConfig(...args);
  }

  #om(): Promise<OmDomain> {
    return this.#storage.domain(OM_DOMAIN);
  }

  async getResourceById({ resourceId }: { resourceId: string }): Promise<StoredResource | null> {
    const row = await this.#find(RESOURCES, checkId("resourceId", resourceId));
    return row ? toResource(row) : null;
  }

  /** Creates or replaces. The version rises by one. */
  async saveResource({ resource }: { resource: Omit<StoredResource, "version"> }): Promise<StoredResource> {
    await this.#storage.commit(
      resourceWrites(resource.id, this.#now(), {
        set: { workingMemory: resource.workingMemory ?? null, metadata: resource.metadata ?? null },
        createdAt: resource.createdAt,
      }),
    );
    return this.#resource(resource.id);
  }

  /**
   * Creates or changes; the version rises by one. With `expectedVersion` it is a `conflict` when someone else was
   * faster; 0 means that there must be nothing yet.
   */
  async updateResource(patch: {
    resourceId: string;
    workingMemory?: string | undefined;
    metadata?: Record<string, unknown> | undefined;
    expectedVersion?: number | undefined;
  }): Promise<StoredResource> {
    await this.#commit(
      resourceWrites(patch.resourceId, this.#now(), {
        ...(patch.workingMemory !== undefined && { set: { workingMemory: patch.workingMemory } }),
        ...(patch.metadata && { merge: patch.metadata }),
        expectedVersion: patch.expectedVersion,
      }),
      () =>
        `Resource ${patch.resourceId} is no longer at version ${patch.expectedVersion}; read it and try again`,
    );
    return this.#resource(patch.resourceId);
  }

  /** Looks at all threads, a piece at a time, and keeps those of the page. */
  async #threadsWith(
    text: string,
    where: Where<ThreadRow>,
    orderBy: NonNullable<Select<ThreadRow>["orderBy"]>,
    { offset, limit = Number.POSITIVE_INFINITY }: { offset: number; limit?: number | undefined },
  ): Promise<{ rows: ThreadRow[]; total: number }> {
    const rows: ThreadRow[] = [];
    let total = 0;
    for (let at = 0; ; at += LOOKED_AT) {
      const some = await this.#storage.select({
        table: THREADS,
        where,
        orderBy,
        limit: LOOKED_AT,
        offset: at,
      });
      for (const row of some) {
        const { title = "", id } = toThread(row);
        if (!`${title}\n${id}`.toLowerCase().includes(text)) continue;
        if (total >= offset && rows.length < limit) rows.push(row);
        total++;
      }
      if (some.length < LOOKED_AT) return { rows, total };
      // Others have their turn.
      await sleep(this.#system, 0);
    }
  }

  #now(): number {
    return Math.trunc(this.#system.now());
  }

  async #resource(id: string): Promise<StoredResource> {
    const row = await this.#find(RESOURCES, id);
    if (!row) throw new AgentError("not-found", `Resource ${id} was deleted while it was being saved`);
    return toResource(row);
  }

  async #find<R extends { id: string }>(table: Table<R>, id: string): Promise<R | undefined> {
    const [row] = await this.#storage.select({ table, where: { id } as Where<R>, limit: 1 });
    return row;
  }

  /** Commits, and says a conflict in the words of the caller. */
  async #commit(writes: readonly Write[], describe: (index: number) => string): Promise<void> {
    try {
      await this.#storage.commit(writes);
    } catch (error) {
      if (!AgentError.is(error, "conflict")) throw error;
      throw new AgentError("conflict", describe(Number(error.details?.index)), { cause: error });
    }
  }
}

function messageUpsert(row: NewMessageRow): Write[] {
  const { id } = row;
  const elsewhere: Where<MessageRow>[] = [{ id, thread_id: { ne: row.thread_id } }];
  // `gte: ""` leaves out messages that have no resource yet: those may get one.
  if (row.resource_id !== undefined) {
    elsewhere.push({ id, resource_id: { ne: row.resource_id, gte: "" } });
  }
  return [...elsewhere.map((where) => requireNone(MESSAGES, where)), insert(MESSAGES, row, "update")];
}

function ownerOf(write: Write | undefined): string {
  const id = write?.op === "require" ? write.where.id : write?.op === "insert" ? write.row.id : undefined;
  return typeof id === "string" ? id : "";
}
