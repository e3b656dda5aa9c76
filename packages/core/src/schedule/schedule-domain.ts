import type {
  AgentScheduleTarget,
  JSONValue,
  Schedule,
  ScheduleOutcome,
  ScheduleTrigger,
  WorkflowScheduleTarget,
} from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import type { Domain } from "../storage/domain.ts";
import type { Storage, Where } from "../storage/storage.ts";
import type { System } from "../system.ts";
import { insert, remove, requireNone, update } from "../storage/writes.ts";
import { type ScheduleRow, SCHEDULES, type TriggerRow, TRIGGERS } from "./schedule-tables.ts";

/** Schedules, for `storage.domain()`. */
export const SCHEDULE_DOMAIN: Domain<ScheduleDomain> = {
  name: "schedules",
  version: 1,
  tables: [SCHEDULES, TRIGGERS] as readonly object[] as Domain["tables"],
  open: (storage, system) => new ScheduleDomain(storage, system),
};

/** The most schedules of a store, and the most fires of a schedule that are kept. */
const MAX_SCHEDULES = 10_000;
const KEPT_TRIGGERS = 1000;

/** How a fire is recorded. */
export interface Fire {
  trigger: Omit<TriggerRow, "number" | "schedule_id">;
  /** For a fire by the clock: the schedule's next time, instead of the one that is due. */
  next?: { due: number; at: number | undefined };
}

/** Schedules and their fires, on any store. */
export class ScheduleDomain {
  readonly storage: Storage;
  readonly #system: System;

  constructor(storage: Storage, system: System) {
    this.storage = storage;
    this.#system = system;
  }

  /** A `conflict` if the id is taken. */
  async create(
    row: Omit<ScheduleRow, "fires" | "version" | "created_at" | "updated_at">,
  ): Promise<ScheduleRow> {
    if ((await this.storage.count({ table: SCHEDULES })) >= MAX_SCHEDULES)
      throw new AgentError(
        "limit-exceeded",
        `The store already has ${MAX_SCHEDULES} schedules. Delete some first.`,
      );
    const now = this.#now();
    const stored = { ...row, fires: 0, version: 1, created_at: now, updated_at: now };
    await this.#commit([insert(SCHEDULES, stored)]);
    return stored;
  }

  async read(id: string): Promise<ScheduleRow | undefined> {
    const [row] = await this.storage.select({ table: SCHEDULES, where: { id }, limit: 1 });
    return row;
  }

  /** Oldest first. */
  list(where: Where<ScheduleRow>, limit?: number, offset = 0): Promise<ScheduleRow[]> {
    const orderBy = [{ column: "created_at" }, { column: "id" }] as const;
    return this.storage.select({
      table: SCHEDULES,
      where,
      orderBy,
      offset,
      ...(limit !== undefined && { limit }),
    });
  }

  /** Changes a schedule that was seen. Returns `undefined` if it changed in between. */
  async change(seen: ScheduleRow, patch: Partial<ScheduleRow>): Promise<ScheduleRow | undefined> {
    const set = { ...patch, version: seen.version + 1, updated_at: this.#now() };
    const where = { id: seen.id, version: seen.version, created_at: seen.created_at };
    const done = await this.#unless(this.#commit([update(SCHEDULES, { where, set, require: true })]));
    return done ? { ...seen, ...set } : undefined;
  }

  /** Deletes a schedule with its fires. */
  async delete(id: string): Promise<void> {
    await this.#commit([remove(SCHEDULES, { id }), remove(TRIGGERS, { schedule_id: id })]);
  }

  /** The schedules of these subjects that are due first. */
  due(subjects: readonly string[], limit: number): Promise<ScheduleRow[]> {
    return this.storage.select({
      table: SCHEDULES,
      where: { next_fire_at: { ne: null }, subject: { in: subjects } },
      orderBy: [{ column: "next_fire_at" }],
      limit,
    });
  }

  /**
   * Stores a fire and moves its schedule to the next time. Returns false if this fire is stored already, or its
   * schedule is gone. `exclusive` also returns false if the schedule is no longer due at that time, or a fire is running.
   */
  async record(
    seen: ScheduleRow,
    { trigger, next }: Fire,
    { exclusive = false }: { exclusive?: boolean } = {},
  ): Promise<boolean> {
    const { id, created_at } = seen;
    let row: ScheduleRow | undefined = seen;
    while (row?.created_at === created_at) {
      const number = row.fires + 1;
      const last = { last_fire_at: trigger.fired_at, last_run_id: trigger.run_id };
      const moved = next && { next_fire_at: next.at ?? null };
      const running = requireNone(TRIGGERS, { schedule_id: id, outcome: "running" });
      const writes = [
        ...(exclusive ? [running] : []),
        update(SCHEDULES, {
          where: { id, created_at, fires: row.fires },
          set: { ...last, fires: number },
          require: true,
        }),
        ...(next
          ? [update(SCHEDULES, { where: { id, next_fire_at: next.due }, set: moved!, require: exclusive })]
          : []),
        insert(TRIGGERS, { ...trigger, schedule_id: id, number }),
        remove(TRIGGERS, { schedule_id: id, number: { lte: number - KEPT_TRIGGERS } }),
      ];
      if (await this.#unless(this.#commit(writes))) return true;
      const [[current], [known]] = await this.storage.selectAll([
        { table: SCHEDULES, where: { id }, limit: 1 },
        { table: TRIGGERS, where: { schedule_id: id, id: trigger.id }, limit: 1 },
      ]);
      const isTaken = next !== undefined && current?.next_fire_at !== next.due;
      // The clock was set back after this fire, and the schedule came to the same time again.
      if (known && next && !isTaken)
        await this.#commit([update(SCHEDULES, { where: { id, next_fire_at: next.due }, set: moved! })]);
      if (known || (exclusive && (isTaken || current?.fires === row.fires))) return false;
      row = current;
    }
    return false;
  }

  /** Whether a run without a thread is under way. */
  async isRunning(scheduleId: string): Promise<boolean> {
    const where = { schedule_id: scheduleId, outcome: "running" as const };
    return (await this.storage.select({ table: TRIGGERS, where, limit: 1 })).length > 0;
  }

  /** The process of these fires is alive. */
  async renew(owner: string, until: number): Promise<void> {
    await this.#commit([
      update(TRIGGERS, { where: { owner, due_at: { ne: null } }, set: { due_at: until } }),
    ]);
  }

  async finish(
    trigger: Pick<TriggerRow, "schedule_id" | "id">,
    end: { outcome: ScheduleOutcome; run_id?: string; error?: string },
  ): Promise<void> {
    const { schedule_id, id } = trigger;
    const set = { ...end, due_at: null, owner: null };
    const last = { last_run_id: end.run_id ?? null };
    await this.#commit([
      update(TRIGGERS, { where: { schedule_id, id }, set }),
      ...(end.run_id === undefined ? [] : [update(SCHEDULES, { where: { id: schedule_id }, set: last })]),
    ]);
  }

  /** The process of a fire is gone. */
  async interrupt({ schedule_id, id, due_at }: TriggerRow, error: string): Promise<void> {
    const set = { outcome: "failed" as const, error, due_at: null, owner: null };
    await this.#commit([update(TRIGGERS, { where: { schedule_id, id, due_at }, set })]);
  }

  /** Fires that are running, those first whose process has been silent for longest. */
  running(limit: number): Promise<TriggerRow[]> {
    const orderBy = [{ column: "due_at" }] as const;
    return this.storage.select({ table: TRIGGERS, where: { due_at: { ne: null } }, orderBy, limit });
  }

  /** Newest first. */
  async triggers(scheduleId: string, where: Where<TriggerRow>, limit: number): Promise<ScheduleTrigger[]> {
    const rows = await this.storage.select({
      table: TRIGGERS,
      where: { schedule_id: scheduleId, ...where },
      orderBy: [{ column: "number", direction: "desc" }],
      limit,
    });
    return rows.map(toTrigger);
  }

  #now(): number {
    return Math.trunc(this.#system.now());
  }

  #commit(writes: Parameters<Storage["commit"]>[0]): Promise<unknown> {
    return this.storage.commit(writes, { id: this.#system.newId() });
  }

  async #unless(commit: Promise<unknown>): Promise<boolean> {
    try {
      await commit;
      return true;
    } catch (error) {
      if (AgentError.is(error, "conflict")) return false;
      throw error;
    }
  }
}

export function toSchedule(row: ScheduleRow): Schedule {
  return {
    ...(row.target as WorkflowScheduleTarget | AgentScheduleTarget),
    id: row.id,
    cron: row.cron,
    ...(row.timezone !== null && { timezone: row.timezone }),
    status: row.status,
    ...(row.next_fire_at !== null && { nextFireAt: row.next_fire_at }),
    ...(row.last_fire_at !== null && { lastFireAt: row.last_fire_at }),
    ...(row.last_run_id !== null && { lastRunId: row.last_run_id }),
    declared: row.declared === 1,
    ...(row.metadata !== null && { metadata: row.metadata as Record<string, JSONValue> }),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function toTrigger(row: TriggerRow): ScheduleTrigger {
  return {
    id: row.id,
    scheduleId: row.schedule_id,
    scheduledFireAt: row.scheduled_at,
    actualFireAt: row.fired_at,
    triggerKind: row.kind,
    outcome: row.outcome,
    runId: row.run_id,
    ...(row.error !== null && { error: row.error }),
  };
}
