import type { NotificationRecord } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import {
  decideNotification,
  type NotificationDeliveryDecision,
  type NotificationsConfig,
} from "../notification/delivery-policy.ts";
import type { Outlet } from "../notification/emit.ts";
import {
  checkNotificationInput,
  DEFAULT_PAYLOAD_BYTES,
  type NotificationSignalInput,
} from "../notification/notification-input.ts";
import {
  byUrgency,
  earliest,
  NotificationDelivery,
  NOW_DECIDED,
  type Sent,
  waitsForIdle,
} from "../notification/notification-delivery.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import { insertThread } from "../storage/message-writes.ts";
import type { NotificationDomain } from "../storage/notification-domain.ts";
import type { VersionedNotification } from "../storage/notification-rows.ts";
import type { Write } from "../storage/storage.ts";
import { THREADS } from "../storage/tables.ts";
import { ACTORS } from "../storage/thread-tables.ts";
import { threadStateFor } from "../thread/thread-state.ts";
import type { DeliveryOptions } from "../thread/delivery.ts";
import type { ThreadsHost } from "./threads-host.ts";
import { checkOptions } from "./check-options.ts";
import { checkSend, checkTarget, type SendOptions, toDelivery } from "./send-options.ts";

/** Where a notification goes, and how the run is started that it may wake. */
export type NotificationOptions = Pick<SendOptions, "ifActive" | "ifIdle"> & {
  resourceId: string;
  threadId: string;
};

/** The signal, and the run that sees it, are there when one was sent at once. */
export interface SendNotificationResult extends Sent {
  accepted: true;
  /** As it is stored. */
  record: NotificationRecord;
  decision: NotificationDeliveryDecision;
}

/** How long a record that somebody works on is left alone. */
export const CLAIM_MS = 30_000;
/** How often a decision is made anew because the record or the thread changed meanwhile. */
const MAX_ROUNDS = 50;
/** In how many of these the thread may insist on its state. */
const INSISTING_ROUNDS = 3;

type Outcome = Sent & { decision: NotificationDeliveryDecision };

/**
 * An agent's notifications, from the sender to the thread. A record is stored first and belongs to its sender until a
 * decision is stored; if the sender dies in between, the dispatcher decides when the claim has run out. A signal and
 * what becomes of its records are one commit.
 */
export class AgentNotifications {
  readonly #host: ThreadsHost;
  readonly #config: NotificationsConfig | undefined;
  readonly #delivery: NotificationDelivery;

  constructor(host: ThreadsHost, config: NotificationsConfig | undefined) {
    this.#host = host;
    this.#config = config;
    this.#delivery = new NotificationDelivery(() => host.environment());
    const window = config?.batchWindow;
    if (window !== undefined && !(Number.isFinite(window) && window >= 0)) {
      throw new AgentError(
        "invalid-argument",
        `notifications.batchWindow must be a number of milliseconds, got ${showValue(window)}.`,
      );
    }
  }

  async send(
    inputs: readonly NotificationSignalInput[],
    options: NotificationOptions,
  ): Promise<SendNotificationResult[]> {
    checkSend(options);
    const target = checkTarget(options);
    if (!target)
      throw new AgentError("invalid-argument", "sendNotificationSignal() needs resourceId and threadId.");
    const delivery = toDelivery(options, false);
    if (options.ifIdle?.streamOptions !== undefined) checkOptions(options.ifIdle.streamOptions);
    const { system, threads } = this.#host.environment();
    const limits = {
      payloadBytes: this.#config?.payloadBytes ?? DEFAULT_PAYLOAD_BYTES,
      signal: threads?.signal,
    };
    const checked = inputs.map((input) =>
      checkNotificationInput(input, { ...target, agentId: this.#host.id }, limits),
    );
    const outlet = { ...(await this.#open()), ...target, agentId: this.#host.id };
    const { domain } = outlet;
    const created: VersionedNotification[] = [];
    for (const input of checked) {
      const now = Math.trunc(system.now());
      const claim = {
        owner: domain.storage.ownerId(),
        until: now + CLAIM_MS,
        writes: ownThread(target, now),
      };
      created.push(await domain.create(input, claim).catch(explain(target, claim.writes.length)));
    }
    const outcomes = await this.#settle(outlet, created, delivery, options.ifIdle?.streamOptions);
    return Promise.all(
      created.map(async ({ record }) => ({
        accepted: true as const,
        record: (await domain.getNotification(record)) ?? record,
        ...outcomes.get(record.id)!,
      })),
    );
  }

  /** Delivers what is due on one thread. Answers how many records were left as they are. */
  async deliverDue(domain: NotificationDomain, due: readonly VersionedNotification[]): Promise<number> {
    const { runtime, domain: own } = await this.#open();
    const { threadId, resourceId } = due[0]!.record;
    if (own !== domain) return due.length;
    const { system } = this.#host.environment();
    const now = Math.trunc(system.now());
    if (resourceId === undefined) {
      const patch = { status: "failed", lastDeliveryError: "The record has no resourceId." } as const;
      for (const one of due) await domain.tryUpdate(one, patch);
      return 0;
    }
    const outlet = { runtime, domain, agentId: this.#host.id, threadId, resourceId };
    const state = await threadStateFor(domain.storage, outlet);
    const ready = due.filter((one) => state === "idle" || !waitsForIdle(one, now));
    if (ready.length === 0) return due.length;
    const claimed = await domain.claim(ready, domain.storage.ownerId(), now + CLAIM_MS);
    const undecided = claimed.filter((one) => one.undecided);
    if (undecided.length > 0) await this.#settle(outlet, undecided, toDelivery({}, false), undefined);
    const decided = claimed.filter((one) => !one.undecided);
    const isDue = (date: Date | undefined) => date !== undefined && date.getTime() <= now;
    const summarized = decided.filter(({ record }) => isDue(record.summaryAt));
    const full = decided.filter(({ record }) => !isDue(record.summaryAt) && isDue(record.deliverAt));
    // A clock that went back: not due after all.
    for (const one of decided)
      if (!summarized.includes(one) && !full.includes(one)) await domain.tryUpdate(one, {});
    const items = [...full.map((one) => [one]), ...(summarized.length > 0 ? [summarized] : [])];
    // What waited for an idle thread comes together, into the run that the first of it opens.
    let opened = false;
    for (const item of items.toSorted(byUrgency)) {
      const [one] = item;
      if (item === summarized)
        await this.#delivery.summarize(outlet, item, { optionsFor: (one) => this.#optionsFor(one, state) });
      else {
        const streamOptions = await this.#optionsFor(one!, state);
        const outcome = await this.#delivery.deliver(outlet, one!, { streamOptions, mayJoin: opened });
        opened ||= outcome?.signal !== undefined;
      }
    }
    return due.length - ready.length;
  }

  /** Decides about stored records and acts on it, again where something changed in between. */
  async #settle(
    outlet: Outlet,
    created: readonly VersionedNotification[],
    delivery: DeliveryOptions,
    streamOptions: AgentExecutionOptions | undefined,
  ): Promise<Map<string, Outcome>> {
    const { domain } = outlet;
    const outcomes = new Map<string, Outcome>();
    let waiting = new Map(created.map((one) => [one.record.id, one]));
    for (let round = 0; waiting.size > 0 && round < MAX_ROUNDS; round++) {
      const state = await threadStateFor(domain.storage, outlet);
      const again = new Map<string, VersionedNotification>();
      const toSummarize: VersionedNotification[] = [];
      const decisions = new Map<string, NotificationDeliveryDecision>();
      for (const [id, seen] of waiting) {
        const current = round === 0 ? seen : await domain.read(seen.record);
        if (!current) continue;
        const decision = await this.#decide(current.record, state);
        decisions.set(id, decision);
        // Somebody whose record was merged with this one has decided about both.
        if (current.record.status !== "pending" || !current.undecided) {
          outcomes.set(id, { decision });
          continue;
        }
        if (isImmediateSummary(current, decision, this.#now())) toSummarize.push(current);
        else {
          const wake = { ...decision.streamOptions, ...streamOptions };
          const outcome = await this.#act(outlet, current, decision, delivery, wake);
          if (outcome) outcomes.set(id, { decision, ...outcome });
          else again.set(id, current);
        }
      }
      if (toSummarize.length > 0) {
        const outcome = await this.#delivery.summarize(outlet, toSummarize, {
          decisions,
          optionsFor: async ({ record }) => decisions.get(record.id)?.streamOptions,
          onlyActive: round < INSISTING_ROUNDS && state === "active",
        });
        for (const one of toSummarize) {
          const { id } = one.record;
          if (outcome) outcomes.set(id, { decision: decisions.get(id)!, ...outcome });
          else again.set(id, one);
        }
      }
      waiting = again;
    }
    if (waiting.size > 0)
      throw new AgentError(
        "thread-busy",
        `Thread "${outlet.threadId}" changes too fast. The records are stored.`,
      );
    return outcomes;
  }

  /** Answers `undefined` when the record changed meanwhile. */
  async #act(
    outlet: Outlet,
    seen: VersionedNotification,
    decision: NotificationDeliveryDecision,
    delivery: DeliveryOptions,
    streamOptions: AgentExecutionOptions | undefined,
  ): Promise<Sent | undefined> {
    const { domain } = outlet;
    const { record } = seen;
    const reason = decision.reason === undefined ? {} : { deliveryReason: decision.reason };
    switch (decision.action) {
      case "deliver":
      case "queue": {
        const queued = decision.action === "queue";
        return this.#delivery.deliver(outlet, seen, {
          delivery: { ...delivery, queued },
          streamOptions,
          reason,
        });
      }
      case "discard":
        return (await domain.tryUpdate(seen, { status: "discarded", ...reason }, NOW_DECIDED))
          ? {}
          : undefined;
      case "persist":
        return (await domain.tryUpdate(seen, reason, NOW_DECIDED)) ? {} : undefined;
      default: {
        // One that was merged keeps the earlier time, or it would wait for ever while others come.
        const times = {
          deliverAt: earliest(record.deliverAt, decision.deliverAt),
          summaryAt: earliest(
            record.summaryAt,
            decision.action === "summarize" ? decision.summaryAt : undefined,
          ),
        };
        // The model has been told already that it waits.
        if (decision.action === "summarize" && isToldOf(record)) times.summaryAt = record.summaryAt;
        return (await domain.tryUpdate(seen, { ...reason, ...times }, NOW_DECIDED)) ? {} : undefined;
      }
    }
  }

  async #decide(
    record: NotificationRecord,
    threadState: "active" | "idle",
  ): Promise<NotificationDeliveryDecision> {
    const context = { record, threadState, now: new Date(this.#now()) };
    try {
      const decision = await decideNotification(this.#config, context);
      if (decision.streamOptions !== undefined) checkOptions(decision.streamOptions);
      return decision;
    } catch (error) {
      // The record is stored and has to go somewhere.
      this.#host.environment().logger.error("The delivery policy failed; the built-in one decides", error);
      const { deliveryPolicy: _, ...rest } = this.#config ?? {};
      return decideNotification(rest, context);
    }
  }

  /** What a run needs that is woken long after the notification came. */
  async #optionsFor(
    { record }: VersionedNotification,
    state: "active" | "idle",
  ): Promise<AgentExecutionOptions | undefined> {
    if (!this.#config?.deliveryPolicy) return undefined;
    return (await this.#decide(record, state)).streamOptions;
  }

  async #open(): Promise<Pick<Outlet, "runtime" | "domain">> {
    const memory = await this.#host.memory();
    const domain = await memory?.storage?.getStore("notifications");
    if (domain) return { runtime: await this.#host.runtime(), domain };
    throw new AgentError(
      "storage-required",
      `sendNotificationSignal() requires a notifications storage domain, and agent "${this.#host.name}" has none. Pass memory: new Memory({ storage }) to the agent.`,
    );
  }

  #now(): number {
    return Math.trunc(this.#host.environment().system.now());
  }
}

function isToldOf(record: NotificationRecord): boolean {
  return record.summarySignalId !== undefined && record.deliverAt !== undefined;
}

function isImmediateSummary(
  { record }: VersionedNotification,
  { action, summaryAt }: NotificationDeliveryDecision,
  now: number,
): boolean {
  return action === "summarize" && summaryAt!.getTime() <= now && !isToldOf(record);
}

/** The thread is the resource's own, and is there from now on. */
function ownThread(target: { threadId: string; resourceId: string }, now: number): Write[] {
  const { threadId, resourceId } = target;
  const others = { resource_id: { ne: resourceId } };
  const date = new Date(now);
  return [
    { op: "require", table: THREADS, where: { id: threadId, ...others }, exists: false },
    { op: "require", table: ACTORS, where: { thread_id: threadId, ...others }, exists: false },
    insertThread({ id: threadId, resourceId, createdAt: date, updatedAt: date }),
  ];
}

function explain(
  { threadId, resourceId }: { threadId: string; resourceId: string },
  guards: number,
): (error: unknown) => never {
  return (error) => {
    if (!AgentError.is(error, "conflict") || Number(error.details?.["index"]) >= guards) throw error;
    throw new AgentError("not-found", `There is no thread "${threadId}" for resource "${resourceId}".`);
  };
}
