import type { Logger } from "../logger.ts";
import type { NotificationDomain } from "../storage/notification-domain.ts";
import type { VersionedNotification } from "../storage/notification-rows.ts";
import type { Storage } from "../storage/storage.ts";
import type { System } from "../system.ts";
import { AgentError, showValue } from "../errors.ts";
import { cronTimes } from "./cron-times.ts";

/** `new Mastra({ notifications: { dispatch } })` */
export interface NotificationDispatchConfig {
  enabled?: boolean;
  /** When due records are looked for. Every minute, when absent. */
  cron?: string;
  /** How many due records are read at once. */
  batchSize?: number;
}

/** Somebody who can deliver. */
interface DispatchAgent {
  readonly id: string;
  deliverNotifications(domain: NotificationDomain, due: readonly VersionedNotification[]): Promise<number>;
}

export interface DispatcherOptions {
  storage: Storage;
  agents: readonly DispatchAgent[];
  system: System;
  logger: Logger;
  config: NotificationDispatchConfig;
  /** How far ahead a claim may reach. */
  claimMs: number;
}

const DEFAULT_BATCH_SIZE = 100;
/** A timer is looked at again after this, because clocks may be set. */
const LONGEST_WAIT_MS = 3_600_000;
/** How soon news from another process are looked at. */
const NEWS_MS = 250;
const RETRY_MS = 60_000;

/**
 * Delivers what is due. It sleeps until the first time of the cron pattern at which something is due, so an app without
 * scheduled notifications does nothing at all. Any number of processes may run one on the same store.
 */
export class NotificationDispatcher {
  readonly #options: DispatcherOptions;
  readonly #batchSize: number;
  #nextTime: ((after: number) => number | undefined) | undefined;
  #domain: NotificationDomain | undefined;
  #stops: (() => void)[] = [];
  #cancelTimer: (() => void) | undefined;
  #cancelNews: (() => void) | undefined;
  #arming: Promise<void> | undefined;
  #armAgain = false;
  #ticking: Promise<void> | undefined;
  #tickedAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { batchSize = DEFAULT_BATCH_SIZE } = options.config;
    if (!Number.isInteger(batchSize) || batchSize < 1) {
      throw new AgentError(
        "invalid-argument",
        `notifications.dispatch.batchSize must be a positive integer, got ${showValue(batchSize)}.`,
      );
    }
    this.#batchSize = batchSize;
  }

  async start(): Promise<void> {
    const { storage, system, claimMs, config } = this.#options;
    this.#nextTime = await cronTimes(config.cron);
    this.#domain = await storage.getStore("notifications");
    if (!this.#domain) {
      throw new AgentError(
        "storage-required",
        "notifications.dispatch requires a notifications storage domain. Pass a storage that has one.",
      );
    }
    if (this.#closed) return;
    this.#stops.push(
      this.#domain.onChange(() => this.#arm()),
      storage.watch(() => this.#hearNews()),
    );
    const isGone = (owner: string) => owner !== storage.ownerId() && storage.isOwnerDead(owner);
    await this.#domain.repairClaims(isGone, Math.trunc(system.now()) + claimMs);
    await this.#arm();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#cancelTimer?.();
    this.#cancelNews?.();
    await this.#arming?.catch(() => {});
    await this.#ticking;
  }

  /** Delivers everything that is due now. */
  tick(): Promise<void> {
    this.#ticking ??= this.#deliverAll()
      .catch((error: unknown) => this.#options.logger.error("Notifications could not be dispatched", error))
      .finally(() => {
        this.#ticking = undefined;
        void this.#arm();
      });
    return this.#ticking;
  }

  async #deliverAll(): Promise<void> {
    const { agents, system, logger } = this.#options;
    const domain = this.#domain!;
    const now = Math.trunc(system.now());
    this.#tickedAt = now;
    const byId = new Map(agents.map((agent) => [agent.id, agent]));
    // What is due again after it was tried waits for the next tick.
    const tried = new Set<string>();
    let offset = 0;
    for (let read = this.#batchSize; read === this.#batchSize && !this.#closed;) {
      const due = await domain.listDue({
        now: new Date(now),
        limit: this.#batchSize,
        offset,
        agentId: [...byId.keys()],
      });
      read = due.length;
      const fresh = due.filter(({ record }) => !tried.has(`${record.threadId}\n${record.id}`));
      offset += due.length - fresh.length;
      for (const { record } of fresh) tried.add(`${record.threadId}\n${record.id}`);
      const groups = Map.groupBy(fresh, ({ record }) =>
        JSON.stringify([record.agentId, record.resourceId, record.threadId]),
      );
      for (const group of groups.values()) {
        const agent = byId.get(group[0]!.record.agentId!)!;
        try {
          offset += await agent.deliverNotifications(domain, group);
        } catch (error) {
          logger.error(
            `Notifications of thread "${group[0]!.record.threadId}" could not be delivered`,
            error,
          );
          offset += group.length;
        }
      }
    }
  }

  /** Sets the timer for the next time there is something to do. One look at a time. */
  #arm(): Promise<void> {
    if (this.#closed || this.#ticking) return Promise.resolve();
    if (this.#arming) {
      this.#armAgain = true;
      return this.#arming;
    }
    this.#arming = this.#setTimer()
      .catch((error: unknown) => {
        if (this.#closed) return;
        this.#options.logger.error("The next notification could not be looked up, and is later", error);
        this.#wait(RETRY_MS, () => void this.#arm());
      })
      .finally(() => {
        this.#arming = undefined;
        if (!this.#armAgain) return;
        this.#armAgain = false;
        void this.#arm();
      });
    return this.#arming;
  }

  async #setTimer(): Promise<void> {
    const { agents, system } = this.#options;
    const due = await this.#domain!.nextDue(agents.map((agent) => agent.id));
    if (this.#closed) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (due === undefined) return;
    const now = system.now();
    // What was due at the last tick and is still there has to wait for the next one.
    const at = this.#nextTime!(Math.max(due - 1, Math.min(this.#tickedAt, now)));
    if (at === undefined) return;
    this.#wait(Math.min(Math.max(0, at - now), LONGEST_WAIT_MS), () => {
      if (system.now() < at) void this.#arm();
      else void this.tick();
    });
  }

  #wait(ms: number, callback: () => void): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#options.system.setTimer(
      ms,
      () => {
        this.#cancelTimer = undefined;
        callback();
      },
      { background: true },
    );
  }

  #hearNews(): void {
    if (this.#closed) return;
    this.#cancelNews ??= this.#options.system.setTimer(
      NEWS_MS,
      () => {
        this.#cancelNews = undefined;
        void this.#arm();
      },
      { background: true },
    );
  }
}
