import type { NotificationRecord } from "@selvedge/protocol";
import type { Logger } from "../logger.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import { reviveOptions } from "../run/stored-options.ts";
import type { NotificationDomain } from "../storage/notification-domain.ts";
import type { VersionedNotification } from "../storage/notification-rows.ts";
import type { System } from "../system.ts";
import type { ThreadAddress, Threads } from "../thread/threads.ts";
import type { NotificationDeliveryDecision } from "./delivery-policy.ts";

/** The inbox of a thread: where its records are, and where their signals go. */
export interface Inbox extends ThreadAddress {
  threads: Threads;
  domain: NotificationDomain;
  agentId: string;
  /** What of a run's request context may be stored. */
  durableContextKeys: readonly string[];
}

/** An inbox with an agent whose policy decides about it. */
export interface NotificationContext extends Inbox {
  system: System;
  logger: Logger;
  decide(record: NotificationRecord, threadState: "active" | "idle"): Promise<NotificationDeliveryDecision>;
}

/** Options of the run that a notification wakes. Its sender knows better than the policy. */
export function wakeOptions(
  { options }: VersionedNotification,
  decision: NotificationDeliveryDecision | undefined,
  live?: AgentExecutionOptions,
): AgentExecutionOptions | undefined {
  if (!decision?.streamOptions && !options && !live) return undefined;
  return { ...decision?.streamOptions, ...reviveOptions(options), ...live };
}

/** The time, as records hold it. */
export function nowIn({ system }: Pick<NotificationContext, "system">): number {
  return Math.trunc(system.now());
}
