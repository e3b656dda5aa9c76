export type {
  NotificationAction,
  NotificationDeliveryDecision,
  NotificationDeliveryPolicyConfig,
} from "../notification/delivery-policy.ts";
export type { NotificationPriority, NotificationRecord, NotificationStatus } from "@selvedge/protocol";
