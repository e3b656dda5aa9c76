import type { NotificationRecord } from "@selvedge/protocol";
import type { Logger } from "../logger.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import { reviveOptions } from "../run/stored-options.ts";
import type { NotificationDomain } from "../storage/notification-domain.ts";
import type { VersionedNotification } from "../storage/notification-rows.ts";
import type { System } from "../system.ts";
import type { ThreadAddress, Threads } from "../thread/threads.ts";
import type { NotificationDeliveryDecision } from "./delivery-policy.ts";

/** A thread's inbox: where its records are stored and where their signals go. */
export interface Inbox extends ThreadAddress {
  threads: Threads;
  domain: NotificationDomain;
  agentId: string;
  /** The part of a run's request context that may be stored. */
  durableContextKeys: readonly string[];
}

/** An inbox whose agent's policy decides about it. */
export interface NotificationContext extends Inbox {
  system: System;
  logger: Logger;
  decide(record: NotificationRecord, threadState: "active" | "idle"): Promise<NotificationDeliveryDecision>;
}

/** Options of the run that a notification wakes. The sender's options take precedence over the policy's. */
export function wakeOptions(
  { options }: VersionedNotification,
  decision: NotificationDeliveryDecision | undefined,
  live?: AgentExecutionOptions,
): AgentExecutionOptions | undefined {
  if (!decision?.streamOptions && !options && !live) return undefined;
  return { ...decision?.streamOptions, ...reviveOptions(options), ...live };
}

/** The current time, in the format of records. */
export function nowIn({ system }: Pick<NotificationContext, "system">): number {
  return Math.trunc(system.now());
}
