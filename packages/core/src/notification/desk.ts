import type { NotificationRecord } from "@selvedge/protocol";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import type { VersionedNotification } from "../storage/notification-rows.ts";
import { reviveOptions } from "../run/stored-options.ts";
import type { NotificationDeliveryDecision } from "./delivery-policy.ts";
import type { NotificationDelivery } from "./notification-delivery.ts";

/** Where an agent's notifications are decided about and sent from. */
export interface Desk {
  readonly delivery: NotificationDelivery;
  now(): number;
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
