import type { JSONValue, NotificationPriority } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { cleanAttributes, createSignal, type SignalLimits } from "../signal/signal.ts";
import {
  checkNotification,
  type NotificationInput,
  toNotification,
  toNotificationRow,
} from "../storage/notification-rows.ts";
import { encodeJson } from "../storage/row-codec.ts";
import { fullSignal } from "./notification-signal.ts";
import type { NotificationRow } from "../storage/notification-table.ts";

/** The input of `sendNotificationSignal()`. */
export interface NotificationSignalInput {
  /** The external system, such as `github`. */
  source: string;
  /** The kind of event, such as `ci-status`. */
  kind: string;
  /** The text the model reads. */
  summary: string;
  /** Default: `medium`. */
  priority?: NotificationPriority;
  /** Kept on the record for tools and code. */
  payload?: unknown;
  sourceId?: string;
  /** At most one pending record per source, kind and thread has this key. */
  dedupeKey?: string;
  coalesceKey?: string;
  attributes?: Record<string, JSONValue>;
  metadata?: Record<string, unknown>;
}

export const DEFAULT_PAYLOAD_BYTES: number = 256 * 1024;

const ID_FOR_CHECKS = "check";

/** Checks everything that could fail later, so that a notification that cannot be delivered is not stored. */
export function checkNotificationInput(
  input: NotificationSignalInput,
  target: { threadId: string; resourceId: string; agentId: string },
  limits: { payloadBytes: number; signal: SignalLimits | undefined },
): NotificationInput {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    throw new AgentError("invalid-argument", `A notification must be an object, got ${showValue(input)}.`);
  const { source, kind, summary, priority, payload, sourceId, dedupeKey, coalesceKey, metadata } = input;
  const attributes = cleanAttributes(input.attributes);
  const checked = checkNotification({
    ...target,
    source,
    kind,
    summary,
    priority,
    payload,
    sourceId,
    dedupeKey,
    coalesceKey,
    attributes,
    metadata,
  });
  const bytes = payload === undefined ? 0 : Buffer.byteLength(encodeJson("notification.payload", payload));
  if (bytes > limits.payloadBytes) {
    throw new AgentError(
      "limit-exceeded",
      `The notification's payload has ${bytes} bytes; the limit is ${limits.payloadBytes} (notifications.payloadBytes). Store it elsewhere and pass a reference.`,
    );
  }
  // The resulting signal has its own limits.
  const record = toNotification(toNotificationRow(checked, ID_FOR_CHECKS, 0) as NotificationRow);
  createSignal(fullSignal(record), { newId: () => ID_FOR_CHECKS, now: () => 0 }, limits.signal);
  return checked;
}
