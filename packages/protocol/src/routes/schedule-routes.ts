import { SCHEDULE_OUTCOMES, SCHEDULE_STATUSES } from "../schedule.ts";
import { SIGNAL_TYPES } from "../signal-type.ts";
import { routesOf } from "./route.ts";
import {
  either,
  flag,
  id,
  integer,
  json,
  list,
  nothing,
  object,
  oneOf,
  openObject,
  only,
  optional,
  record,
  text,
} from "./shape.ts";
import * as shapes from "./shapes.ts";

const schedules = routesOf("schedules");

const status = oneOf(...SCHEDULE_STATUSES);
const values = record(json());
const ms = integer({ minimum: 0 });
const requestContext = optional(values);
const ofOwner = { resourceId: optional(shapes.resourceId) };

const timing = {
  cron: text({ minLength: 1, maxLength: 256, description: "5, 6 (seconds first) or 7 (year last) fields." }),
  timezone: optional(text({ maxLength: 64 })),
  metadata: optional(values),
};

const ofWorkflow = { inputData: optional(json()), initialState: optional(values), requestContext };

const ofAgent = {
  prompt: optional(text({ minLength: 1, maxLength: 1 << 20 })),
  signalType: optional(oneOf(...SIGNAL_TYPES, "user-message", "system-reminder")),
  tagName: optional(id()),
  attributes: optional(values),
  ifActive: optional(
    object({ behavior: optional(oneOf("deliver", "persist", "discard")), attributes: optional(values) }),
  ),
  ifIdle: optional(
    object({
      behavior: optional(oneOf("wake", "persist", "discard")),
      attributes: optional(values),
      streamOptions: optional(object({ requestContext })),
    }),
  ),
};

export const scheduleInfo = openObject({
  id: text(),
  ...timing,
  status,
  /** In milliseconds. Absent while it is paused. */
  nextFireAt: optional(integer()),
  lastFireAt: optional(integer()),
  lastRunId: optional(text()),
  /** Whether it is declared in the code of its workflow. */
  declared: flag(),
  createdAt: integer(),
  updatedAt: integer(),
  workflowId: optional(text()),
  agentId: optional(text()),
  threadId: optional(text()),
  resourceId: optional(text()),
  ...ofWorkflow,
  ...ofAgent,
});

export const scheduleTrigger = openObject({
  id: text(),
  scheduleId: text(),
  scheduledFireAt: integer(),
  actualFireAt: integer(),
  triggerKind: oneOf("schedule-fire", "manual"),
  outcome: oneOf(...SCHEDULE_OUTCOMES),
  runId: either(text(), nothing()),
  error: optional(text()),
});

export const SCHEDULE_ROUTES = {
  listSchedules: schedules("GET /api/schedules", {
    summary: "Schedules of the caller; with the grant inspect also those of the app",
    owner: "resource",
    query: object({
      ...ofOwner,
      workflowId: optional(id()),
      agentId: optional(id()),
      status: optional(status),
    }),
    response: openObject({ schedules: list(scheduleInfo) }),
  }),
  createSchedule: schedules("POST /api/schedules", {
    summary:
      "Creates a schedule for a workflow or an agent. A signal of a type other than user needs the grant signals",
    owner: "resource",
    grant: "control",
    body: object({
      id: optional(id()),
      ...ofOwner,
      ...timing,
      status: optional(status),
      workflowId: optional(id()),
      agentId: optional(id()),
      threadId: optional(id()),
      ...ofWorkflow,
      ...ofAgent,
    }),
    response: scheduleInfo,
  }),
  getSchedule: schedules("GET /api/schedules/:scheduleId", {
    summary: "A schedule",
    owner: "schedule",
    response: scheduleInfo,
  }),
  updateSchedule: schedules("PATCH /api/schedules/:scheduleId", {
    summary: "Changes a schedule. A new pattern or time zone applies from now",
    owner: "schedule",
    grant: "control",
    body: object({
      cron: optional(timing.cron),
      timezone: timing.timezone,
      metadata: timing.metadata,
      status: optional(status),
      ...ofWorkflow,
      ...ofAgent,
    }),
    response: scheduleInfo,
  }),
  deleteSchedule: schedules("DELETE /api/schedules/:scheduleId", {
    summary: "Deletes a schedule and its history",
    owner: "schedule",
    grant: "control",
    response: openObject({ success: only(true) }),
  }),
  pauseSchedule: schedules("POST /api/schedules/:scheduleId/pause", {
    summary: "Stops a schedule until it is resumed",
    owner: "schedule",
    grant: "control",
    response: scheduleInfo,
  }),
  resumeSchedule: schedules("POST /api/schedules/:scheduleId/resume", {
    summary: "Resumes a paused schedule, from now",
    owner: "schedule",
    grant: "control",
    response: scheduleInfo,
  }),
  runSchedule: schedules("POST /api/schedules/:scheduleId/run", {
    summary: "Fires a schedule now",
    owner: "schedule",
    grant: "control",
    startsRun: true,
    response: openObject({
      scheduleId: text(),
      claimId: text(),
      scheduledFireAt: integer(),
      runId: optional(text()),
    }),
  }),
  listScheduleTriggers: schedules("GET /api/schedules/:scheduleId/triggers", {
    summary: "The history of a schedule, newest first",
    owner: "schedule",
    query: object({
      limit: optional(integer({ minimum: 1, maximum: 1000 })),
      fromActualFireAt: optional(ms),
      toActualFireAt: optional(ms),
    }),
    response: openObject({ triggers: list(scheduleTrigger) }),
  }),
};
