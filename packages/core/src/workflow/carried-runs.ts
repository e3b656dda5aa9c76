import type { Lease } from "../actor/log/fenced-log.ts";
import { update } from "../storage/writes.ts";
import { deleteWrites } from "./delete-runs.ts";
import { imageOf } from "./image-of.ts";
import { RunActor } from "./run-actor.ts";
import type { RunPast } from "./run-spec.ts";
import { callHooks } from "./run-hooks.ts";
import { isEnd, type RunImage } from "./run-image.ts";
import type { RunParts } from "./run-parts.ts";
import type { Rest } from "./run-port.ts";
import { stepResults } from "./run-view.ts";
import { StoredRunPort } from "./stored-run-port.ts";
import { withdrawQuestions } from "./withdraw-questions.ts";
import type { Definition, NewRun } from "./workflow-engine.ts";
import { WORKFLOW_MAIL, WORKFLOW_RUNS } from "./workflow-tables.ts";

/** A run that this process has taken, and what is known of it. */
export interface TakenRun
  extends Lease, Pick<NewRun, "runId" | "resourceId" | "input" | "requestContext" | "options" | "perStep"> {
  past: RunPast;
  /** How many steps may be executed, with `perStep`. Default: one. */
  budget?: number;
  firstSeq: number;
  /** It was taken from a process that died. */
  isRetried: boolean;
}

/** How long a run that the store failed under, or that could not be ended in all parts, waits for the next look. */
export const RETRY_MS = 1_000;

interface Surroundings {
  /** Room for one more run. */
  slots: { enter(runId: string): boolean; leave(runId: string): void };
  /** It sleeps until then. */
  onWaiting(dueAt: number): void;
  /** Another process has it, or the store failed under it. */
  onLost(runId: string, error: unknown): void;
  /** One run less is carried out. */
  onLetGo(): void;
}

/** The runs that this process executes. Each is taken once: by a call, or by the search for abandoned runs. */
export class CarriedRuns {
  readonly #parts: RunParts;
  readonly #around: Surroundings;
  readonly #held = new Map<string, { actor: RunActor; fence: number }>();
  /** Runs that a call or a look is about to take. */
  readonly #taking = new Set<string>();

  constructor(parts: RunParts, around: Surroundings) {
    this.#parts = parts;
    this.#around = around;
  }

  get size(): number {
    return this.#held.size;
  }

  has(runId: string): boolean {
    return this.#held.has(runId);
  }

  /** Whether the caller may take a run. Whoever may, carries it out or leaves. */
  enter(runId: string): boolean {
    if (this.#held.has(runId) || this.#taking.has(runId)) return false;
    if (!this.#around.slots.enter(runId)) return false;
    this.#taking.add(runId);
    return true;
  }

  /** The run that was entered is not taken. */
  leave(runId: string): void {
    this.#taking.delete(runId);
    this.#around.slots.leave(runId);
  }

  /** Before a run that was entered is taken: others must see this process as alive. */
  async hold(runId: string): Promise<void> {
    try {
      await this.#parts.owner.hold();
    } catch (error) {
      this.leave(runId);
      throw error;
    }
  }

  /** The run is no longer carried out here. */
  letGo(runId: string): void {
    this.#held.delete(runId);
    this.#parts.owner.release();
    this.leave(runId);
    this.#around.onLetGo();
  }

  carryOut(definition: Definition, taken: TakenRun): RunActor {
    const { runId, resourceId, input, requestContext, fence, nextSeq, isRetried, options } = taken;
    const { logs, owner, system, logger, limits } = this.#parts;
    const { rules, host } = definition;
    const lease = { fence, nextSeq };
    const onClose = (): void => this.letGo(runId);
    const port = new StoredRunPort(logs.of(runId), lease, { owner: owner.id, isRetried, onClose });
    const disableScorers = options.disableScorers ?? false;
    const spec = {
      runId,
      resourceId,
      rules,
      input,
      requestContext,
      host,
      system,
      logger,
      limits,
      disableScorers,
      firstSeq: taken.firstSeq,
      dropped: options.dropped,
    };
    const actor: RunActor = new RunActor(spec, port, taken.past, {
      ...(taken.perStep && { budget: taken.budget ?? 1 }),
      onRest: (rest) => void this.#rested(definition, actor, rest),
      onLost: (error) => this.#around.onLost(runId, error),
    });
    this.#held.set(runId, { actor, fence });
    this.#taking.delete(runId);
    return actor;
  }

  mailMayHaveCome(runId: string): void {
    this.#held.get(runId)?.actor.mailMayHaveCome();
  }

  /** Gives a run up without storing anything. */
  abandon(runId: string): void {
    this.#held.get(runId)?.actor.abandon();
  }

  /** Gives all runs up, because the process closes. That they have not come further is not their fault. */
  async abandonAll(): Promise<void> {
    const held = [...this.#held];
    if (held.length === 0) return;
    for (const [, { actor }] of held) actor.abandon();
    const { storage, system, owner } = this.#parts;
    const own = { run_id: { in: held.map(([runId]) => runId) }, owner: owner.id };
    const columns = ["run_id", "fence", "attempts"] as const;
    for (const row of await storage.select({ table: WORKFLOW_RUNS, where: own, columns })) {
      const where = { run_id: row.run_id, fence: row.fence, owner: owner.id };
      // The process that takes it counts one more.
      const uncount = update(WORKFLOW_RUNS, { where, set: { attempts: (row.attempts ?? 0) - 1 } });
      await storage.commit([uncount], { key: row.run_id, id: system.newId() });
    }
  }

  /** Other processes wrote to these runs, or, without a filter, to any. */
  async changed(which?: (runId: string) => boolean): Promise<void> {
    if (!which) return this.#checkMail();
    for (const [runId, { actor }] of this.#held) if (which(runId)) actor.mailMayHaveCome();
  }

  /** A step that never ends does not find out that another process has taken its run. Notices of mail may be lost. */
  async check(): Promise<void> {
    if (this.#held.size === 0) return;
    const rows = await this.#parts.storage.select({
      table: WORKFLOW_RUNS,
      where: { run_id: { in: [...this.#held.keys()] } },
      columns: ["run_id", "fence"],
    });
    for (const { run_id, fence } of rows) {
      const held = this.#held.get(run_id);
      // Fences rise: a lower one is from a read that was on its way when the run was taken.
      if (held && fence > held.fence) held.actor.abandon();
    }
    await this.#checkMail();
  }

  async #checkMail(): Promise<void> {
    if (this.#held.size === 0) return;
    const rows = await this.#parts.storage.select({
      table: WORKFLOW_MAIL,
      where: { run_id: { in: [...this.#held.keys()] } },
      columns: ["run_id"],
    });
    for (const { run_id } of rows) this.mailMayHaveCome(run_id);
  }

  async #rested(definition: Definition, actor: RunActor, rest: Rest): Promise<void> {
    const { runId, requestContext } = actor.run;
    const { waiters, contexts, statuses, system, logger } = this.#parts;
    if (rest.status === "waiting") {
      statuses.set(runId, "waiting");
      return this.#around.onWaiting(rest.dueAt!);
    }
    const image = imageOf(definition, actor, rest, Math.trunc(system.now()));
    if (isEnd(rest.status)) contexts.forget(runId);
    if (isEnd(rest.status) && rest.dueAt !== undefined) {
      await withdrawQuestions(actor.openQuestions(), logger);
      // Then it is checked whether all know.
      this.#around.onWaiting(rest.dueAt + RETRY_MS);
    }
    await callHooks(definition, image, requestContext);
    await this.#forgetUnwanted(definition, image);
    waiters.resolve(runId, image);
  }

  /** The app may not want to keep a run that is over. */
  async #forgetUnwanted({ options }: Definition, { runId, status, records }: RunImage): Promise<void> {
    if (!options.shouldPersistSnapshot || !isEnd(status)) return;
    const { storage, logger } = this.#parts;
    try {
      const results = stepResults(records);
      if (options.shouldPersistSnapshot({ stepResults: results, workflowStatus: status })) return;
      await storage.commit(deleteWrites([runId]), { key: runId });
    } catch (error) {
      logger.error(`shouldPersistSnapshot of run "${runId}" failed, so the run was kept`, error);
    }
  }
}
