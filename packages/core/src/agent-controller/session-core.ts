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

/** What a controller provides to its sessions. */
export interface SessionHost {
  readonly config: AgentControllerConfig;
  readonly system: System;
  readonly logger: Logger;
  readonly storage: Storage;
  /** Whether the store outlives the process. If not, lists of threads are empty and settings are not kept. */
  readonly lasts: boolean;
  /** The internal agent, which carries out all runs. */
  readonly agent: Agent;
  readonly stateRules: StateRules;
  newId(): string;
  memory(): Promise<ThreadDomain>;
  /** Stores a session's row, unless it is stored already. */
  storeRow(seed: StoredSession): Promise<StoredSession>;
}

/**
 * A session in this process: its row, its thread and its listeners. Everything durable is in the row and on the thread.
 */
export class SessionCore {
  readonly host: SessionHost;
  /** The thread that the row names. */
  readonly thread: FollowedThread;
  readonly #seed: StoredSession;
  #record: SessionRecord | undefined;
  /** What readers already see while it is being stored. */
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

  /** Changes the newest version of the row. `change` may be called more than once. */
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

  /** Moves to another resource: immediately for readers, and for later calls once it is stored. */
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

  /** A row with a change, as a write for another commit. Call `made` when that has succeeded. */
  next(row: StoredSession, patch: SessionPatch): { write: Write; session: StoredSession } {
    return this.#record!.next(row, patch);
  }

  made(session: StoredSession): void {
    this.#record!.made(session);
  }

  async refresh(): Promise<StoredSession> {
    await this.ready();
    return this.#record!.refresh();
  }

  /** Calls back when any process changed the row, and when the session ends. */
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

  /** A closed session emits nothing more, so calls that wait for it are rejected. */
  checkOpen(): void {
    if (this.#closed || this.#record?.isGone)
      throw new AgentError(
        "not-found",
        `Session "${this.row.id}" is closed. Open it again with createSession().`,
      );
  }

  /** A new version of the row, from any process. Emits events for what differs. */
  #changed(before: StoredSession, after: StoredSession | undefined): void {
    if (!after) {
      this.bus.emit({ type: "info", message: `Session "${before.id}" was deleted.` });
      void this.close();
      return;
    }
    const scope = this.#selecting === after.modelId ? "global" : "thread";
    const events = changesOf(before, after, scope);
    for (const event of events) this.bus.emit(event);
    // Rules, grants and similar changes have no specific event.
    if (events.length === 0) this.bus.displayChanged();
    if (!this.thread.isCurrent) void this.thread.follow();
    for (const listener of this.#rowListeners) listener();
  }
}
