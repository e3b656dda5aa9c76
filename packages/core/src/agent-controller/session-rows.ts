import { AgentError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { checkId } from "../storage/check-id.ts";
import type { Storage } from "../storage/storage.ts";
import { ACTORS } from "../storage/thread-tables.ts";
import type { System } from "../system.ts";
import { checkTags } from "./check-options.ts";
import { defaultMode, initialRules } from "./check-config.ts";
import type { AgentControllerConfig, CreateSessionOptions } from "./config.ts";
import { SESSION_DOMAIN, type SessionDomain, type StoredSession } from "./session-domain.ts";
import type { StateRules } from "./state-rules.ts";
import { tagsAsMetadata } from "./thread-settings.ts";

const OWN_SESSIONS = 100;

interface RowsHost {
  readonly config: AgentControllerConfig;
  readonly storage: Storage;
  readonly system: System;
  readonly logger: Logger;
  readonly stateRules: StateRules;
}

/** The rows of a controller's sessions: their initial values and their owners. */
export class SessionRows {
  readonly #host: RowsHost;

  constructor(host: RowsHost) {
    this.#host = host;
  }

  domain(): Promise<SessionDomain> {
    return this.#host.storage.domain(SESSION_DOMAIN);
  }

  async find(id: string): Promise<StoredSession | null> {
    return (await this.domain()).getSession({ controllerId: this.#host.config.id, id });
  }

  /** Returns whether it existed. */
  async delete(id: string): Promise<boolean> {
    return (await this.domain()).deleteSession({ controllerId: this.#host.config.id, id });
  }

  /** The row of a session: the existing one, or a new one. */
  async findOrCreate(options: CreateSessionOptions): Promise<{ row: StoredSession; isNew: boolean }> {
    const { id } = options;
    const ownerId = checkId("ownerId", options.ownerId);
    const resourceId = checkId("resourceId", this.#resourceOf(options));
    const tags = checkTags(options.tags);
    const found = await this.find(id);
    const row = found ?? (await this.#create({ id, ownerId, resourceId, tags }));
    if (!row)
      throw new AgentError("conflict", `Session "${id}" was deleted while it was being opened. Try again.`);
    this.requireOwner(row, options);
    return { row, isNew: !found };
  }

  /** The owner of a session is fixed when it is created. */
  requireOwner(row: StoredSession, options: CreateSessionOptions): void {
    const { id, ownerId } = options;
    const asked = this.#resourceOf(options);
    if (row.defaultResourceId === asked && row.ownerId === ownerId) return;
    throw new AgentError("not-found", `There is no session "${id}" of "${ownerId}" for resource "${asked}".`);
  }

  /** Each process has a separate row for its own session, so that two terminals do not affect each other. */
  own(): StoredSession {
    const { config, system } = this.#host;
    const resourceId = config.resourceId ?? config.id;
    return this.#seed({ id: `own-${system.newId()}`, ownerId: config.id, resourceId, process: "here" });
  }

  /** Stores the process's own session, unless it is stored already. */
  async store(seed: StoredSession): Promise<StoredSession> {
    if (seed.version > 0) return seed;
    const { stateRules, storage } = this.#host;
    await stateRules.begin();
    const domain = await this.domain();
    if (seed.process === undefined) return domain.createSession(seed);
    const last = await this.#tidyOwn(domain, seed);
    const inherited = last && (await this.#inherit(seed, last));
    return domain.createSession({ ...seed, ...inherited, process: storage.ownerId() });
  }

  #resourceOf({ resourceId }: CreateSessionOptions): string {
    return resourceId ?? this.#host.config.resourceId ?? this.#host.config.id;
  }

  async #create(
    about: Pick<StoredSession, "id" | "ownerId" | "resourceId" | "tags">,
  ): Promise<StoredSession | null> {
    const { stateRules } = this.#host;
    const initial = await stateRules.begin();
    // Tools find a session's tags in its state, if the schema allows it.
    const known = tagsAsMetadata(about.tags);
    const state =
      Object.keys(known).length === 0
        ? initial
        : await stateRules.changed(initial, known).catch(() => initial);
    try {
      return await (await this.domain()).createSession(this.#seed({ ...about, state }));
    } catch (error) {
      if (!AgentError.is(error, "conflict")) throw error;
      return this.find(about.id);
    }
  }

  #seed(about: Pick<StoredSession, "id" | "ownerId" | "resourceId"> & Partial<StoredSession>): StoredSession {
    const { config, stateRules, system } = this.#host;
    const mode = defaultMode(config);
    const { initial } = stateRules;
    const seeded = initial["currentModelId"];
    const now = new Date(system.now());
    return {
      controllerId: config.id,
      defaultResourceId: about.resourceId,
      threadId: undefined,
      threadVersion: 0,
      modeId: mode.id,
      modelId: typeof seeded === "string" ? seeded : (mode.defaultModelId ?? ""),
      tags: {},
      state: initial,
      rules: initialRules(this.#host.config),
      grants: { categories: [], tools: [] },
      settings: {},
      process: undefined,
      version: 0,
      createdAt: now,
      updatedAt: now,
      ...about,
    };
  }

  /** The next session inherits state and rules, but not grants. */
  async #inherit(seed: StoredSession, last: StoredSession): Promise<Partial<StoredSession>> {
    const { config, logger, stateRules } = this.#host;
    const state = await stateRules.changed(seed.state, last.state).catch((error: unknown) => {
      logger.warn(`The state of the last session of "${config.id}" is no longer valid`, error);
      return seed.state;
    });
    return { state, rules: last.rules, settings: last.settings };
  }

  /** Deletes sessions of dead processes without an active run. Returns the last one. */
  async #tidyOwn(domain: SessionDomain, { resourceId }: StoredSession): Promise<StoredSession | undefined> {
    const { config, storage } = this.#host;
    const own = await domain.listOwnSessions(config.id, OWN_SESSIONS);
    const last = own.find((session) => session.resourceId === resourceId);
    const gone = own.filter(({ process }) => storage.isOwnerDead(process!));
    const threadIds = gone.flatMap(({ threadId }) => threadId ?? []);
    const actors =
      threadIds.length === 0
        ? []
        : await storage.select({ table: ACTORS, where: { thread_id: { in: threadIds } } });
    const busy = new Set(
      actors
        .filter(({ run_id, has_mail }) => run_id !== null || has_mail !== null)
        .map((actor) => actor.thread_id),
    );
    for (const session of gone)
      if (session.threadId === undefined || !busy.has(session.threadId)) await domain.deleteSession(session);
    return last;
  }
}
