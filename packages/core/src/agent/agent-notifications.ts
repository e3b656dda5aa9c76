import type { NotificationRecord } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { deliverDue } from "../notification/deliver-due.ts";
import {
  decideNotification,
  type NotificationDeliveryDecision,
  type NotificationsConfig,
} from "../notification/delivery-policy.ts";
import { type NotificationContext, nowIn } from "../notification/notification-context.ts";
import type { Sent } from "../notification/notification-delivery.ts";
import {
  checkNotificationInput,
  DEFAULT_PAYLOAD_BYTES,
  type NotificationSignalInput,
} from "../notification/notification-input.ts";
import { explainForeignThread, ownThread } from "../notification/own-thread.ts";
import { decideAndSend } from "../notification/decide-and-send.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import { CLAIM_MS, type NotificationDomain } from "../storage/notification-domain.ts";
import type { VersionedNotification } from "../storage/notification-rows.ts";
import type { ThreadAddress } from "../thread/threads.ts";
import { type StoredOptions, storeOptions } from "../run/stored-options.ts";
import type { AgentEnvironment } from "./agent-environment.ts";
import { checkOptions } from "./check-options.ts";
import { checkSend, checkTarget, type SendOptions, toDelivery } from "./send-options.ts";

/** Where a notification goes, and how the run it may wake is started. */
export type NotificationOptions = Pick<SendOptions, "ifActive" | "ifIdle"> & {
  resourceId: string;
  threadId: string;
};

/** Signal and run are present if it was sent at once. */
export interface SendNotificationResult extends Sent {
  accepted: true;
  /** As stored. */
  record: NotificationRecord;
  decision: NotificationDeliveryDecision;
}

const MOST_AT_ONCE = 500;

/**
 * An agent's notifications, from the sender to the thread. A record is stored first and belongs to its sender until a
 * decision is stored; if the sender dies in between, the dispatcher decides when the claim has expired. A signal and
 * the outcome of its records are one commit.
 */
export class AgentNotifications {
  readonly #environment: AgentEnvironment;
  readonly #config: NotificationsConfig | undefined;

  constructor(environment: AgentEnvironment, config: NotificationsConfig | undefined) {
    this.#environment = environment;
    this.#config = config;
    for (const name of ["batchWindow", "payloadBytes"] as const) {
      const value = config?.[name];
      if (value !== undefined && !(Number.isFinite(value) && value >= 0))
        throw new AgentError(
          "invalid-argument",
          `notifications.${name} must be a number, 0 or more, got ${showValue(value)}.`,
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
    if (inputs.length > MOST_AT_ONCE)
      throw new AgentError(
        "limit-exceeded",
        `Got ${inputs.length} notifications in one call; the limit is ${MOST_AT_ONCE}. Send them in batches.`,
      );
    const wishes = { delivery: toDelivery(options, false), streamOptions: options.ifIdle?.streamOptions };
    const { id: agentId, threadsConfig } = this.#environment;
    const limits = { payloadBytes: this.#payloadBytes, signal: threadsConfig.signal };
    const checked = inputs.map((input) => checkNotificationInput(input, { ...target, agentId }, limits));
    const kept = this.#keep(wishes.streamOptions);
    const context = await this.#open(target);
    const { domain } = context;
    const created: VersionedNotification[] = [];
    for (const input of checked) {
      const now = nowIn(context);
      const writes = ownThread(target, now);
      const claim = { owner: domain.storage.ownerId(), until: now + CLAIM_MS, options: kept, writes };
      created.push(await domain.create(input, claim).catch(explainForeignThread(target, writes.length)));
    }
    const outcomes = await decideAndSend(context, created, wishes);
    return Promise.all(
      created.map(async ({ record }) => ({
        accepted: true as const,
        record: (await domain.getNotification(record)) ?? record,
        ...outcomes.get(record.id)!,
      })),
    );
  }

  /** Delivers what is due on one thread. Records of a store other than the agent's are left alone. */
  async deliverDue(domain: NotificationDomain, due: readonly VersionedNotification[]): Promise<void> {
    const { threadId, resourceId } = due[0]!.record;
    const context = await this.#open({ threadId, resourceId: resourceId ?? "" });
    if (context.domain !== domain) return;
    if (resourceId === undefined) {
      const patch = { status: "failed", lastDeliveryError: "The record has no resourceId." } as const;
      for (const one of due) await domain.tryUpdate(one, patch);
      return;
    }
    await deliverDue(context, due);
  }

  async #decide(
    record: NotificationRecord,
    threadState: "active" | "idle",
  ): Promise<NotificationDeliveryDecision> {
    const context = { record, threadState, now: new Date(nowIn(this.#environment)) };
    try {
      const decision = await decideNotification(this.#config, context);
      if (decision.streamOptions !== undefined) checkOptions(decision.streamOptions);
      return decision;
    } catch (error) {
      // The record is stored and must be delivered.
      this.#environment.logger.error("The delivery policy failed, so the default policy applies", error);
      const { deliveryPolicy: _, ...rest } = this.#config ?? {};
      return decideNotification(rest, context);
    }
  }

  /** The sender's options that a later delivery can use, in any process. */
  #keep(streamOptions: AgentExecutionOptions | undefined): StoredOptions | undefined {
    if (streamOptions === undefined) return undefined;
    checkOptions(streamOptions);
    const kept = storeOptions(streamOptions, this.#environment.durableContextKeys);
    const bytes = Buffer.byteLength(JSON.stringify(kept));
    if (bytes > this.#payloadBytes)
      throw new AgentError(
        "limit-exceeded",
        `ifIdle.streamOptions has ${bytes} bytes of JSON; the limit is ${this.#payloadBytes} (notifications.payloadBytes). Set large options on the agent instead.`,
      );
    return kept;
  }

  get #payloadBytes(): number {
    return this.#config?.payloadBytes ?? DEFAULT_PAYLOAD_BYTES;
  }

  async #open(target: ThreadAddress): Promise<NotificationContext> {
    const { id: agentId, name, system, logger, durableContextKeys } = this.#environment;
    const memory = await this.#environment.memory();
    const domain = await memory?.storage?.getStore("notifications");
    if (!domain) {
      throw new AgentError(
        "storage-required",
        `sendNotificationSignal() requires a notifications storage domain, and agent "${name}" has none. Pass memory: new Memory({ storage }) to the agent.`,
      );
    }
    const threads = await this.#environment.threads();
    const decide: NotificationContext["decide"] = (record, state) => this.#decide(record, state);
    return { ...target, threads, domain, agentId, system, logger, durableContextKeys, decide };
  }
}
