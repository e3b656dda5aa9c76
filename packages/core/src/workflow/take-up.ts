import { Attempts, exhausted, MAX_ATTEMPTS } from "../actor/attempts.ts";
import { AgentError } from "../errors.ts";
import { update } from "../storage/writes.ts";
import { type CarriedRuns, RETRY_MS, type TakenRun } from "./carried-runs.ts";
import { endUnowned } from "./end-unowned.ts";
import { checkPlaces } from "./path.ts";
import { keptQuestions, questionsOf } from "./open-questions.ts";
import { isEnd, type RunImage } from "./run-image.ts";
import type { RunParts } from "./run-parts.ts";
import { readPosition } from "./run-position.ts";
import { readRun, type StoredRun } from "./run-rows.ts";
import { readMail } from "./stored-run-port.ts";
import type { Definition } from "./workflow-engine.ts";
import { withdrawQuestions } from "./withdraw-questions.ts";
import { WORKFLOW_RUNS } from "./workflow-tables.ts";

const LONGEST_PAUSE_MS = 60_000;

interface Surroundings {
  runs: CarriedRuns;
  isClosing(): boolean;
  /** Look again then. */
  later(runId: string, ms: number): void;
  onWaiting(dueAt: number): void;
  onLost(runId: string, error: unknown): void;
  warn(error: unknown, runId: string): void;
}

/** Takes up runs that have work to do and no process: their process died, their sleep is over, or there was no room. */
export class TakeUp {
  readonly #parts: RunParts;
  readonly #around: Surroundings;
  readonly #looking = new Map<string, Promise<void>>();
  readonly #attempts = new Map<string, Attempts>();

  constructor(parts: RunParts, around: Surroundings) {
    this.#parts = parts;
    this.#around = around;
  }

  /** Checks a run and carries it out if no one else does. Resolves when that is decided. */
  look(runId: string): Promise<void> {
    const known = this.#looking.get(runId);
    if (known) return known;
    const looking = this.#look(runId).finally(() => this.#looking.delete(runId));
    this.#looking.set(runId, looking);
    return looking;
  }

  async #look(runId: string): Promise<void> {
    const { runs, isClosing, later, warn } = this.#around;
    if (runs.has(runId)) return runs.mailMayHaveCome(runId);
    if (isClosing() || !runs.enter(runId)) return;
    let isTaken = false;
    try {
      isTaken = await this.#take(runId);
    } catch (error) {
      warn(error, runId);
      // If it is still this process's own, no search finds it.
      if (AgentError.is(error, "storage-failed") && !isClosing()) later(runId, RETRY_MS);
    } finally {
      if (!isTaken) runs.leave(runId);
    }
  }

  async #take(runId: string): Promise<boolean> {
    const { storage, system, owner, definitions } = this.#parts;
    const stored = await readRun(storage, runId);
    if (!stored) return false;
    const { row, image } = stored;
    const definition = definitions.get(row.workflow_id);
    if (!definition) return false;
    if (isEnd(row.status)) {
      await this.#endQuestions(definition, stored);
      return false;
    }
    const isRetried = row.owner !== null;
    if (row.owner === null) {
      if (row.due_at === null) return false;
      if (row.due_at > Math.trunc(system.now())) {
        this.#around.onWaiting(row.due_at);
        return false;
      }
    } else if (row.owner !== owner.id && !(await owner.isGone(row.owner))) return false;
    if (isRetried && (await this.#wasCanceled(definition, stored))) return false;
    const attempts = isRetried ? (row.attempts ?? 0) + 1 : 0;
    if (attempts >= MAX_ATTEMPTS) {
      await this.#end(definition, stored, { status: "failed", error: exhausted(runId) });
      return false;
    }
    if (this.#mustWait(runId, attempts)) return false;
    checkPlaces(definition.rules.graph, image);
    const fence = row.fence + 1;
    await owner.hold();
    try {
      const where = { run_id: runId, fence: row.fence, owner: row.owner };
      const set = { owner: owner.id, fence, attempts, due_at: null, status: "running" as const };
      const taking = update(WORKFLOW_RUNS, { where, set, require: true });
      await storage.commit([taking], { key: runId, id: system.newId() });
    } catch (error) {
      owner.release();
      // Another process was faster, or wrote to it: the next search finds it again.
      if (AgentError.is(error, "conflict")) return false;
      throw error;
    }
    // The process that dropped them may have died before all knew.
    void withdrawQuestions(keptQuestions(definition, { runId, ...image.options }), this.#parts.logger);
    // Until now its owner may have written to it.
    if (isRetried) await this.#continueRetried(definition, runId);
    else {
      const taken = this.#takenOf(image, { fence, nextSeq: row.next_seq, isRetried });
      // The sleep was the one step that it was to execute.
      if (taken.perStep && row.status === "waiting") taken.budget = 0;
      // Otherwise a sleep is over.
      const resumes = image.records.some(({ status }) => status === "resumed" || status === "ready");
      this.#around.runs.carryOut(definition, taken).begin([], { resumes });
    }
    return true;
  }

  /** Continues a run at rest that a call has just taken, as it was when that was decided. */
  continueTaken(definition: Definition, image: RunImage): void {
    const lease = { fence: image.fence, nextSeq: image.nextSeq, isRetried: false };
    this.#around.runs.carryOut(definition, this.#takenOf(image, lease)).begin([], { resumes: true });
  }

  /** Continues a run that was taken from a process that died, which has not written how far it came. */
  async #continueRetried(definition: Definition, runId: string): Promise<void> {
    const { storage, owner } = this.#parts;
    const { runs, onLost } = this.#around;
    try {
      const [stored, mail, { end }] = [
        await readRun(storage, runId),
        await readMail({ storage, runId }),
        await readPosition(storage, runId),
      ];
      // Deleted, or cancelled, at the same moment.
      if (!stored || stored.row.owner !== owner.id) return runs.letGo(runId);
      const lease = { fence: stored.row.fence, nextSeq: end + 1, isRetried: true };
      runs.carryOut(definition, this.#takenOf(stored.image, lease)).begin(mail);
    } catch (error) {
      // It is stored that the run is this process's: no other can take it up while this one lives.
      runs.letGo(runId);
      onLost(runId, error);
    }
  }

  #takenOf(image: RunImage, lease: { fence: number; nextSeq: number; isRetried: boolean }): TakenRun {
    const { records, state, once, usage, options } = image;
    const past = { records, state, once, usage, wasInterrupted: lease.isRetried };
    const requestContext = this.#parts.contexts.of(image);
    const perStep = options.perStep ?? false;
    return { ...image, requestContext, perStep, ...(perStep && { budget: 1 }), past, ...lease };
  }

  /** A cancellation that reached no process ends the run, also if nothing of it can be continued any more. */
  async #wasCanceled(definition: Definition, stored: StoredRun): Promise<boolean> {
    const mail = await readMail({ storage: this.#parts.storage, runId: stored.image.runId });
    if (!mail.some(({ kind }) => kind === "cancel")) return false;
    await this.#end(definition, stored, { status: "canceled" });
    return true;
  }

  async #end(
    definition: Definition,
    stored: StoredRun,
    ends: { status: "failed" | "canceled"; error?: unknown },
  ): Promise<void> {
    try {
      await endUnowned(this.#parts, definition, stored, ends);
    } catch (error) {
      if (!AgentError.is(error, "conflict")) throw error;
      // Another process was faster, or a commit of this one was still on its way. No search finds what is this process's own.
      if (!this.#around.isClosing()) this.#around.later(stored.image.runId, RETRY_MS);
    }
  }

  /** A run that is over may have asked something elsewhere that has not ended yet. */
  async #endQuestions(definition: Definition, { row, image }: StoredRun): Promise<void> {
    if (row.due_at === null) return;
    const { storage, system, logger } = this.#parts;
    const { runId } = image;
    if (row.due_at > Math.trunc(system.now())) return this.#around.onWaiting(row.due_at);
    const isOpen = await withdrawQuestions(questionsOf(definition, image), logger);
    const now = Math.trunc(system.now());
    // Stored, so that it does not stand in line before runs whose sleep is over.
    const due_at = isOpen ? now + withdrawalPause(now - (row.ended_at ?? now)) : null;
    const where = { run_id: runId, fence: row.fence, owner: null, due_at: row.due_at };
    await storage.commit([update(WORKFLOW_RUNS, { where, set: { due_at } })], {
      key: runId,
      id: system.newId(),
    });
    if (due_at !== null) this.#around.onWaiting(due_at);
  }

  /** A run that failed its processes repeatedly is tried again after a while. */
  #mustWait(runId: string, attempts: number): boolean {
    let known = this.#attempts.get(runId);
    if (!known) this.#attempts.set(runId, (known = new Attempts()));
    const wait = known.wait(runId, attempts, this.#parts.system.monotonic());
    if (wait > 0) this.#around.later(runId, wait);
    else this.#attempts.delete(runId);
    return wait > 0;
  }
}

/** What could not be ended yet is tried again after as long as the run has been over, so ever more rarely. */
function withdrawalPause(overMs: number): number {
  return Math.min(Math.max(overMs, RETRY_MS), LONGEST_PAUSE_MS);
}
