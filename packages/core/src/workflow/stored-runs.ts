import type { NumberedWorkflowChunk, WorkflowRunStatus } from "@selvedge/protocol";
import { Janitor } from "../actor/janitor.ts";
import { LeaseScheduler } from "../actor/lease-scheduler.ts";
import { DEFAULT_LEASE, Owner } from "../actor/owner.ts";
import { AgentError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import { DEFAULT_RETENTION } from "../storage/prune.ts";
import type { Storage } from "../storage/storage.ts";
import { update } from "../storage/writes.ts";
import { sleep, type System } from "../system.ts";
import { cancelRun } from "./cancel-run.ts";
import { CarriedRuns, RETRY_MS } from "./carried-runs.ts";
import { deleteWrites } from "./delete-runs.ts";
import { DueRuns } from "./due-runs.ts";
import { findAbandonedRuns } from "./find-abandoned-runs.ts";
import { GraphStore } from "./graph-store.ts";
import { KeptContexts, mergedContext } from "./kept-contexts.ts";
import { KnownStatuses } from "./known-statuses.ts";
import { listHeads, listRuns } from "./list-runs.ts";
import { checkClaims, proceedWrites } from "./proceed-writes.ts";
import { RestWaiters } from "./rest-waiters.ts";
import { droppedQuestions, toKept } from "./open-questions.ts";
import { NOTHING_YET } from "./run-spec.ts";
import { alreadyStarted, noRun, stillRunning } from "./run-errors.ts";
import { workflowStart } from "./run-events.ts";
import { isEnd, type RunImage } from "./run-image.ts";
import { RunLogs } from "./run-logs.ts";
import { RunNews } from "./run-news.ts";
import type { RunParts } from "./run-parts.ts";
import { readPosition } from "./run-position.ts";
import { RunReader } from "./run-reader.ts";
import { readRun } from "./run-rows.ts";
import { startWrites } from "./start-writes.ts";
import { storedContext } from "./stored-context.ts";
import { TakeUp } from "./take-up.ts";
import { withdrawQuestions } from "./withdraw-questions.ts";
import { WORKFLOW_DOMAIN } from "./workflow-domain.ts";
import type {
  Accepted,
  Continuation,
  Definition,
  NewRun,
  RunAddress,
  RunFacts,
  RunHead,
  RunQuery,
  WorkflowEngine,
} from "./workflow-engine.ts";
import type { StoredRunsOptions } from "./workflow-host.ts";
import { DEFAULT_WORKFLOW_LIMITS } from "./workflow-limits.ts";
import { WORKFLOW_RUNS } from "./workflow-tables.ts";

// One per store and process, even if the process has two copies of this package.
const KEY = Symbol.for("selvedge.workflow-runs");
const CLOSE_GRACE_MS = 5_000;
const CLOSE_POLL_MS = 10;
/** How often a change that others were faster with is tried again. */
const RETRIES = 20;

/** The runs of a store, as far as they concern this process. */
export class StoredRuns implements WorkflowEngine {
  readonly #parts: RunParts;
  readonly #definitions = new Map<string, Definition>();
  readonly #graphs: GraphStore;
  readonly #scheduler: LeaseScheduler<string>;
  readonly #janitor: Janitor;
  readonly #due: DueRuns;
  readonly #runs: CarriedRuns;
  readonly #takeUp: TakeUp;
  readonly #news: RunNews;
  #stopWatching: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  private constructor(storage: Storage, system: System, logger: Logger, options: StoredRunsOptions) {
    const limits = { ...DEFAULT_WORKFLOW_LIMITS, ...options.limits };
    const statuses = new KnownStatuses();
    const parts: RunParts = {
      storage,
      system,
      logger,
      limits,
      owner: Owner.of(storage, system, options.lease ?? DEFAULT_LEASE),
      logs: new RunLogs(storage, system),
      waiters: new RestWaiters(statuses, system),
      contexts: new KeptContexts(),
      statuses,
      definitions: this.#definitions,
    };
    this.#parts = parts;
    this.#graphs = new GraphStore(storage);
    this.#janitor = new Janitor({
      storage,
      system,
      logger,
      limits: { ...DEFAULT_RETENTION, ...options.retention },
    });
    this.#scheduler = new LeaseScheduler({
      storage,
      system,
      logger,
      owner: parts.owner,
      limits,
      what: "workflows",
      keyOf: (runId) => runId,
      search: findAbandonedRuns(
        storage,
        system,
        () => [...this.#definitions.keys()],
        (runId) => this.#runs.has(runId),
      ),
      onLook: () => {
        this.#janitor.nudge();
        this.#news.look();
      },
    });
    this.#due = new DueRuns(parts, {
      onDue: (runId) => this.#scheduler.wake(runId),
      onError: (error) => this.#warn(error),
    });
    const onWaiting = (dueAt: number): void => this.#due.at(dueAt);
    const onLost = (runId: string, error: unknown): void => this.#lost(runId, error);
    this.#runs = new CarriedRuns(parts, {
      slots: this.#scheduler,
      onWaiting,
      onLost,
      onLetGo: () => this.#janitor.nudge(),
    });
    this.#news = new RunNews(parts, this.#runs);
    this.#takeUp = new TakeUp(parts, {
      runs: this.#runs,
      isClosing: () => this.#closing !== undefined,
      later: (runId, afterMs) => this.#scheduler.wake(runId, { afterMs, urgent: false }),
      onWaiting,
      onLost,
      warn: (error, runId) => this.#warn(error, runId),
    });
    this.#scheduler.onWake((runId) => this.#takeUp.look(runId));
  }

  /** The runs of a store. The first caller decides clock, logger and limits. */
  static of(storage: Storage, system: System, logger: Logger, options: StoredRunsOptions = {}): StoredRuns {
    return storage.attach(KEY, () => new StoredRuns(storage, system, logger, options));
  }

  serve(definition: Definition): void {
    const known = this.#definitions.get(definition.id);
    this.#definitions.set(definition.id, definition);
    if (!known) this.#scheduler.lookAgain();
  }

  async start(definition: Definition, run: NewRun): Promise<Accepted> {
    await this.#open();
    const { storage, system, owner, logs, contexts, statuses, waiters } = this.#parts;
    const { runId, requestContext } = run;
    const graph = await this.#graphs.store(definition.serializedStepGraph);
    const now = Math.trunc(system.now());
    const log = logs.of(runId);
    const isHere = this.#enter(runId);
    const writes = this.#orLeave(isHere ? runId : undefined, () =>
      startWrites(definition, run, { log, graph, now, owner: isHere ? owner.id : undefined }),
    );
    if (isHere) await this.#runs.hold(runId);
    try {
      await storage.commit(writes, { key: runId, id: `${runId} start ${system.newId()}` });
    } catch (error) {
      if (isHere) this.#runs.letGo(runId);
      log.forget();
      if (!AgentError.is(error, "conflict")) throw error;
      return { rest: Promise.resolve(await this.#canceledBefore(run)), forget: () => {} };
    }
    contexts.keep(runId, requestContext);
    statuses.set(runId, "running");
    const accepted = waiters.expect(runId);
    log.tail.append(1, [workflowStart(runId, definition.id)]);
    if (isHere) {
      const past = { ...NOTHING_YET, records: run.records, state: new Map(Object.entries(run.state)) };
      const lease = { fence: 1, firstSeq: 1, nextSeq: 2, isRetried: false };
      this.#runs.carryOut(definition, { ...run, ...lease, past }).begin();
    } else log.forget();
    return accepted;
  }

  /** A run that was canceled before its start is over. One that was started cannot be started again. */
  async #canceledBefore({ runId, resourceId }: RunAddress): Promise<RunImage> {
    const stored = await readRun(this.#parts.storage, runId);
    if (!stored?.image.options.neverStarted || stored.image.resourceId !== resourceId)
      throw alreadyStarted(runId);
    this.#parts.statuses.set(runId, stored.image.status);
    return stored.image;
  }

  async load(runId: string): Promise<RunImage | undefined> {
    await this.#open();
    return (await readRun(this.#parts.storage, runId))?.image;
  }

  async facts(runId: string): Promise<RunFacts | undefined> {
    await this.#open();
    const { storage, statuses } = this.#parts;
    const before = statuses.get(runId);
    const [row] = await storage.select({
      table: WORKFLOW_RUNS,
      where: { run_id: runId },
      columns: ["workflow_id", "resource_id", "status", "options"],
      limit: 1,
    });
    if (!row) return undefined;
    const { workflow_id: workflowId, resource_id, status, options } = row;
    statuses.replace(runId, before, status);
    return { workflowId, resourceId: resource_id ?? undefined, status, options: options ?? {} };
  }

  async proceed(definition: Definition, image: RunImage, asked: Continuation): Promise<Accepted> {
    await this.#open();
    const { storage, system, owner, contexts, statuses, waiters, logs, logger } = this.#parts;
    const { runId } = image;
    let continuation = asked;
    for (let seen = image, attempt = 0; ; attempt++) {
      if (seen.isOwned && continuation.rewinds) throw stillRunning(runId);
      const isHere = !seen.isOwned && this.#enter(runId);
      const given = continuation.requestContext;
      const context = given && mergedContext(contexts.of(seen), given);
      const dropped = continuation.rewinds ? droppedQuestions(definition, seen, continuation) : [];
      const plan = this.#orLeave(isHere ? runId : undefined, () =>
        proceedWrites(seen, continuation, {
          now: Math.trunc(system.now()),
          owner: isHere ? owner.id : undefined,
          id: system.newId(),
          context: context && storedContext(context, definition.host),
          dropped: toKept(dropped),
        }),
      );
      if (isHere) await this.#runs.hold(runId);
      const before = statuses.get(runId);
      try {
        await storage.commit(plan.writes, { key: runId, id: system.newId() });
      } catch (error) {
        if (isHere) this.#runs.letGo(runId);
        if (!AgentError.is(error, "conflict") || attempt >= RETRIES) throw error;
        const again = await readRun(storage, runId);
        if (!again) throw noRun(runId);
        seen = again.image;
        continuation = continuation.again?.(seen) ?? continuation;
        checkClaims(seen, continuation);
        continue;
      }
      if (context) contexts.keep(runId, context);
      statuses.replace(runId, before, "running");
      if (continuation.rewinds) {
        logs.refresh(runId);
        void withdrawQuestions(dropped, logger);
      }
      const accepted = waiters.expect(runId);
      if (isHere) this.#takeUp.continueTaken(definition, plan.next);
      else this.#runs.mailMayHaveCome(runId);
      return continuation.rewinds ? { ...accepted, after: plan.next.firstSeq - 1 } : accepted;
    }
  }

  async cancel(definition: Definition, address: RunAddress): Promise<void> {
    await this.#open();
    await cancelRun(this.#parts, this.#graphs, definition, address);
    this.#runs.mailMayHaveCome(address.runId);
  }

  async wake(definition: Definition, runId: string, given?: RequestContext): Promise<void> {
    await this.#open();
    if (given && !this.#runs.has(runId)) await this.#giveContext(definition, runId, given);
    await this.#takeUp.look(runId);
  }

  /** Whether its process died may show only later, so the context is kept for any run that is not at rest. */
  async #giveContext({ host }: Definition, runId: string, given: RequestContext): Promise<void> {
    const { storage, contexts, system } = this.#parts;
    const stored = await readRun(storage, runId);
    if (!stored || isEnd(stored.row.status)) return;
    if (stored.row.owner === null && stored.row.due_at === null) return;
    const merged = mergedContext(contexts.of(stored.image), given);
    contexts.keep(runId, merged);
    const where = { run_id: runId, created_at: stored.row.created_at };
    const keep = update(WORKFLOW_RUNS, { where, set: { context: storedContext(merged, host) } });
    await storage.commit([keep], { key: runId, id: system.newId() });
  }

  atRest(_definition: Definition, runId: string): Accepted {
    const accepted = this.#parts.waiters.expect(runId);
    const rest = this.#checked(runId, accepted);
    // A caller may not be interested.
    rest.catch(() => {});
    return { ...accepted, rest };
  }

  /** It may rest already, in another process. */
  async #checked(runId: string, { rest, forget }: Accepted): Promise<RunImage> {
    try {
      await this.#open();
      await this.#news.checkWaiters([runId]);
    } catch (error) {
      forget();
      throw error;
    }
    return rest;
  }

  statusOf(runId: string): WorkflowRunStatus | undefined {
    return this.#runs.has(runId) ? "running" : this.#parts.statuses.get(runId);
  }

  async position(runId: string): Promise<{ start: number; end: number }> {
    await this.#open();
    return readPosition(this.#parts.storage, runId);
  }

  read(runId: string, after: number): AsyncIterableIterator<NumberedWorkflowChunk> {
    return new RunReader(this.#parts.logs.of(runId), after);
  }

  async list(query: RunQuery): Promise<{ images: RunImage[]; total: number }> {
    await this.#open();
    return listRuns(this.#parts.storage, query);
  }

  async listHeads(query: RunQuery): Promise<{ heads: RunHead[]; total: number }> {
    await this.#open();
    return listHeads(this.#parts.storage, query);
  }

  async remove(runId: string): Promise<void> {
    await this.#open();
    const { storage, logs, statuses, waiters } = this.#parts;
    this.#runs.abandon(runId);
    await storage.commit(deleteWrites([runId]), { key: runId });
    statuses.forget(runId);
    logs.refresh(runId);
    waiters.reject(runId, noRun(runId));
  }

  async recover(): Promise<void> {
    try {
      await this.#open();
    } catch (error) {
      // The host may go on without it: the runs are taken up when the store can be opened.
      const again = (): void => void (this.#closing || this.recover().catch(() => {}));
      if (!this.#closing) this.#parts.system.setTimer(RETRY_MS, again, { background: true });
      throw error;
    }
    await this.#scheduler.start();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { system, owner, waiters, logs } = this.#parts;
    this.#scheduler.stop();
    this.#due.stop();
    this.#stopWatching?.();
    const deadline = system.monotonic() + CLOSE_GRACE_MS;
    while (this.#runs.size > 0 && system.monotonic() < deadline) await sleep(system, CLOSE_POLL_MS);
    await this.#runs.abandonAll().catch(() => {});
    logs.wakeAll();
    const closed = new AgentError(
      "storage-closed",
      "The host is closing; the run continues in another process.",
    );
    for (const runId of waiters.runIds) waiters.reject(runId, closed);
    await this.#janitor.close();
    await owner.retire().catch(() => {});
  }

  async #open(): Promise<void> {
    const { storage } = this.#parts;
    await storage.domain(WORKFLOW_DOMAIN);
    this.#stopWatching ??= storage.watch((change) => this.#news.arrived(change));
  }

  #enter(runId: string): boolean {
    return !this.#closing && this.#runs.enter(runId);
  }

  /** Values that cannot be stored must not keep a run from being taken. */
  #orLeave<Plan>(runId: string | undefined, plan: () => Plan): Plan {
    try {
      return plan();
    } catch (error) {
      if (runId !== undefined) this.#runs.leave(runId);
      throw error;
    }
  }

  /** Another process has it, or the store failed under it: then it is taken up again from what is stored. */
  #lost(runId: string, error: unknown): void {
    const { waiters } = this.#parts;
    if (AgentError.is(error, "storage-closed")) return waiters.reject(runId, error);
    if (!AgentError.is(error, "superseded")) this.#warn(error, runId);
    if (!this.#closing) this.#scheduler.wake(runId, { afterMs: RETRY_MS, urgent: waiters.has(runId) });
  }

  #warn(error: unknown, runId?: string): void {
    if (this.#closing || AgentError.is(error, "storage-closed")) return;
    const what = runId === undefined ? "Workflow runs" : `Workflow run "${runId}"`;
    this.#parts.logger.warn(`${what} could not be continued; this will be retried`, error);
  }
}
