export { createNotificationInboxTool } from "../notification/inbox-tool.ts";
export type { NotificationInboxInput } from "../notification/inbox-tool.ts";
export type { NotificationOptions, SendNotificationResult } from "../agent/agent-notifications.ts";
export type {
  NotificationAction,
  NotificationDeliveryContext,
  NotificationDeliveryDecision,
  NotificationDeliveryPolicyConfig,
  NotificationsConfig,
} from "../notification/delivery-policy.ts";
export type { NotificationSignalInput } from "../notification/notification-input.ts";
export type { NotificationPriority, NotificationRecord, NotificationStatus } from "@selvedge/protocol";
