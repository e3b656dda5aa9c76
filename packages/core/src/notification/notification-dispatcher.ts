import type { Logger } from "../logger.ts";
import { CLAIM_MS, type NotificationDomain } from "../storage/notification-domain.ts";
import type { Storage } from "../storage/storage.ts";
import type { System } from "../system.ts";
import { AgentError, showValue } from "../errors.ts";
import { Alarm } from "../schedule/alarm.ts";
import type { NextTime } from "../schedule/cron.ts";
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
const EVERY_MINUTE = "*/1 * * * *";
const MINUTE_MS = 60_000;
/** How soon changes from another process are checked. */
const NEWS_MS = 250;

/**
 * Delivers what is due. Records that wait for an idle thread are delivered when its run ends, here or in another
 * process; for everything else it sleeps until the first cron time at which something is due, or for a minute. Any
 * number of processes may run one on the same store: each delivers the records of its own agents.
 */
export class NotificationDispatcher {
  readonly #options: DispatcherOptions;
  readonly #batchSize: number;
  readonly #alarm: Alarm;
  #nextTime: NextTime | undefined;
  #domain: NotificationDomain | undefined;
  #stops: (() => void)[] = [];
  #cancelNews: (() => void) | undefined;
  /** Threads that may have become idle since the last check: a known set, or any. */
  #ended = new Set<string>();
  #endedElsewhere = false;
  #roundMs = 0;
  #tickedAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const { system, logger } = options;
    const { batchSize = DEFAULT_BATCH_SIZE } = options.config;
    if (!Number.isInteger(batchSize) || batchSize < 1) {
      throw new AgentError(
        "invalid-argument",
        `notifications.dispatch.batchSize must be a positive integer, got ${showValue(batchSize)}.`,
      );
    }
    this.#batchSize = batchSize;
    this.#alarm = new Alarm({
      system,
      logger,
      what: "Dispatching notifications",
      check: () => this.#check(),
    });
  }

  /** Rejects if it cannot start; a store that fails temporarily is retried. */
  async start(): Promise<void> {
    this.#nextTime = await timesOf(this.#options.config.cron);
    await this.#alarm.start();
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#cancelNews?.();
    await this.#alarm.close();
  }

  /** Delivers what is due and returns when to check again. */
  async #check(): Promise<number | undefined> {
    this.#domain ??= await this.#open();
    const { agents, system } = this.#options;
    while (!this.#closed) {
      // From here on, a run that ends reports the records that wait for it.
      const idle = this.#takeEnded();
      const due = await this.#domain.nextDue(agents.map((agent) => agent.id)).catch((error: unknown) => {
        this.#endedElsewhere ||= idle !== undefined;
        throw error;
      });
      if (due === undefined) return undefined;
      const now = system.now();
      if (idle && due <= now) {
        await this.#deliver({ waitsForIdle: true, ...idle });
        continue;
      }
      // A record that was due at the last tick and is still there waits for the next one.
      const at = this.#nextTime!(Math.max(due - 1, Math.min(this.#tickedAt, now)));
      if (at === undefined || at > now) return at;
      this.#tickedAt = Math.trunc(now);
      await this.#deliver({});
    }
    return undefined;
  }

  async #open(): Promise<NotificationDomain> {
    const { storage, system, agents } = this.#options;
    const domain = await storage.getStore("notifications");
    if (!domain) {
      throw new AgentError(
        "storage-required",
        "notifications.dispatch requires a notifications storage domain. Pass a storage that has one.",
      );
    }
    const isGone = (owner: string) => owner !== storage.ownerId() && storage.isOwnerDead(owner);
    // Other processes may claim records in the meantime, with slightly different clocks.
    await domain.repairClaims(isGone, Math.trunc(system.now()) + 2 * CLAIM_MS);
    if (this.#closed) return domain;
    this.#stops.push(
      domain.onChange(() => this.#alarm.ring()),
      storage.watch(() => this.#hearNews()),
      ...agents.map((agent) => agent.onRunEnd((threadId) => this.#onRunEnd(threadId))),
    );
    return domain;
  }

  async #deliver(which: DueRecords): Promise<void> {
    const { system, logger } = this.#options;
    const began = system.monotonic();
    const round = { domain: this.#domain!, batchSize: this.#batchSize, isClosed: () => this.#closed };
    await dispatchRound({ ...this.#options, ...round }, which).catch((error: unknown) =>
      logger.error("Notifications could not be dispatched", error),
    );
    this.#roundMs = system.monotonic() - began;
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
    this.#alarm.ring();
  }

  #hearNews(): void {
    if (this.#closed) return;
    this.#cancelNews ??= this.#options.system.setTimer(
      // Other processes may write constantly. Checking uses at most a tenth of this process's time.
      Math.max(NEWS_MS, 9 * this.#roundMs),
      () => {
        this.#cancelNews = undefined;
        this.#endedElsewhere = true;
        this.#alarm.ring();
      },
      { background: true },
    );
  }
}

async function timesOf(pattern: string = EVERY_MINUTE): Promise<NextTime> {
  // The most common pattern needs no calendar.
  if (pattern === EVERY_MINUTE) return (after) => (Math.floor(after / MINUTE_MS) + 1) * MINUTE_MS;
  const { parseCron } = await import("../schedule/cron.ts");
  return parseCron(pattern, undefined, "notifications.dispatch.cron");
}
