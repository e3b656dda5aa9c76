export { FIRE_PREFIX } from "../schedule/check-schedule.ts";
export { Schedules } from "../schedule/schedules.ts";
export type {
  CreateAgentSchedule,
  CreateWorkflowSchedule,
  ListSchedulesOptions,
  ListTriggersOptions,
  RunScheduleResult,
  UpdateSchedule,
} from "../schedule/schedules.ts";
export type {
  AgentSchedule,
  Schedule,
  ScheduleOutcome,
  ScheduleStatus,
  ScheduleTrigger,
  ScheduleTriggerKind,
  WorkflowSchedule,
} from "@selvedge/protocol";
export { SCHEDULE_DOMAIN } from "../schedule/schedule-domain.ts";
