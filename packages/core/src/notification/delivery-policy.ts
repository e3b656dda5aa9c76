import type { NotificationPriority, NotificationRecord } from "@selvedge/protocol";
import type { AgentExecutionOptions } from "../run/run-options.ts";

export type NotificationAction = "deliver" | "queue" | "defer" | "summarize" | "persist" | "discard";

/** What becomes of a notification. */
export interface NotificationDeliveryDecision {
  action: NotificationAction;
  deliverAt?: Date;
  summaryAt?: Date;
  reason?: string;
  /** For the run that the notification wakes. */
  streamOptions?: AgentExecutionOptions;
}

type Decision = NotificationAction | NotificationDeliveryDecision;

/** Asked in this order: `decide`, `sources`, `priorities`, `default`, then the built-in policy. */
export interface NotificationDeliveryPolicyConfig {
  default?: Decision;
  priorities?: Partial<Record<NotificationPriority, Decision>>;
  sources?: Record<string, Decision>;
  decide?: (context: {
    record: NotificationRecord;
    threadState: "active" | "idle";
    now: Date;
  }) => Decision | undefined | void | Promise<Decision | undefined | void>;
}
