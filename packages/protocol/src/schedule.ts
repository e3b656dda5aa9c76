import type { JSONValue } from "./json.ts";
import type { SignalType } from "./signal-type.ts";

export const SCHEDULE_STATUSES = ["active", "paused"] as const;
export type ScheduleStatus = (typeof SCHEDULE_STATUSES)[number];

/**
 * What a fire came to. `published`: a run was started, whose outcome is its own. `delivered`, `persisted` and `discarded`:
 * the signal joined an active run, was stored without one, or was dropped. The others are about a run without a thread;
 * `skipped`: the previous one had not ended.
 */
export const SCHEDULE_OUTCOMES = [
  "published",
  "delivered",
  "persisted",
  "discarded",
  "running",
  "succeeded",
  "skipped",
  "aborted",
  "failed",
] as const;
export type ScheduleOutcome = (typeof SCHEDULE_OUTCOMES)[number];

export type ScheduleTriggerKind = "schedule-fire" | "manual";

interface ScheduleBase {
  id: string;
  cron: string;
  timezone?: string;
  status: ScheduleStatus;
  /** In milliseconds. Absent while it is paused, and if there is no further time. */
  nextFireAt?: number;
  lastFireAt?: number;
  lastRunId?: string;
  /** True for a schedule of `createWorkflow({ schedule })`. */
  declared: boolean;
  metadata?: Record<string, JSONValue>;
  createdAt: number;
  updatedAt: number;
}

export interface WorkflowScheduleTarget {
  workflowId: string;
  agentId?: undefined;
  inputData?: JSONValue;
  initialState?: Record<string, JSONValue>;
  requestContext?: Record<string, JSONValue>;
  /** The owner of the runs. */
  resourceId?: string;
}

type ScheduleAttributes = Record<string, JSONValue>;

export interface AgentScheduleTarget {
  agentId: string;
  workflowId?: undefined;
  prompt: string;
  /** The thread that gets a signal. Without one, each fire is a `generate()`. */
  threadId?: string;
  resourceId?: string;
  signalType?: SignalType | "user-message" | "system-reminder";
  tagName?: string;
  attributes?: ScheduleAttributes;
  ifActive?: { behavior?: "deliver" | "persist" | "discard"; attributes?: ScheduleAttributes };
  ifIdle?: {
    behavior?: "wake" | "persist" | "discard";
    attributes?: ScheduleAttributes;
    streamOptions?: { requestContext?: Record<string, JSONValue> };
  };
  requestContext?: Record<string, JSONValue>;
}

export type WorkflowSchedule = ScheduleBase & WorkflowScheduleTarget;
export type AgentSchedule = ScheduleBase & AgentScheduleTarget;
/** Narrow it with `workflowId` or `agentId`. */
export type Schedule = WorkflowSchedule | AgentSchedule;

/** One fire of a schedule. Times are in milliseconds. */
export interface ScheduleTrigger {
  id: string;
  scheduleId: string;
  /** When it was due. */
  scheduledFireAt: number;
  /** When it happened. */
  actualFireAt: number;
  triggerKind: ScheduleTriggerKind;
  outcome: ScheduleOutcome;
  runId: string | null;
  error?: string;
}
