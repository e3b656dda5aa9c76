import { AgentError } from "../errors.ts";
import type { Domain } from "../storage/domain.ts";
import { realSystem, type System } from "../system.ts";
import { checkId } from "../storage/check-id.ts";
import { SESSIONS, type SessionRow } from "./session-table.ts";
import type { Storage, Where, Write } from "../storage/storage.ts";
import { insert, remove, update } from "../storage/writes.ts";

/** A session of a controller, as it is stored. */
export interface StoredSession {
  controllerId: string;
  id: string;
  ownerId: string;
  resourceId: string;
  defaultResourceId: string;
  threadId: string | undefined;
  /** The version in which the session moved to its thread. */
  threadVersion: number;
  modeId: string;
  /** Empty if no model was chosen. */
  modelId: string;
  tags: Record<string, string>;
  state: Record<string, unknown>;
  rules: { categories: Record<string, string>; tools: Record<string, string> };
  grants: { categories: string[]; tools: string[] };
  /** Settings such as models of subagents. Each is also stored with the thread. */
  settings: Record<string, unknown>;
  /** The process whose own session it is. */
  process: string | undefined;
  /** Rises by one with every change. */
  version: number;
  /** Distinguishes it from one with the same id that was deleted. */
  incarnation?: string | undefined;
  createdAt: Date;
  updatedAt: Date;
}

/** The fields that can be changed. */
export type SessionPatch = Partial<
  Pick<
    StoredSession,
    "resourceId" | "threadId" | "modeId" | "modelId" | "state" | "rules" | "grants" | "settings"
  >
>;

export interface SessionAddress {
  controllerId: string;
  id: string;
}

/** Sessions, for `storage.domain()`. */
export const SESSION_DOMAIN: Domain<SessionDomain> = {
  name: "sessions",
  version: 3,
  readableFrom: 2,
  tables: [SESSIONS] as readonly object[] as Domain["tables"],
  open: (storage, system) => new SessionDomain(storage, system),
};

/** Sessions on any store. Every change is made on a version that was seen. */
export class SessionDomain {
  readonly #storage: Storage;
  readonly system: System;

  constructor(storage: Storage, system: System = realSystem) {
    this.#storage = storage;
    this.system = system;
  }

  async getSession(address: SessionAddress): Promise<StoredSession | null> {
    const [row] = await this.#storage.select({ table: SESSIONS, where: whereOf(address), limit: 1 });
    return row ? toSession(row) : null;
  }

  /** The sessions among these ids that exist. */
  async getSessions(controllerId: string, ids: readonly string[]): Promise<StoredSession[]> {
    if (ids.length === 0) return [];
    const where = { controller_id: checkId("controllerId", controllerId), id: { in: [...ids] } };
    return (await this.#storage.select({ table: SESSIONS, where })).map(toSession);
  }

  /** Sessions that any process may open, newest first: those of one owner, or all. */
  listSessions(
    controllerId: string,
    { ownerId, limit }: { ownerId?: string | undefined; limit: number },
  ): Promise<StoredSession[]> {
    const owner = ownerId === undefined ? {} : { owner_id: ownerId };
    return this.#newest(controllerId, { process: null, ...owner }, limit);
  }

  /** Sessions that belong to single processes, newest first. */
  listOwnSessions(controllerId: string, limit: number): Promise<StoredSession[]> {
    return this.#newest(controllerId, { process: { ne: null } }, limit);
  }

  async #newest(controllerId: string, which: Where<SessionRow>, limit: number): Promise<StoredSession[]> {
    const rows = await this.#storage.select({
      table: SESSIONS,
      where: { controller_id: checkId("controllerId", controllerId), ...which },
      orderBy: [
        { column: "updated_at", direction: "desc" },
        { column: "id", direction: "desc" },
      ],
      limit,
    });
    return rows.map(toSession);
  }

  /** Throws `conflict` if the id is in use. */
  async createSession(
    session: Omit<StoredSession, "version" | "threadVersion" | "incarnation" | "createdAt" | "updatedAt">,
  ): Promise<StoredSession> {
    const now = new Date(Math.trunc(this.system.now()));
    const incarnation = this.system.newId();
    const stored = {
      ...session,
      version: 1,
      threadVersion: 1,
      incarnation,
      createdAt: now,
      updatedAt: now,
    };
    await this.#storage.commit([insert(SESSIONS, toRow(stored))], { key: session.id, id: incarnation });
    return stored;
  }

  /** Changes a session. Throws `conflict` if it is no longer at the version that was seen. */
  async changeSession(seen: StoredSession, patch: SessionPatch): Promise<StoredSession> {
    const { write, session } = this.change(seen, patch);
    await this.#storage.commit([write], { key: seen.id, id: this.system.newId() });
    return session;
  }

  /** The change as a write, for a commit that changes other things too. */
  change(seen: StoredSession, patch: SessionPatch): { write: Write; session: StoredSession } {
    const updatedAt = new Date(Math.trunc(this.system.now()));
    const session = { ...seen, ...patch, version: seen.version + 1, updatedAt };
    if (session.threadId !== seen.threadId) session.threadVersion = session.version;
    const { controller_id: _controller, id: _id, created_at: _created, ...set } = toRow(session);
    const where = { ...whereOfSame(seen), version: seen.version };
    return { write: update(SESSIONS, { where, set, require: true }), session };
  }

  /** Deletes a session that was just created, unless it has been changed since. */
  async forgetNew(session: StoredSession): Promise<void> {
    const where = { ...whereOfSame(session), version: 1 };
    await this.#storage.commit([remove(SESSIONS, where)]);
  }

  /** Returns whether it existed. Its threads stay. */
  async deleteSession(address: SessionAddress): Promise<boolean> {
    const { changes } = await this.#storage.commit([remove(SESSIONS, whereOf(address))]);
    return changes[0] !== 0;
  }
}

function whereOf({ controllerId, id }: SessionAddress): { controller_id: string; id: string } {
  return { controller_id: checkId("controllerId", controllerId), id: checkId("id", id) };
}

/** This session, and not one that was created under its id after it was deleted. */
function whereOfSame(session: StoredSession): Where<SessionRow> {
  const { incarnation, createdAt } = session;
  return { ...whereOf(session), incarnation: incarnation ?? null, created_at: createdAt.getTime() };
}

/** Whether both are states of one session, not of two with the same id. */
export function isSameSession(one: StoredSession, other: StoredSession): boolean {
  return one.incarnation === other.incarnation && one.createdAt.getTime() === other.createdAt.getTime();
}

function toRow(session: StoredSession): SessionRow {
  if (JSON.stringify([session.state, session.rules, session.grants, session.tags]).length > MAX_LENGTH)
    throw new AgentError(
      "limit-exceeded",
      `Session "${session.id}" would have more than ${MAX_LENGTH} characters of state, rules, grants and tags.`,
    );
  return {
    controller_id: session.controllerId,
    id: session.id,
    owner_id: session.ownerId,
    resource_id: session.resourceId,
    default_resource_id: session.defaultResourceId,
    thread_id: session.threadId ?? null,
    thread_version: session.threadVersion,
    mode_id: session.modeId,
    model_id: session.modelId,
    tags: session.tags,
    state: session.state,
    rules: session.rules,
    grants: session.grants,
    settings: session.settings,
    process: session.process ?? null,
    version: session.version,
    incarnation: session.incarnation ?? null,
    created_at: session.createdAt.getTime(),
    updated_at: session.updatedAt.getTime(),
  };
}

const MAX_LENGTH = 1 << 20;

function toSession(row: SessionRow): StoredSession {
  return {
    controllerId: row.controller_id,
    id: row.id,
    ownerId: row.owner_id,
    resourceId: row.resource_id,
    defaultResourceId: row.default_resource_id,
    threadId: row.thread_id ?? undefined,
    threadVersion: row.thread_version ?? row.version,
    modeId: row.mode_id,
    modelId: row.model_id,
    tags: row.tags as StoredSession["tags"],
    state: row.state as StoredSession["state"],
    rules: row.rules as StoredSession["rules"],
    grants: row.grants as StoredSession["grants"],
    settings: row.settings as StoredSession["settings"],
    process: row.process ?? undefined,
    version: row.version,
    incarnation: row.incarnation ?? undefined,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  };
}
