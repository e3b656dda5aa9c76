import type { AgentScheduleTarget, ScheduleTriggerKind, WorkflowScheduleTarget } from "@selvedge/protocol";
import { AgentError, errorMessage } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { RequestContext } from "../request-context/request-context.ts";
import type { Storage } from "../storage/storage.ts";
import type { System } from "../system.ts";
import { Alarm } from "./alarm.ts";
import { type Carried, mayBeRepeated, sendToThread, startWorkflow } from "./carry-out.ts";
import { FIRE_PREFIX } from "./check-schedule.ts";
import { parseCron } from "./cron.ts";
import { syncDeclared } from "./declared-schedules.ts";
import { type Fire, SCHEDULE_DOMAIN, type ScheduleDomain } from "./schedule-domain.ts";
import type { ScheduleRow, TriggerRow } from "./schedule-tables.ts";
import type { ScheduledAgent, ScheduleTargets } from "./schedule-targets.ts";

export interface SchedulerOptions {
  storage: Storage;
  system: System;
  logger: Logger;
  targets: ScheduleTargets;
}

const BATCH = 50;
/** A run without a thread counts as interrupted when its process has been silent for this long. */
const SILENT_MS = 300_000;
/** How long a process that closes waits for such runs. */
const CLOSE_MS = 3000;
const MAX_ERROR = 1000;
const INTERRUPTED =
  "The process stopped before the run ended. Give the schedule a thread to have such runs continued.";

/** One time at which a schedule fires. */
interface Moment {
  /** Names the fire: the time it was due, or a new id. */
  id: string;
  kind: ScheduleTriggerKind;
  at: number;
  /** For a fire by the clock: its schedule's next time. */
  next?: Fire["next"];
}

/**
 * Fires the schedules whose workflows and agents this process has. Any number of processes may do so on one store: the
 * ids of a fire's effect come from the schedule and the time it was due. So the effect can be admitted first and the
 * fire recorded after it: after a crash in between, it is admitted again without effect, and recorded.
 *
 * A run without a thread leaves nothing behind by which it could be found. It is recorded first: it begins at most once.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #alarm: Alarm;
  readonly #abort = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #synced = false;
  #renewedAt = Number.NEGATIVE_INFINITY;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { system, logger } = options;
    this.#alarm = new Alarm({ system, logger, what: "Firing schedules", check: () => this.#check() });
  }

  /** Rejects if the first check fails, and goes on all the same. */
  start(): Promise<void> {
    return this.#alarm.start();
  }

  /** The host has other workflows than before. */
  declared(): void {
    this.#synced = false;
    this.#alarm.ring();
  }

  /** A schedule changed. */
  changed(): void {
    this.#alarm.ring();
  }

  async close(): Promise<void> {
    await this.#alarm.close();
    if (this.#running.size === 0) return;
    const { system } = this.#options;
    const cancel = system.setTimer(CLOSE_MS, () => this.#abort.abort());
    await Promise.all(this.#running);
    cancel();
  }

  domain(): Promise<ScheduleDomain> {
    return this.#options.storage.domain(SCHEDULE_DOMAIN);
  }

  /** Fires a schedule now, whatever its time. */
  async fireNow(row: ScheduleRow): Promise<{ triggerId: string; at: number } & Carried> {
    const at = Math.trunc(this.#options.system.now());
    const moment: Moment = { id: this.#options.system.newId(), kind: "manual", at };
    const carried = await this.#fire(await this.domain(), row, moment);
    if (carried instanceof Error) throw carried;
    return { triggerId: moment.id, at, ...carried };
  }

  async #check(): Promise<number | undefined> {
    const { system, targets, logger } = this.#options;
    const domain = await this.domain();
    if (!this.#synced) await syncDeclared(domain, targets.workflows(), system);
    this.#synced = true;
    await this.#watchRunning(domain);
    const failed = new Set<string>();
    while (!this.#abort.signal.aborted) {
      const rows = (await domain.due(this.#subjects(), BATCH + failed.size)).filter(
        ({ id }) => !failed.has(id),
      );
      const now = Math.trunc(system.now());
      const due = rows.filter((row) => row.next_fire_at! <= now);
      for (const { id, next_fire_at } of due) {
        const at = next_fire_at!;
        // Those before it take time: it may be paused, changed or deleted by now.
        const row = await domain.read(id);
        if (row?.next_fire_at !== at) continue;
        // Times that were missed are not made up for: the next one is counted from now.
        const next = { due: at, at: parseCron(row.cron, row.timezone ?? undefined)(now) };
        try {
          const result = await this.#fire(domain, row, { id: String(at), kind: "schedule-fire", at, next });
          if (result instanceof Error) logger.error(`Schedule "${row.id}" failed to fire`, result);
        } catch (error) {
          failed.add(row.id);
          logger.error(`Schedule "${row.id}" failed to fire and will be retried`, error);
        }
      }
      if (due.length < rows.length || due.length === 0) return rows[due.length]?.next_fire_at ?? undefined;
    }
    return undefined;
  }

  #subjects(): string[] {
    const { targets } = this.#options;
    return [
      ...targets.workflows().map(({ id }) => `workflow:${id}`),
      ...targets.agents().map(({ id }) => `agent:${id}`),
    ];
  }

  /** Returns the error of a fire that was recorded as failed. Throws if it was not recorded and is tried again. */
  async #fire(domain: ScheduleDomain, row: ScheduleRow, moment: Moment): Promise<Carried | Error> {
    const target = row.target as WorkflowScheduleTarget | AgentScheduleTarget;
    if (target.agentId !== undefined && target.threadId === undefined)
      return this.#generate(domain, row, target, moment);
    const carried = await this.#carryOut(row, target, moment).catch((error: unknown) => {
      if (mayBeRepeated(error)) throw error;
      return error as Error;
    });
    const isError = carried instanceof Error;
    await domain.record(row, {
      trigger: this.#triggerOf(moment, isError ? { outcome: "failed", error: carried } : carried),
      ...(moment.next && { next: moment.next }),
    });
    return carried;
  }

  async #carryOut(
    row: ScheduleRow,
    target: WorkflowScheduleTarget | AgentScheduleTarget,
    moment: Moment,
  ): Promise<Carried> {
    const fireId = fireIdOf(row, moment);
    if (target.agentId !== undefined) return sendToThread(this.#agent(target.agentId), target, fireId);
    const workflow = this.#options.targets.workflows().find(({ id }) => id === target.workflowId);
    if (!workflow) throw unknown("workflow", target.workflowId);
    return startWorkflow(workflow, target, fireId);
  }

  #agent(agentId: string): ScheduledAgent {
    const agent = this.#options.targets.agents().find(({ id }) => id === agentId);
    if (!agent) throw unknown("agent", agentId);
    return agent;
  }

  /** A run without a thread. It goes on after this returns. */
  async #generate(
    domain: ScheduleDomain,
    row: ScheduleRow,
    target: AgentScheduleTarget,
    moment: Moment,
  ): Promise<Carried> {
    const agent = this.#agent(target.agentId);
    const next = moment.next && { next: moment.next };
    if (await domain.isRunning(row.id)) {
      const skipped = { outcome: "skipped", error: new Error("The previous run has not ended.") } as const;
      await domain.record(row, { trigger: this.#triggerOf(moment, skipped), ...next });
      return { outcome: "skipped", runId: undefined };
    }
    const { storage } = domain;
    const trigger = {
      ...this.#triggerOf(moment, { outcome: "running" }),
      owner: storage.ownerId(),
      due_at: this.#silentAt(),
    };
    if (!(await domain.record(row, { trigger, ...next }, { exclusive: true })))
      return { outcome: "skipped", runId: undefined };
    const runId = fireIdOf(row, moment);
    const run = this.#runToEnd(domain, agent, target, { schedule_id: row.id, id: moment.id }, runId);
    this.#running.add(run);
    void run.finally(() => this.#running.delete(run));
    return { outcome: "running", runId };
  }

  async #runToEnd(
    domain: ScheduleDomain,
    agent: ScheduledAgent,
    { prompt, requestContext }: AgentScheduleTarget,
    trigger: Pick<TriggerRow, "schedule_id" | "id">,
    runId: string,
  ): Promise<void> {
    const { signal } = this.#abort;
    const context = new RequestContext(requestContext ?? {});
    const { logger } = this.#options;
    const error = await agent.generate(prompt, { runId, abortSignal: signal, requestContext: context }).then(
      () => undefined,
      (thrown: unknown) => shortened(thrown),
    );
    const outcome = signal.aborted ? "aborted" : error === undefined ? "succeeded" : "failed";
    if (outcome === "failed") logger.error(`The run of schedule "${trigger.schedule_id}" failed: ${error}`);
    const end = { outcome, run_id: runId, ...(error !== undefined && { error }) } as const;
    await domain
      .finish(trigger, end)
      .catch((thrown: unknown) => logger.error("The end of a schedule's run was not stored", thrown));
  }

  /** Tells others that the runs of this process are alive, and records those of processes that are gone. */
  async #watchRunning(domain: ScheduleDomain): Promise<void> {
    const { storage } = domain;
    const own = storage.ownerId();
    const now = this.#options.system.now();
    if (this.#running.size > 0 && now - this.#renewedAt > SILENT_MS / 5) {
      this.#renewedAt = now;
      await domain.renew(own, this.#silentAt());
    }
    for (const row of await domain.running(BATCH))
      if (row.owner !== own && (row.due_at! < now || storage.isOwnerDead(row.owner!)))
        await domain.interrupt(row, INTERRUPTED);
  }

  #silentAt(): number {
    return Math.trunc(this.#options.system.now()) + SILENT_MS;
  }

  #triggerOf(
    { id, kind, at }: Moment,
    { outcome, runId, error }: { outcome: Carried["outcome"]; runId?: string | undefined; error?: Error },
  ): Fire["trigger"] {
    return {
      id,
      kind,
      scheduled_at: at,
      fired_at: Math.trunc(this.#options.system.now()),
      outcome,
      run_id: runId ?? null,
      error: error ? shortened(error) : null,
      due_at: null,
      owner: null,
    };
  }
}

/** The id of a fire's effect: of the run or the signal. */
function fireIdOf({ id }: ScheduleRow, moment: Moment): string {
  return `${FIRE_PREFIX}${id}_${moment.id}`;
}

function shortened(error: unknown): string {
  return errorMessage(error).slice(0, MAX_ERROR);
}

function unknown(kind: string, id: string): AgentError {
  return new AgentError(
    "not-found",
    `This process has no ${kind} with the id "${id}". Register it with the host.`,
  );
}
