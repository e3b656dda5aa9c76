import type {
  JSONValue,
  NotificationPriority,
  NotificationRecord,
  NotificationStatus,
} from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { realSystem, type System } from "../system.ts";
import { checkId, cleanText } from "./check-id.ts";
import {
  checkNotification,
  type NotificationInput,
  type NotificationPatch,
  slots,
  toNotification,
  toNotificationRow,
  toVersioned,
  updateRecord,
  type VersionedNotification,
} from "./notification-rows.ts";
import { NOTIFICATIONS, type NotificationRow } from "./notification-table.ts";
import type { Row, Storage, Where, Write } from "./storage.ts";
import { insert, update } from "./writes.ts";

export interface ListNotificationsOptions {
  threadId: string;
  status?: NotificationStatus | readonly NotificationStatus[] | undefined;
  priority?: NotificationPriority | undefined;
  source?: string | undefined;
  resourceId?: string | undefined;
  agentId?: string | undefined;
  /** Words that must each occur in the summary, kind or source, in any case. */
  search?: string | undefined;
  limit?: number | undefined;
}

export interface DueOptions {
  now: Date;
  limit?: number | undefined;
  offset?: number | undefined;
  agentId?: string | readonly string[] | undefined;
  resourceId?: string | undefined;
  threadId?: string | readonly string[] | undefined;
  /** Only those that a summary announced and that are delivered in full when their thread is idle. */
  waitsForIdle?: boolean | undefined;
}

/** How a sender that decides about a record itself stores it. */
export interface UndecidedClaim {
  owner: string;
  until: number;
  /** Options for the run it wakes, whichever process delivers it. */
  options?: Record<string, JSONValue> | undefined;
  /** Conditions and writes that go with the record. A failed one is reported by its index. */
  writes: readonly Write[];
}

/** How long a claimed record is left alone by others. */
export const CLAIM_MS = 30_000;
const ATTEMPTS = 1000;
const PAGE = 200;
const MAX_SEARCH = 1000;
const MERGED_BYTES: number = 256 * 1024;
const BEFORE_ALL_TIME = -8.64e15;

/** The notification inbox of every thread, on any store. */
export class NotificationDomain {
  readonly storage: Storage;
  readonly system: System;
  readonly #listeners = new Set<() => void>();

  constructor(storage: Storage, system: System = realSystem) {
    this.storage = storage;
    this.system = system;
  }

  /**
   * Adds a record, or merges it into the pending one with the same dedupe or coalesce key: the new summary, payload and
   * priority replace the old ones, attributes and metadata are merged by key, and its count rises by one.
   */
  async createNotification(input: NotificationInput): Promise<NotificationRecord> {
    return (await this.create(input)).record;
  }

  /** Like `createNotification`. With a claim, the record waits for a decision and others leave it alone. */
  async create(input: NotificationInput, claim?: UndecidedClaim): Promise<VersionedNotification> {
    checkNotification(input);
    const slot = slots(input);
    const undecided: Partial<NotificationRow> = claim
      ? {
          undecided: 1,
          claim_owner: claim.owner,
          due_at: claim.until,
          ...(claim.options && { options: claim.options }),
        }
      : {};
    const before = claim?.writes ?? [];
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const now = Math.trunc(this.system.now());
      const merged = await this.#merge(input, slot, now, undecided, before);
      if (merged) return merged;
      const id = this.system.newId();
      const row = { ...toNotificationRow(input, id, now), ...undecided };
      try {
        await this.#commit([...before, insert(NOTIFICATIONS, row)]);
        return this.#require(input.threadId, id);
      } catch (error) {
        // Another sender with the same key was faster: merge into that record.
        if (!AgentError.is(error, "conflict") || Number(error.details?.["index"]) < before.length)
          throw error;
      }
    }
    throw new AgentError(
      "conflict",
      `Notifications of thread ${input.threadId} are changing too fast. Try again.`,
    );
  }

  /** Newest change first. */
  async listNotifications(options: ListNotificationsOptions): Promise<NotificationRecord[]> {
    const { status, priority, source, resourceId, agentId, limit = Number.POSITIVE_INFINITY } = options;
    if (!(limit >= 0)) throw bad(`limit must be a number, 0 or more, got ${showValue(limit)}.`);
    const where: Where = {
      thread_id: checkId("threadId", options.threadId),
      ...(status !== undefined && { status: typeof status === "string" ? status : { in: status } }),
      ...(priority !== undefined && { priority }),
      ...(source !== undefined && { source }),
      ...(resourceId !== undefined && { resource_id: resourceId }),
      ...(agentId !== undefined && { agent_id: agentId }),
    };
    const terms = toTerms(options.search);
    const orderBy = [
      { column: "updated_at", direction: "desc" },
      { column: "seq", direction: "desc" },
    ] as const;
    const found: NotificationRecord[] = [];
    for (let offset = 0; found.length < limit; offset += PAGE) {
      const page = { table: NOTIFICATIONS, where, orderBy, limit: PAGE, offset };
      const rows = await (terms.length > 0
        ? this.storage.selectMentioning(page, terms)
        : this.storage.select(page));
      for (const record of rows.map(toNotification))
        if (found.length < limit && mentions(record, terms)) found.push(record);
      if (rows.length < PAGE) break;
    }
    return found;
  }

  /** Pending records that are due, the most overdue first. */
  async listDueNotifications(options: DueOptions): Promise<NotificationRecord[]> {
    return (await this.listDue(options)).map(({ record }) => record);
  }

  async listDue(options: DueOptions): Promise<VersionedNotification[]> {
    const { now, limit, offset, agentId, resourceId, threadId, waitsForIdle } = options;
    if (!(now instanceof Date) || Number.isNaN(now.getTime()))
      throw bad(`now must be a date, got ${showValue(now)}.`);
    const rows = await this.storage.select({
      table: NOTIFICATIONS,
      where: {
        status: "pending",
        due_at: { lte: now.getTime() },
        ...(agentId !== undefined && { agent_id: oneOf(agentId) }),
        ...(resourceId !== undefined && { resource_id: resourceId }),
        ...(threadId !== undefined && { thread_id: oneOf(threadId) }),
        ...(waitsForIdle && { priority: "high" as const, summary_signal_id: { ne: null } }),
      },
      orderBy: [{ column: "due_at" }, { column: "updated_at" }, { column: "seq" }],
      ...(limit !== undefined && { limit, offset: offset ?? 0 }),
    });
    return rows.map(toVersioned);
  }

  /** When the next record of these agents is due. */
  async nextDue(agentIds: readonly string[]): Promise<number | undefined> {
    const [row] = await this.storage.select({
      table: NOTIFICATIONS,
      where: { status: "pending", due_at: { gte: BEFORE_ALL_TIME }, agent_id: { in: agentIds } },
      orderBy: [{ column: "due_at" }],
      limit: 1,
    });
    return row?.due_at ?? undefined;
  }

  async getNotification(key: { threadId: string; id: string }): Promise<NotificationRecord | null> {
    return (await this.read(key))?.record ?? null;
  }

  async read({ threadId, id }: { threadId: string; id: string }): Promise<VersionedNotification | undefined> {
    const where = { thread_id: checkId("threadId", threadId), id: checkId("id", id) };
    const [row] = await this.storage.select({ table: NOTIFICATIONS, where, limit: 1 });
    return row && toVersioned(row);
  }

  /** Throws `not-found` if there is no such record. */
  async updateNotification({
    threadId,
    id,
    ...patch
  }: { threadId: string; id: string } & NotificationPatch): Promise<NotificationRecord> {
    let version: number | undefined;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const seen = await this.#require(threadId, id);
      if (seen.version === version)
        throw new AgentError("conflict", `Another pending notification has the key of notification ${id}.`);
      ({ version } = seen);
      if (await this.tryUpdate(seen, patch)) return (await this.#require(threadId, id)).record;
    }
    throw new AgentError("conflict", `Notification ${id} is changing too fast. Try again.`);
  }

  /** Changes a record if it is still as it was read; returns whether it was. */
  async tryUpdate(
    seen: VersionedNotification,
    patch: NotificationPatch,
    more?: Partial<NotificationRow>,
  ): Promise<boolean> {
    try {
      await this.#commit([updateRecord(seen, patch, Math.trunc(this.system.now()), more)]);
      return true;
    } catch (error) {
      if (AgentError.is(error, "conflict")) return false;
      throw error;
    }
  }

  /** Claims records for a while; returns those that no one else claimed or changed first. */
  async claim(
    seen: readonly VersionedNotification[],
    owner: string,
    until: number,
  ): Promise<VersionedNotification[]> {
    const { changes } = await this.storage.commit(
      seen.map(({ record, version }): Write =>
        update(NOTIFICATIONS, {
          where: { thread_id: record.threadId, id: record.id, version, status: "pending" },
          set: { claim_owner: owner, due_at: until },
          increment: { version: 1 },
        }),
      ),
    );
    return seen
      .filter((_, index) => changes[index] === 1)
      .map((one) => ({ ...one, version: one.version + 1, claimOwner: owner, dueAt: until }));
  }

  /** Releases claims of owners that are gone, and claims that a clock set back would keep too long. */
  async repairClaims(isGone: (owner: string) => boolean, latest: number): Promise<void> {
    const rows = await this.storage.select({
      table: NOTIFICATIONS,
      where: { status: "pending", due_at: { gte: BEFORE_ALL_TIME }, claim_owner: { ne: null } },
    });
    for (const seen of rows.map(toVersioned)) {
      if (!isGone(seen.claimOwner!) && (seen.dueAt ?? 0) <= latest) continue;
      const due = seen.undecided ? { due_at: Math.trunc(this.system.now()) } : {};
      await this.tryUpdate(seen, {}, due);
    }
  }

  /** Calls back after a change in this process that may set a time. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** For code that changes records with its own writes. */
  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** A store may report failure although the commit succeeded, so listeners are notified in any case. */
  async #commit(writes: readonly Write[]): Promise<void> {
    try {
      await this.storage.commit(writes);
    } finally {
      this.changed();
    }
  }

  async #merge(
    input: NotificationInput,
    slot: ReturnType<typeof slots>,
    now: number,
    undecided: Partial<NotificationRow>,
    before: readonly Write[],
  ): Promise<VersionedNotification | undefined> {
    for (const [column, value] of Object.entries(slot)) {
      if (value === null) continue;
      const [row] = await this.storage.select({ table: NOTIFICATIONS, where: { [column]: value }, limit: 1 });
      if (!row) continue;
      const change = update(NOTIFICATIONS, {
        // Another record may have the key by now.
        where: { [column]: value, id: row.id },
        increment: { coalesced_count: 1, version: 1 },
        require: true,
        ...mergeInto(row, input, { updated_at: now, ...undecided }),
      });
      try {
        await this.#commit([...before, change]);
      } catch (error) {
        if (!AgentError.is(error, "conflict") || Number(error.details?.["index"]) < before.length)
          throw error;
        continue; // It is no longer pending.
      }
      return this.#require(input.threadId, row.id);
    }
    return undefined;
  }

  async #require(threadId: string, id: string): Promise<VersionedNotification> {
    const seen = await this.read({ threadId, id });
    if (!seen) throw new AgentError("not-found", `Thread ${threadId} has no notification ${id}`);
    return seen;
  }
}

/** A new notification as changes to the record that has its key. */
function mergeInto(
  row: NotificationRow,
  input: NotificationInput,
  more: Partial<NotificationRow>,
): { set: Partial<NotificationRow>; merge?: { attributes?: Row; metadata?: Row } } {
  const { attributes, metadata } = input;
  const named: { attributes?: Row; metadata?: Row } = {
    ...(attributes && { attributes }),
    ...(metadata && { metadata: metadata as Row }),
  };
  const set: Partial<NotificationRow> = {
    summary: cleanText(input.summary),
    ...(input.payload !== undefined && { payload: input.payload }),
    ...(input.priority !== undefined && { priority: input.priority }),
    // What was announced of it is no longer complete.
    delivered_signal_id: null,
    ...more,
  };
  // Merging names forever would let the record grow until it could no longer be sent.
  const bytes = JSON.stringify([row.attributes, row.metadata, named]).length;
  return bytes > MERGED_BYTES ? { set: { ...set, ...named } } : { set, merge: named };
}

function oneOf(ids: string | readonly string[]): string | { in: readonly string[] } {
  return typeof ids === "string" ? ids : { in: ids };
}

/** The words of a search, in lower case. */
function toTerms(search: unknown = ""): string[] {
  if (typeof search !== "string") throw bad(`search must be a string, got ${showValue(search)}.`);
  if (search.length > MAX_SEARCH)
    throw bad(`search has ${search.length} characters; the limit is ${MAX_SEARCH}.`);
  return search.toLowerCase().split(/\s+/).filter(Boolean);
}

function mentions({ summary, kind, source }: NotificationRecord, terms: readonly string[]): boolean {
  const texts = [summary, kind, source].map((text) => text.toLowerCase());
  return terms.every((term) => texts.some((text) => text.includes(term)));
}

function bad(message: string): AgentError {
  return new AgentError("invalid-argument", message);
}
