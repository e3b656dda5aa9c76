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
  /** The version in which the session came to its thread. */
  threadVersion: number;
  modeId: string;
  /** Empty where no model was chosen. */
  modelId: string;
  tags: Record<string, string>;
  state: Record<string, unknown>;
  rules: { categories: Record<string, string>; tools: Record<string, string> };
  grants: { categories: string[]; tools: string[] };
  /** Models of helpers and the like; each also stands with the thread. */
  settings: Record<string, unknown>;
  /** The process whose own session it is. */
  process: string | undefined;
  /** Rises by one with every change. */
  version: number;
  createdAt: Date;
  updatedAt: Date;
}

/** What a change of a session may change. */
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
  version: 2,
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

  /** Those of the addresses that exist. */
  async getSessions(controllerId: string, ids: readonly string[]): Promise<StoredSession[]> {
    if (ids.length === 0) return [];
    const where = { controller_id: checkId("controllerId", controllerId), id: { in: [...ids] } };
    return (await this.#storage.select({ table: SESSIONS, where })).map(toSession);
  }

  /** Sessions that any process may open, the newest first: of one owner, or of all. */
  listSessions(
    controllerId: string,
    { ownerId, limit }: { ownerId?: string | undefined; limit: number },
  ): Promise<StoredSession[]> {
    const owner = ownerId === undefined ? {} : { owner_id: ownerId };
    return this.#newest(controllerId, { process: null, ...owner }, limit);
  }

  /** Sessions that processes have to themselves, the newest first. */
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

  /** A `conflict` where there is one with the id. */
  async createSession(
    session: Omit<StoredSession, "version" | "threadVersion" | "createdAt" | "updatedAt">,
  ): Promise<StoredSession> {
    const now = new Date(Math.trunc(this.system.now()));
    const stored = { ...session, version: 1, threadVersion: 1, createdAt: now, updatedAt: now };
    await this.#storage.commit([insert(SESSIONS, toRow(stored))], {
      key: session.id,
      id: this.system.newId(),
    });
    return stored;
  }

  /** The next version of a session that was seen. A `conflict` where another was faster. */
  async changeSession(seen: StoredSession, patch: SessionPatch): Promise<StoredSession> {
    const { write, session } = this.change(seen, patch);
    await this.#storage.commit([write], { key: seen.id, id: this.system.newId() });
    return session;
  }

  /** The same as a write, for a commit that changes other things with it. */
  change(seen: StoredSession, patch: SessionPatch): { write: Write; session: StoredSession } {
    const updatedAt = new Date(Math.trunc(this.system.now()));
    const session = { ...seen, ...patch, version: seen.version + 1, updatedAt };
    if (session.threadId !== seen.threadId) session.threadVersion = session.version;
    const { controller_id: _controller, id: _id, created_at: _created, ...set } = toRow(session);
    // One that was deleted and created anew may have come to the same version.
    const where = { ...whereOf(seen), version: seen.version, created_at: seen.createdAt.getTime() };
    return { write: update(SESSIONS, { where, set, require: true }), session };
  }

  /** Takes back a session that was just created, unless somebody has changed it since. */
  async forgetNew(session: StoredSession): Promise<void> {
    const where = { ...whereOf(session), version: 1, created_at: session.createdAt.getTime() };
    await this.#storage.commit([remove(SESSIONS, where)]);
  }

  /** Its threads stay. Answers whether there was one. */
  async deleteSession(address: SessionAddress): Promise<boolean> {
    const { changes } = await this.#storage.commit([remove(SESSIONS, whereOf(address))]);
    return changes[0] !== 0;
  }
}

function whereOf({ controllerId, id }: SessionAddress): { controller_id: string; id: string } {
  return { controller_id: checkId("controllerId", controllerId), id: checkId("id", id) };
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
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  };
}
