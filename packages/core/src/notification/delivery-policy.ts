import type { NotificationPriority, NotificationRecord } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";

export type NotificationAction = "deliver" | "queue" | "defer" | "summarize" | "persist" | "discard";

/** The outcome for a notification. */
export interface NotificationDeliveryDecision {
  action: NotificationAction;
  deliverAt?: Date;
  summaryAt?: Date;
  reason?: string;
  /** For the run that the notification wakes. */
  streamOptions?: AgentExecutionOptions;
}

type Decision = NotificationAction | NotificationDeliveryDecision;

/** The input of a policy. */
export interface NotificationDeliveryContext {
  record: NotificationRecord;
  threadState: "active" | "idle";
  now: Date;
}

/** Consulted in this order: `decide`, `sources`, `priorities`, `default`, then the built-in policy. */
export interface NotificationDeliveryPolicyConfig {
  default?: Decision;
  priorities?: Partial<Record<NotificationPriority, Decision>>;
  sources?: Record<string, Decision>;
  decide?: (
    context: NotificationDeliveryContext,
  ) => Decision | undefined | void | Promise<Decision | undefined | void>;
}

/** An agent's settings for notifications. */
export interface NotificationsConfig {
  deliveryPolicy?: NotificationDeliveryPolicyConfig;
  /** Milliseconds to collect records without their own time before one summary announces them. */
  batchWindow?: number;
  /** Maximum bytes of a payload as JSON. */
  payloadBytes?: number;
}

export const DEFAULT_BATCH_WINDOW_MS = 60_000;

const ACTIONS: ReadonlySet<unknown> = new Set<NotificationAction>([
  "deliver",
  "queue",
  "defer",
  "summarize",
  "persist",
  "discard",
]);

/** Consults the policy. A decision to defer or summarize has its time filled in. */
export async function decideNotification(
  config: NotificationsConfig | undefined,
  context: NotificationDeliveryContext,
): Promise<NotificationDeliveryDecision> {
  const chosen = (await choose(config?.deliveryPolicy, context)) ?? builtIn(context, config);
  const decision = typeof chosen === "string" ? { action: chosen } : { ...chosen };
  if (!ACTIONS.has(decision?.action)) {
    throw new AgentError(
      "invalid-argument",
      `The delivery policy returned ${showValue(chosen)}. Its action must be one of ${[...ACTIONS].join(", ")}.`,
    );
  }
  const later = windowEnd(context, config);
  if (decision.action === "defer") decision.deliverAt ??= later;
  if (decision.action === "summarize") decision.summaryAt ??= later;
  for (const name of ["deliverAt", "summaryAt"] as const) {
    const date = decision[name];
    if (date !== undefined && !(date instanceof Date && !Number.isNaN(date.getTime())))
      throw new AgentError(
        "invalid-argument",
        `The delivery policy's ${name} is not a valid date: ${showValue(date)}.`,
      );
  }
  return decision;
}

async function choose(
  policy: NotificationDeliveryPolicyConfig | undefined,
  context: NotificationDeliveryContext,
): Promise<Decision | undefined> {
  if (!policy) return undefined;
  const { record } = context;
  const { sources = {}, priorities = {} } = policy;
  const bySource = Object.hasOwn(sources, record.source) ? sources[record.source] : undefined;
  return (await policy.decide?.(context)) ?? bySource ?? priorities[record.priority] ?? policy.default;
}

/**
 * The default policy:
 *
 *              active                                      idle
 *     urgent   deliver                                     deliver
 *     high     a summary now, in full when idle            deliver
 *     medium   in a summary when the window ends           deliver
 *     low      in a summary when the window ends           the same, which wakes nobody
 */
function builtIn(
  context: NotificationDeliveryContext,
  config: NotificationsConfig | undefined,
): NotificationDeliveryDecision {
  const { record, threadState, now } = context;
  const { priority } = record;
  if (priority === "urgent") return { action: "deliver", reason: "urgent" };
  if (threadState === "idle" && priority !== "low") return { action: "deliver", reason: `idle-${priority}` };
  if (priority === "high") {
    return { action: "summarize", summaryAt: now, deliverAt: now, reason: "active-high-summary-then-full" };
  }
  const reason = threadState === "idle" ? "idle-low-summary" : "active-batch-summary";
  return { action: "summarize", summaryAt: windowEnd(context, config), reason };
}

function windowEnd({ now }: NotificationDeliveryContext, config: NotificationsConfig | undefined): Date {
  return new Date(now.getTime() + (config?.batchWindow ?? DEFAULT_BATCH_WINDOW_MS));
}
