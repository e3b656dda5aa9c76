import { AgentError } from "../errors.ts";
import { outsideRuns } from "../run/current-run.ts";
import { runLoop } from "../run/loop.ts";
import { agentChunk } from "../run/model-part-chunk.ts";
import type { Resumption } from "../run/resume.ts";
import { Patience } from "../patience.ts";
import { Run, type RunSpec } from "../run/run.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import type { RunJournal } from "../run/run-journal.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import type { Storage } from "../storage/storage.ts";
import type { MailboxItem } from "../thread/admit/mailbox.ts";
import { reviveOptions, storeOptions } from "../run/stored-options.ts";
import type { Thread } from "../thread/hold/thread.ts";
import { ThreadJournal } from "../thread/journal/thread-journal.ts";
import { type ThreadAgent, type ThreadLimits, LocalThreads } from "../thread/hold/local-threads.ts";
import { DEFAULT_RUN_LIMITS, type RunStart, type ThreadTarget } from "./prepare-run.ts";
import type { ThreadsEnvironment } from "./threads-host.ts";

/** Settings of an agent's or a host's threads. */
export interface ThreadsConfig extends Partial<ThreadLimits> {
  /** Take up what other processes left unfinished. On unless `false`. */
  recover?: boolean;
}

/** What an agent lends to the runs that its threads start. */
export interface AgentRunsHost {
  readonly id: string;
  environment(): ThreadsEnvironment;
  prepare(options: AgentExecutionOptions, start: RunStart): Promise<RunSpec>;
}

/** How long the events of a thread without memory are kept, and how long an answered call may take to go on here. */
const EPHEMERAL_RETENTION_MS = 60_000;
const CONTINUE_WITHIN_MS = 10_000;
const MAX_LIVE = 10_000;

/** Somebody who answered a call and waits for its run to go on. */
interface Expectation {
  options: AgentExecutionOptions;
  resolve(run: Run): void;
  reject(error: unknown): void;
}

/** Carries out the runs that threads ask for: those a message opened, and those that are gone on with. */
export class AgentRuns implements ThreadAgent {
  readonly #host: AgentRunsHost;
  readonly #expected = new Map<string, Set<Expectation>>();
  readonly #runtimes = new Set<LocalThreads>();
  /** Options of runs that go on or wait here, with all that the store cannot hold, such as tools and functions. */
  readonly #live = new Map<string, AgentExecutionOptions>();
  readonly #endListeners = new Set<(threadId: string) => void>();
  #ephemeral: Storage | undefined;

  constructor(host: AgentRunsHost) {
    this.#host = host;
  }

  get id(): string {
    return this.#host.id;
  }

  /** The runtime of a store, with this agent known to it. Without a store, threads live in this process alone. */
  runtime(storage: Storage | undefined): LocalThreads {
    const { system, logger, threads } = this.#environment;
    const { recover, ...limits } = threads ?? {};
    if (!storage) {
      this.#ephemeral ??= new InMemoryStorage();
      Object.assign(limits, { retentionMs: EPHEMERAL_RETENTION_MS, keepHistory: false });
    }
    const runtime = LocalThreads.of(storage ?? this.#ephemeral!, system, logger, limits);
    runtime.register(this);
    this.#runtimes.add(runtime);
    if (storage && recover !== false) {
      runtime
        .recover()
        .catch((error: unknown) =>
          logger.error("What other processes left unfinished could not be taken up", error),
        );
    }
    return runtime;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#runtimes].map((runtime) => runtime.close()));
  }

  joinThread(
    storage: Storage,
    target: ThreadTarget,
    ticket: { runId: string; options: AgentExecutionOptions },
  ): RunJournal {
    const { id: threadId, resourceId, ...create } = target;
    const runtime = this.runtime(storage);
    const { durableContextKeys } = this.#environment;
    const { runId } = ticket;
    this.#remember(runId, ticket.options);
    const run: ThreadJournal = new ThreadJournal({
      thread: runtime.peek(threadId, resourceId),
      runId,
      agentId: this.#host.id,
      create,
      opener: undefined,
      enter: (abortSignal) => {
        // Asked for now: between the call and this moment the handle may have been forgotten and made anew.
        const thread = runtime.thread(threadId, resourceId);
        run.use(thread);
        return thread.enter(
          { runId, agentId: this.#host.id, options: storeOptions(ticket.options, durableContextKeys) },
          run,
          abortSignal,
        );
      },
    });
    return run;
  }

  async openRun(
    thread: Thread,
    journal: ThreadJournal,
    item: MailboxItem,
    live: AgentExecutionOptions | undefined,
  ): Promise<void> {
    const { signal, messages } = item;
    signal.createdAt = new Date(this.#environment.system.now());
    const { threadId, resourceId } = thread;
    const controller = new AbortController();
    try {
      const options = live ?? reviveOptions(item.options);
      journal.abortWith(controller);
      const { thread: named } = options.memory ?? {};
      if (typeof named === "object") journal.describe(named);
      const spec = await this.#prepare(thread, journal, options, messages ? [] : [signal], controller.signal);
      if (messages) spec.list.add(messages, "input");
      else spec.list.append(signal.toDBMessage({ threadId, resourceId }), "input");
      const run = new Run(spec);
      if (controller.signal.aborted) run.controller.abort();
      this.#remember(journal.runId, options);
      await outsideRuns(() => runLoop(run));
      this.ended(run);
    } catch (error) {
      // It could not even be prepared. The message counts as seen by a run that failed, so it is in the history.
      const state = controller.signal.aborted ? "aborted" : "failed";
      await this.#failToStart(journal, state, error).catch((failure: unknown) => {
        journal.abandon();
        this.#environment.logger.error(`Run ${journal.runId} could not start`, failure);
      });
      this.#tellEnd(thread.threadId);
    }
  }

  async resumeRun(thread: Thread, journal: ThreadJournal, resumption: Resumption): Promise<void> {
    const expected = this.#expected.get(resumption.runId) ?? [];
    this.#expected.delete(resumption.runId);
    const controller = new AbortController();
    try {
      journal.abortWith(controller);
      const spec = await this.#prepare(
        thread,
        journal,
        Object.assign(
          {},
          resumption.options,
          this.#live.get(resumption.runId),
          ...Array.from(expected, ({ options }) => options),
        ),
        [],
        controller.signal,
      );
      const run = new Run(spec);
      if (controller.signal.aborted) run.controller.abort();
      for (const { resolve } of expected) resolve(run);
      await outsideRuns(() => runLoop(run, resumption));
      this.ended(run);
    } catch (error) {
      for (const { reject } of expected) reject(error);
      this.#environment.logger.error(`Run ${resumption.runId} could not go on`, error);
      const chunks = [agentChunk("error", resumption.runId, { error })];
      await journal
        .end({ state: "failed", mayContinue: false, error, chunks })
        .catch(() => journal.abandon());
      this.#tellEnd(thread.threadId);
    }
  }

  /** A run that waits may go on here; of one that is over nothing is needed. */
  ended(run: Run): void {
    if (run.status === "suspended") return;
    this.#live.delete(run.spec.runId);
    if (run.spec.threadId !== undefined) this.#tellEnd(run.spec.threadId);
  }

  /** Calls back when a run is over that this process carried out. */
  onEnd(listener: (threadId: string) => void): () => void {
    this.#endListeners.add(listener);
    return () => this.#endListeners.delete(listener);
  }

  #tellEnd(threadId: string): void {
    for (const listener of this.#endListeners) listener(threadId);
  }

  /** What a profile fixed may have changed in the store since. */
  #remember(runId: string, { abortSignal: _, profile: __, ...options }: AgentExecutionOptions): void {
    this.#live.set(runId, options);
    if (this.#live.size > MAX_LIVE) this.#live.delete(this.#live.keys().next().value as string);
  }

  /** The run that goes on here once its call is answered. Ask before answering. */
  expect(runId: string, options: AgentExecutionOptions): { run: Promise<Run>; forget(): void } {
    const { promise, resolve, reject } = Promise.withResolvers<Run>();
    // Several calls of one run may be answered at once, by several callers.
    const all = this.#expected.get(runId) ?? new Set();
    this.#expected.set(runId, all);
    const expectation: Expectation = {
      options,
      resolve: (run) => {
        cancel();
        resolve(run);
      },
      reject: (error) => {
        cancel();
        reject(error);
      },
    };
    all.add(expectation);
    const forget = () => {
      cancel();
      all.delete(expectation);
      if (all.size === 0 && this.#expected.get(runId) === all) this.#expected.delete(runId);
    };
    const elsewhere = () => {
      forget();
      reject(
        new AgentError(
          "superseded",
          `Run "${runId}" goes on in another process. Subscribe to its thread to follow it.`,
        ),
      );
    };
    const cancel = this.#environment.system.setTimer(CONTINUE_WITHIN_MS, elsewhere, { background: true });
    promise.catch(() => {});
    return { run: promise, forget };
  }

  get #environment(): ReturnType<AgentRunsHost["environment"]> {
    return this.#host.environment();
  }

  /** What an agent is made of may be made by functions of the app, which may never answer. */
  async #prepare(
    thread: Thread,
    journal: ThreadJournal,
    { threadId: _, resourceId: __, ...options }: AgentExecutionOptions,
    signals: RunStart["signals"],
    abortSignal: AbortSignal,
  ): Promise<RunSpec> {
    const target = { id: thread.threadId, resourceId: thread.resourceId };
    const memory = { ...options.memory, thread: target.id, resource: target.resourceId };
    const { processorTimeoutMs } = { ...DEFAULT_RUN_LIMITS, ...options.limits };
    const patience = new Patience(this.#environment.system, abortSignal, processorTimeoutMs);
    try {
      return await patience.for(
        `What agent "${this.id}" is made of`,
        this.#host.prepare({ ...options, runId: journal.runId, memory }, { journal, target, signals }),
      );
    } finally {
      patience.close();
    }
  }

  async #failToStart(journal: ThreadJournal, state: "failed" | "aborted", error: unknown): Promise<void> {
    const { runId } = journal;
    if (state === "failed") this.#environment.logger.error(`Run ${runId} could not start`, error);
    journal.publish(agentChunk("start", runId, {}));
    const chunks = [
      state === "failed" ? agentChunk("error", runId, { error }) : agentChunk("abort", runId, {}),
    ];
    await journal.end({ state, mayContinue: false, ...(state === "failed" && { error }), chunks });
  }
}
