import type {
  AgentSchedule,
  AgentScheduleTarget,
  Schedule,
  ScheduleStatus,
  ScheduleTrigger,
  WorkflowSchedule,
  WorkflowScheduleTarget,
} from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { checkId } from "../storage/check-id.ts";
import type { System } from "../system.ts";
import {
  checkJsonObject,
  checkScheduleId,
  checkStatus,
  checkTarget,
  DECLARED_PREFIX,
  type ScheduleTarget,
} from "./check-schedule.ts";
import { type ScheduleDomain, toSchedule } from "./schedule-domain.ts";
import type { ScheduleRow } from "./schedule-tables.ts";
import type { Scheduler } from "./scheduler.ts";

interface Timing {
  /** Default: a new one. Ids that begin with `wf_` are those of workflows' own schedules. */
  id?: string;
  cron: string;
  timezone?: string;
  metadata?: Record<string, unknown>;
  /** Default: `active`. */
  status?: ScheduleStatus;
}

type Loose<Target> = {
  [Key in keyof Target]: Key extends "inputData" | "initialState" | "requestContext" ? unknown : Target[Key];
};

export type CreateWorkflowSchedule = Timing & Loose<WorkflowScheduleTarget>;
export type CreateAgentSchedule = Timing & Loose<AgentScheduleTarget>;
/** What a change may change: everything but the id and what it starts. */
export type UpdateSchedule = Partial<
  Omit<CreateWorkflowSchedule, "id" | "workflowId" | "agentId"> &
    Omit<CreateAgentSchedule, "id" | "workflowId" | "agentId">
>;

export interface ListSchedulesOptions {
  workflowId?: string;
  agentId?: string;
  status?: ScheduleStatus;
  /** `null` for schedules without an owner. */
  resourceId?: string | null;
  /** Default: 1000. */
  limit?: number;
  offset?: number;
}

export interface ListTriggersOptions {
  /** Default: 50. The last 1000 are kept. */
  limit?: number;
  /** Inclusive, in milliseconds. */
  fromActualFireAt?: number;
  /** Exclusive, in milliseconds. */
  toActualFireAt?: number;
}

export interface RunScheduleResult {
  scheduleId: string;
  /** The trigger in `listTriggers()`. */
  claimId: string;
  scheduledFireAt: number;
  runId?: string;
}

const MOST_LISTED = 1000;
const ATTEMPTS = 50;

/** The schedules of a host: `mastra.schedules`. */
export class Schedules {
  readonly #system: System;
  readonly #scheduler: () => Promise<Scheduler>;

  /** `scheduler` rejects if the host has no storage. */
  constructor(system: System, scheduler: () => Promise<Scheduler>) {
    this.#system = system;
    this.#scheduler = scheduler;
  }

  create(input: CreateWorkflowSchedule): Promise<WorkflowSchedule>;
  create(input: CreateAgentSchedule): Promise<AgentSchedule>;
  create(input: CreateWorkflowSchedule | CreateAgentSchedule): Promise<Schedule>;
  async create(input: CreateWorkflowSchedule | CreateAgentSchedule): Promise<Schedule> {
    if (typeof input !== "object" || input === null)
      throw bad(`Expected an object, got ${showValue(input)}.`);
    const { id = this.#system.newId(), cron, timezone, metadata } = input;
    if (checkScheduleId(id).startsWith(DECLARED_PREFIX))
      throw bad(
        `Ids that begin with "${DECLARED_PREFIX}" are reserved for workflows' own schedules, got "${id}".`,
      );
    const target = checkTarget(input as object as Record<string, unknown>, this.#system);
    const status = checkStatus(input.status ?? "active");
    const next = await this.#nextTime(cron, timezone);
    const scheduler = await this.#scheduler();
    const domain = await scheduler.domain();
    try {
      const row = await domain.create({
        id,
        ...ofTarget(target),
        cron,
        timezone: timezone ?? null,
        status,
        next_fire_at: status === "active" ? next : null,
        last_fire_at: null,
        last_run_id: null,
        declared: 0,
        metadata: metadata === undefined ? null : checkJsonObject("metadata", metadata),
      });
      return toSchedule(row);
    } catch (error) {
      if (!AgentError.is(error, "conflict")) throw error;
      throw new AgentError(
        "conflict",
        `There is already a schedule "${id}". Use another id, or update() it.`,
      );
    } finally {
      scheduler.changed();
    }
  }

  async get(id: string): Promise<Schedule | null> {
    const row = await (await this.#domain()).read(checkId("id", id));
    return row ? toSchedule(row) : null;
  }

  /** Oldest first. */
  async list(options: ListSchedulesOptions = {}): Promise<Schedule[]> {
    const { workflowId, agentId, status, resourceId, limit = MOST_LISTED, offset = 0 } = options;
    if (workflowId !== undefined && agentId !== undefined)
      throw bad("Pass workflowId or agentId, not both: a schedule has one of them.");
    const subject = workflowId === undefined ? agentId && `agent:${agentId}` : `workflow:${workflowId}`;
    const where = {
      ...(subject !== undefined && { subject }),
      ...(status !== undefined && { status: checkStatus(status) }),
      ...(resourceId !== undefined && { resource_id: resourceId }),
    };
    const rows = await (
      await this.#domain()
    ).list(where, checkCount("limit", limit, MOST_LISTED), checkCount("offset", offset));
    return rows.map(toSchedule);
  }

  /** Changes what is given. A new pattern or time zone counts from now. */
  update(id: string, patch: UpdateSchedule): Promise<Schedule> {
    return this.#change(id, async (row) => {
      if (row.declared === 1)
        throw new AgentError(
          "conflict",
          `Schedule "${id}" is declared in the code of its workflow. Change it there; it can be paused here.`,
        );
      const { cron = row.cron, timezone = row.timezone ?? undefined, metadata, ...rest } = patch;
      const status = checkStatus(patch.status ?? row.status);
      const target = checkTarget(
        { ...(row.target as object), ...given(rest), ...idsOf(row.target as ScheduleTarget) },
        this.#system,
      );
      const isMoved = cron !== row.cron || timezone !== (row.timezone ?? undefined) || status !== row.status;
      const next = isMoved ? await this.#nextTime(cron, timezone) : row.next_fire_at;
      return {
        ...ofTarget(target),
        cron,
        timezone: timezone ?? null,
        status,
        ...(isMoved && { next_fire_at: status === "active" ? next : null }),
        ...(metadata !== undefined && { metadata: checkJsonObject("metadata", metadata) }),
      };
    });
  }

  /** It does not fire until it is resumed, even after restarts and new versions of the code. */
  pause(id: string): Promise<Schedule> {
    return this.#change(id, () => Promise.resolve({ status: "paused", next_fire_at: null }));
  }

  /** Counts from now: what was missed is not made up for. */
  resume(id: string): Promise<Schedule> {
    return this.#change(id, async ({ status, cron, timezone }) =>
      status === "active"
        ? undefined
        : { status: "active", next_fire_at: await this.#nextTime(cron, timezone ?? undefined) },
    );
  }

  /** Fires it now, whether or not it is paused. Its next time stays. */
  async run(id: string): Promise<RunScheduleResult> {
    const { triggerId, at, runId } = await (await this.#scheduler()).fireNow(await this.#require(id));
    return { scheduleId: id, claimId: triggerId, scheduledFireAt: at, ...(runId !== undefined && { runId }) };
  }

  /** Deletes a schedule with its history. No effect if there is none. */
  async delete(id: string): Promise<void> {
    const domain = await this.#domain();
    const row = await domain.read(checkId("id", id));
    if (row?.declared === 1)
      throw new AgentError(
        "conflict",
        `Schedule "${id}" is declared in the code of its workflow. Remove it there, or pause it.`,
      );
    if (row) await domain.delete(id);
  }

  /** What its fires came to, newest first. */
  async listTriggers(id: string, options: ListTriggersOptions = {}): Promise<ScheduleTrigger[]> {
    await this.#require(id);
    const { limit = 50, fromActualFireAt, toActualFireAt } = options;
    const fired = {
      ...(fromActualFireAt !== undefined && { gte: checkCount("fromActualFireAt", fromActualFireAt) }),
      ...(toActualFireAt !== undefined && { lt: checkCount("toActualFireAt", toActualFireAt) }),
    };
    const where = Object.keys(fired).length > 0 ? { fired_at: fired } : {};
    return (await this.#domain()).triggers(id, where, checkCount("limit", limit, MOST_LISTED));
  }

  async #domain(): Promise<ScheduleDomain> {
    return (await this.#scheduler()).domain();
  }

  async #require(id: string): Promise<ScheduleRow> {
    const row = await (await this.#domain()).read(checkId("id", id));
    if (!row) throw new AgentError("not-found", `There is no schedule ${showValue(id)}.`);
    return row;
  }

  async #change(
    id: string,
    toPatch: (row: ScheduleRow) => Promise<Partial<ScheduleRow> | undefined>,
  ): Promise<Schedule> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = await this.#require(id);
      const patch = await toPatch(row);
      const changed = patch ? await (await this.#domain()).change(row, patch) : row;
      if (!changed) continue;
      (await this.#scheduler()).changed();
      return toSchedule(changed);
    }
    throw new AgentError("conflict", `Schedule "${id}" changed ${ATTEMPTS} times in between. Try again.`);
  }

  async #nextTime(cron: string, timezone: string | undefined): Promise<number> {
    const { parseCron } = await import("./cron.ts");
    const next = parseCron(cron, timezone)(Math.trunc(this.#system.now()));
    if (next === undefined) throw bad(`cron ${showValue(cron)} has no time in the future.`);
    return next;
  }
}

function ofTarget(target: ScheduleTarget): Pick<ScheduleRow, "subject" | "target" | "resource_id"> {
  const subject =
    target.workflowId === undefined ? `agent:${target.agentId}` : `workflow:${target.workflowId}`;
  return { subject, target, resource_id: target.resourceId ?? null };
}

function idsOf({ workflowId, agentId }: ScheduleTarget): object {
  return workflowId === undefined ? { agentId } : { workflowId };
}

function given(patch: object): object {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
}

function checkCount(name: string, value: unknown, most: number = Number.MAX_SAFE_INTEGER): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return Math.min(value as number, most);
  throw bad(`${name} must be a whole number, 0 or more, got ${showValue(value)}.`);
}

function bad(message: string): AgentError {
  return new AgentError("invalid-argument", message);
}
