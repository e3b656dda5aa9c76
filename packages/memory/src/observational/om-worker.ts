import { AgentError } from "@selvedge/core/errors";
import { type MemoryAgent, type MemoryThreads, sleep } from "@selvedge/core/memory";
import {
  OM_DOMAIN,
  OM_EVENTS,
  OM_JOBS,
  OM_RECORDS,
  type OmJobRow,
  remove,
  requireNone,
  update,
  type Where,
  type Write,
} from "@selvedge/core/storage";
import type { AgentChunk } from "@selvedge/protocol";
import { carryOut } from "./carry-out-job.ts";
import { startChunk } from "./job-chunks.ts";
import type { JobContext } from "./job-context.ts";
import { omLimits, overridesOf } from "./om-limits.ts";
import type { OmServer } from "./om-server.ts";
import { publish } from "./publish.ts";

// One per store and process, even if the process has two copies of this package.
const KEY = Symbol.for("selvedge.om-worker");
const BATCH = 200;
const BY_DUE = [{ column: "due_at" }, { column: "number" }] as const;
const CLOSE_MS = 5_000;
const OPEN: readonly OmJobRow["state"][] = ["waiting", "running", "failed"];

interface Serving {
  agent: MemoryAgent;
  server: OmServer;
}

/**
 * Carries out the jobs of a store for which this process has the agents, a few at a time. A job is taken by its fence,
 * with the lease of the process: jobs of a dead process are taken by another.
 */
export class OmWorker {
  readonly #threads: MemoryThreads;
  readonly #serving = new Map<string, Serving>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #abort = new AbortController();
  #looking: Promise<void> | undefined;
  #again = false;
  #cancelTimer: (() => void) | undefined;
  #changed = Promise.withResolvers<void>();

  private constructor(threads: MemoryThreads) {
    this.#threads = threads;
    threads.onLook(() => this.nudge());
    threads.onClose(() => this.#close());
  }

  static of(threads: MemoryThreads): OmWorker {
    return threads.storage.attach(KEY, () => new OmWorker(threads));
  }

  /** From now on, jobs of this agent are carried out here. */
  serve(agent: MemoryAgent, server: OmServer): void {
    const known = this.#serving.get(agent.id);
    this.#serving.set(agent.id, { agent, server });
    if (!known) this.nudge();
  }

  /** There may be a job. Safe to call at any time. */
  nudge(): void {
    if (this.#abort.signal.aborted || this.#serving.size === 0) return;
    if (this.#looking) {
      this.#again = true;
      return;
    }
    this.#looking = this.#look()
      .catch((error: unknown) => {
        if (!AgentError.is(error, "storage-closed"))
          this.#threads.logger.warn(
            "Searching for observational memory jobs failed and will be retried",
            error,
          );
      })
      .finally(() => {
        this.#looking = undefined;
        if (this.#again) {
          this.#again = false;
          this.nudge();
        }
      });
  }

  /** Resolves when a job of this process ends. */
  changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** Resolves when nothing is in progress here, and nothing that is due could start. */
  async settled(): Promise<void> {
    for (;;) {
      if (this.#looking) await this.#looking;
      else if (this.#running.size > 0) await Promise.all(this.#running.values());
      else return;
    }
  }

  async #look(): Promise<void> {
    const { storage, system, lease } = this.#threads;
    await storage.domain(OM_DOMAIN);
    const now = Math.trunc(system.now());
    const ours = { agent_id: { in: [...this.#serving.keys()] } };
    const [next] = await storage.select({
      table: OM_JOBS,
      where: { ...ours, state: "waiting", due_at: { gt: now } },
      orderBy: BY_DUE,
      limit: 1,
    });
    this.#lookAt(next && next.due_at - now);
    await this.#tellWaiting();
    const isLeft = async ({ id, owner }: OmJobRow): Promise<boolean> =>
      // A job that is ours in the store but not here was left behind by a failure of the store.
      !this.#running.has(id) && owner !== null && (owner === lease.id || (await lease.isGone(owner)));
    await this.#beginAll({ ...ours, state: "running" }, isLeft);
    await this.#beginAll({ ...ours, state: "waiting", due_at: { lte: now } });
  }

  /** Begins as many jobs as this process can take. Jobs that must wait for others do not hide those behind them. */
  async #beginAll(where: Where<OmJobRow>, may?: (job: OmJobRow) => Promise<boolean>): Promise<void> {
    // The open jobs of each thread are read once, however many there are.
    const open = new Map<string, OmJobRow[]>();
    for (let offset = 0; ; offset += BATCH) {
      const jobs = await this.#threads.storage.select({
        table: OM_JOBS,
        where,
        orderBy: BY_DUE,
        limit: BATCH,
        offset,
      });
      for (const job of jobs) {
        if (this.#running.size >= this.#threads.limits.omJobs) return;
        if (may && !(await may(job))) continue;
        let later: OmJobRow[] = [];
        if (job.kind === "observe") {
          const place = `${job.thread_id}\n${job.source}`;
          const known = open.get(place) ?? (await this.#openJobs(job));
          open.set(place, known);
          if (known[0]?.id !== job.id) continue;
          later = known.slice(1);
        }
        await this.#begin(job, later);
      }
      if (jobs.length < BATCH) return;
    }
  }

  #lookAt(afterMs: number | undefined): void {
    this.#cancelTimer?.();
    this.#cancelTimer =
      afterMs === undefined
        ? undefined
        : this.#threads.system.setTimer(Math.min(afterMs, 120_000), () => this.nudge(), { background: true });
  }

  async #begin(job: OmJobRow, later: readonly OmJobRow[]): Promise<void> {
    const serving = this.#serving.get(job.agent_id);
    if (!serving || this.#running.has(job.id) || this.#abort.signal.aborted) return;
    const { lease } = this.#threads;
    const context = await this.#context(job, serving);
    await lease.hold();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running.set(job.id, promise);
    let taken: OmJobRow | undefined;
    try {
      taken = await this.#take(job, later, context);
    } finally {
      if (!taken) {
        this.#running.delete(job.id);
        lease.release();
        resolve();
      }
    }
    if (taken) void this.#carryOut(taken, context, resolve);
  }

  /** What the job is carried out with. */
  async #context(job: OmJobRow, { agent, server }: Serving): Promise<JobContext> {
    const { config } = server;
    const settings = await agent.omSettings?.(job.source);
    const [record] = await this.#threads.storage.select({
      table: OM_RECORDS,
      where: { thread_id: job.thread_id, source: "" },
      limit: 1,
      columns: ["config"],
    });
    const limits = omLimits(config, overridesOf(config, record?.config, settings));
    return { agent, server, threads: this.#threads, settings, limits, abortSignal: this.#abort.signal };
  }

  /** All jobs for the messages of a thread. Only the first may begin. */
  #openJobs({ thread_id, source }: OmJobRow): Promise<OmJobRow[]> {
    return this.#threads.storage.select({
      table: OM_JOBS,
      where: { thread_id, source, kind: "observe", state: { in: OPEN } },
      orderBy: [{ column: "number" }],
    });
  }

  /**
   * Takes the job for this process and announces it on the stream. `undefined` if another process was faster. It also
   * covers what later jobs were for, so that jobs do not pile up while an observer fails.
   */
  async #take(
    job: OmJobRow,
    later: readonly OmJobRow[],
    { server, limits }: JobContext,
  ): Promise<OmJobRow | undefined> {
    const { system, lease } = this.#threads;
    const taken: OmJobRow = {
      ...job,
      to_id: later.at(-1)?.to_id ?? job.to_id,
      tokens: later.reduce((sum, { tokens }) => sum + tokens, job.tokens),
      waited: later.reduce((waited, one) => Math.max(waited, one.waited), job.waited),
      state: "running",
      owner: lease.id,
      fence: job.fence + 1,
      attempt: job.attempt + 1,
      cycle_id: system.newId(),
      started_at: Math.trunc(system.now()),
    };
    const { to_id, tokens, waited, state, owner, fence, attempt, cycle_id, started_at } = taken;
    const writes: Write[] = [
      ...(job.kind === "observe" ? [requireNone(OM_JOBS, before(job))] : []),
      update(OM_JOBS, {
        where: { thread_id: job.thread_id, id: job.id, fence: job.fence, state: job.state },
        set: { to_id, tokens, waited, state, owner, fence, attempt, cycle_id, started_at },
        require: true,
      }),
      ...later.map(({ id, thread_id, fence: seen }) =>
        remove(OM_JOBS, { thread_id, id, fence: seen }, { require: true }),
      ),
    ];
    const stored = await publish(this.#threads, taken, [startChunk(taken, server.config, limits)], writes);
    return stored ? taken : undefined;
  }

  async #carryOut(job: OmJobRow, context: JobContext, resolve: () => void): Promise<void> {
    const { lease, logger } = this.#threads;
    try {
      await carryOut(job, context);
    } catch (error) {
      // The store has the job as ours: the next check takes it up again.
      if (!this.#abort.signal.aborted && !AgentError.is(error, "storage-closed"))
        logger.warn(`The ${job.kind} job of thread "${job.source}" could not be stored`, error);
    } finally {
      this.#running.delete(job.id);
      lease.release();
      const changed = this.#changed;
      this.#changed = Promise.withResolvers();
      changed.resolve();
      this.nudge();
      resolve();
    }
  }

  /** Puts chunks on the stream that waited while another process carried out their thread. */
  async #tellWaiting(): Promise<void> {
    // Chunks of a thread that is still busy stay, and must not hide those behind them.
    for (let offset = 0; ;) {
      const events = await this.#threads.storage.select({
        table: OM_EVENTS,
        orderBy: [{ column: "seq" }, { column: "id" }],
        limit: BATCH,
        offset,
      });
      for (const [source, rows] of Map.groupBy(events, (event) => event.source)) {
        const target = { threadId: source, resourceId: rows[0]!.source_resource };
        const chunks = rows.map(({ chunk }) => chunk as unknown as AgentChunk);
        const taken = rows.map(({ id, thread_id }) =>
          remove(OM_EVENTS, { thread_id, id }, { require: true }),
        );
        if ((await this.#threads.announce(target, chunks, taken)) !== "stored") offset += rows.length;
      }
      if (events.length < BATCH) return;
    }
  }

  /** Waits briefly for jobs to end; others take over what is still in progress. */
  async #close(): Promise<void> {
    this.#cancelTimer?.();
    const { system } = this.#threads;
    const serving = [...this.#serving];
    this.#serving.clear();
    if (serving.length > 0 && (this.#running.size > 0 || this.#looking))
      await Promise.race([this.settled(), sleep(system, CLOSE_MS)]);
    this.#abort.abort(new AgentError("storage-closed", "This process is shutting down."));
    await this.settled();
  }
}

/** Earlier jobs for the same messages. */
function before({ thread_id, source, number }: OmJobRow) {
  return { thread_id, source, kind: "observe", state: { in: OPEN }, number: { lt: number } } as const;
}
