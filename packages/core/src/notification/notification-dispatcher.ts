import type { Logger } from "../logger.ts";
import { CLAIM_MS, type NotificationDomain } from "../storage/notification-domain.ts";
import type { Storage } from "../storage/storage.ts";
import type { System } from "../system.ts";
import { AgentError, showValue } from "../errors.ts";
import { cronTimes } from "./cron-times.ts";
import { type DispatchAgent, dispatchRound, type DueRecords } from "./dispatch-round.ts";

/** `new Mastra({ notifications: { dispatch } })` */
export interface NotificationDispatchConfig {
  enabled?: boolean;
  /** When to check for due records. Default: every minute. */
  cron?: string;
  /** How many due records are read at once. */
  batchSize?: number;
}

/** An agent of the host that reports the end of its runs. */
interface HostedAgent extends DispatchAgent {
  onRunEnd(listener: (threadId: string) => void): () => void;
}

export interface DispatcherOptions {
  storage: Storage;
  agents: readonly HostedAgent[];
  system: System;
  logger: Logger;
  config: NotificationDispatchConfig;
}

const DEFAULT_BATCH_SIZE = 100;
/** Timers are re-armed after this long, because clocks may be changed. */
const LONGEST_WAIT_MS = 3_600_000;
/** How soon changes from another process are checked. */
const NEWS_MS = 250;
const RETRY_MS = 60_000;

/**
 * Delivers what is due. Records that wait for an idle thread are delivered when its run ends, here or in another
 * process; for everything else it sleeps until the first cron time at which something is due. An app without scheduled
 * notifications does no work. Any number of processes may run one on the same store.
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
  /** Threads that may have become idle since the last check: a known set, or any. */
  #ended = new Set<string>();
  #endedElsewhere = false;
  #roundMs = 0;
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

  /** Rejects if it cannot start; a store that fails temporarily is retried. */
  async start(): Promise<void> {
    this.#nextTime = await cronTimes(this.#options.config.cron);
    await this.#begin();
  }

  async #begin(): Promise<void> {
    try {
      await this.#open();
    } catch (error) {
      if (!this.#closed && !AgentError.is(error, "storage-required")) {
        this.#wait(RETRY_MS, () => {
          this.#begin().catch((again: unknown) =>
            this.#options.logger.error("Notifications are not dispatched yet", again),
          );
        });
      }
      throw error;
    }
  }

  async #open(): Promise<void> {
    const { storage, system, agents } = this.#options;
    this.#domain = await storage.getStore("notifications");
    if (!this.#domain) {
      throw new AgentError(
        "storage-required",
        "notifications.dispatch requires a notifications storage domain. Pass a storage that has one.",
      );
    }
    const isGone = (owner: string) => owner !== storage.ownerId() && storage.isOwnerDead(owner);
    // Other processes may claim records in the meantime, with slightly different clocks.
    await this.#domain.repairClaims(isGone, Math.trunc(system.now()) + 2 * CLAIM_MS);
    if (this.#closed) return;
    this.#stops.push(
      this.#domain.onChange(() => this.#arm()),
      storage.watch(() => this.#hearNews()),
      ...agents.map((agent) => agent.onRunEnd((threadId) => this.#onRunEnd(threadId))),
    );
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
  async tick(): Promise<void> {
    await this.#ticking;
    this.#tickedAt = Math.trunc(this.#options.system.now());
    await this.#deliver({});
  }

  /** One round at a time. */
  #deliver(which: DueRecords): Promise<void> {
    const { system, logger } = this.#options;
    const began = system.monotonic();
    this.#ticking ??= dispatchRound(
      { ...this.#options, domain: this.#domain!, batchSize: this.#batchSize, isClosed: () => this.#closed },
      which,
    )
      .catch((error: unknown) => logger.error("Notifications could not be dispatched", error))
      .finally(() => {
        this.#roundMs = system.monotonic() - began;
        this.#ticking = undefined;
        void this.#arm();
      });
    return this.#ticking;
  }

  /** Sets the timer for the next time there is work. One check at a time. */
  #arm(): Promise<void> {
    if (this.#closed || this.#ticking) return Promise.resolve();
    if (this.#arming) {
      this.#armAgain = true;
      return this.#arming;
    }
    this.#arming = this.#setTimer()
      .catch((error: unknown) => {
        if (this.#closed) return;
        this.#options.logger.error("Looking up the next notification failed and will be retried", error);
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
    // From here on, a run that ends reports the records that wait for it.
    const idle = this.#takeEnded();
    const due = await this.#domain!.nextDue(agents.map((agent) => agent.id)).catch((error: unknown) => {
      this.#endedElsewhere ||= idle !== undefined;
      throw error;
    });
    if (this.#closed) return;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (due === undefined) return;
    const now = system.now();
    if (idle && due <= now) return void this.#deliver({ waitsForIdle: true, ...idle });
    // A record that was due at the last tick and is still there waits for the next one.
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

  /** Where runs have ended since the last call: on these threads, or on any. */
  #takeEnded(): { threadId?: readonly string[] } | undefined {
    const threadId = [...this.#ended];
    const elsewhere = this.#endedElsewhere;
    this.#ended.clear();
    this.#endedElsewhere = false;
    if (elsewhere) return {};
    return threadId.length > 0 ? { threadId } : undefined;
  }

  #onRunEnd(threadId: string): void {
    this.#ended.add(threadId);
    void this.#arm();
  }

  #hearNews(): void {
    if (this.#closed) return;
    this.#cancelNews ??= this.#options.system.setTimer(
      // Other processes may write constantly. Checking uses at most a tenth of this process's time.
      Math.max(NEWS_MS, 9 * this.#roundMs),
      () => {
        this.#cancelNews = undefined;
        this.#endedElsewhere = true;
        void this.#arm();
      },
      { background: true },
    );
  }
}
