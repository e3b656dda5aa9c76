import { type AgentControllerDisplayState, changesOf, type EventBus } from "@selvedge/protocol/session";
import type { Agent } from "../agent/agent.ts";
import { AgentError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { ThreadDomain } from "../storage/thread-domain.ts";
import { FollowedThread } from "./followed-thread.ts";
import { SESSION_DOMAIN, type SessionPatch, type StoredSession } from "./session-domain.ts";
import type { Storage, Write } from "../storage/storage.ts";
import type { System } from "../system.ts";
import type { AgentControllerConfig } from "./config.ts";
import { SessionRecord } from "./session-record.ts";
import type { StateRules } from "./state-rules.ts";

/** What a controller lends to its sessions. */
export interface SessionHost {
  readonly config: AgentControllerConfig;
  readonly system: System;
  readonly logger: Logger;
  readonly storage: Storage;
  /** Whether the store outlives the process. Where it does not, lists of threads are empty and settings are not kept. */
  readonly lasts: boolean;
  /** The internal agent, which carries out all runs. */
  readonly agent: Agent;
  readonly stateRules: StateRules;
  newId(): string;
  memory(): Promise<ThreadDomain>;
  /** Puts a session's row into the store, where it is not there yet. */
  storeRow(seed: StoredSession): Promise<StoredSession>;
}

/**
 * A session as this process has it: its row, the thread it is on, and those who listen. All that lasts is in the row and on
 * the thread.
 */
export class SessionCore {
  readonly host: SessionHost;
  /** The thread that the row names. */
  readonly thread: FollowedThread;
  readonly #seed: StoredSession;
  #record: SessionRecord | undefined;
  /** What readers see already, while it is being stored. */
  #expected: SessionPatch | undefined;
  #moving: Promise<void> = Promise.resolve();
  #opening: Promise<void> | undefined;
  #selecting: string | undefined;
  readonly #rowListeners = new Set<() => void>();
  #closed = false;

  constructor(host: SessionHost, seed: StoredSession) {
    this.host = host;
    this.#seed = seed;
    this.thread = new FollowedThread(host, () => this.row);
  }

  /** The newest version of the row that is known here. */
  get row(): StoredSession {
    const row = this.#record?.current ?? this.#seed;
    return this.#expected ? { ...row, ...this.#expected } : row;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  get threadId(): string | undefined {
    return this.row.threadId;
  }

  requireThread(): string {
    if (this.threadId !== undefined) return this.threadId;
    throw new AgentError("not-found", `Session "${this.row.id}" has no thread. Create or select one first.`);
  }

  get bus(): EventBus {
    return this.thread.events.bus;
  }

  get display(): AgentControllerDisplayState {
    return this.thread.events.display;
  }

  /** Resolves when the session is in the store and follows its thread. */
  async ready(): Promise<void> {
    await this.#opened();
    await this.#moving;
  }

  #opened(): Promise<void> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<void> {
    const { host } = this;
    await host.storage.init();
    const domain = await host.storage.domain(SESSION_DOMAIN);
    const stored = await host.storeRow(this.#seed);
    this.#record = new SessionRecord(host.storage, domain, stored);
    this.#record.onChange = (before, after) => this.#changed(before, after);
    if (stored.threadId !== undefined) await this.thread.follow();
  }

  /** Changes the row, on top of what others did. `change` may be asked more than once. */
  async change(
    change: (seen: StoredSession) => Promise<{ patch: SessionPatch; also?: readonly Write[] } | undefined>,
  ): Promise<StoredSession> {
    await this.#opened();
    this.checkOpen();
    const { storage, system } = this.host;
    return this.#record!.change(change, (writes) =>
      storage.commit(writes, { key: this.row.id, id: system.newId() }),
    );
  }

  /** Goes to another resource: for readers at once, and for what comes after it when it is stored. */
  moveTo(resourceId: string): Promise<void> {
    const expected = (this.#expected = { resourceId, threadId: undefined });
    const moved = this.change(async () => ({ patch: expected }))
      .then(() => this.thread.followed())
      .finally(() => {
        if (this.#expected === expected) this.#expected = undefined;
      });
    this.#moving = moved.catch(() => {});
    return moved;
  }

  /** The row with a change, for a commit of somebody else. Say `made` when it is done. */
  next(patch: SessionPatch): { write: Write; session: StoredSession } {
    return this.#record!.next(patch);
  }

  made(session: StoredSession): void {
    this.#record!.made(session);
  }

  async refresh(): Promise<StoredSession> {
    await this.ready();
    return this.#record!.refresh();
  }

  /** Calls back when the row has changed, whoever changed it, and when the session is over. */
  watchRow(listener: () => void): () => void {
    this.#rowListeners.add(listener);
    return () => void this.#rowListeners.delete(listener);
  }

  /** A model that is being selected for more than the thread. */
  willSelect(modelId: string | undefined): void {
    this.#selecting = modelId;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#record?.close();
    const left = this.thread.close();
    for (const listener of this.#rowListeners) listener();
    this.#rowListeners.clear();
    await left;
  }

  /** Of a session that is closed nothing is heard any more: who waited for it would wait forever. */
  checkOpen(): void {
    if (this.#closed || this.#record?.isGone)
      throw new AgentError(
        "not-found",
        `Session "${this.row.id}" is closed. Open it again with createSession().`,
      );
  }

  /** A version of the row, made here or elsewhere: what is different in it happened. */
  #changed(before: StoredSession, after: StoredSession | undefined): void {
    if (!after) {
      this.bus.emit({ type: "info", message: `Session "${before.id}" was deleted.` });
      void this.close();
      return;
    }
    const scope = this.#selecting === after.modelId ? "global" : "thread";
    const events = changesOf(before, after, scope);
    for (const event of events) this.bus.emit(event);
    // Rules, grants and the like have no event of their own.
    if (events.length === 0) this.bus.displayChanged();
    if (!this.thread.isCurrent) void this.thread.follow();
    for (const listener of this.#rowListeners) listener();
  }
}
