import { AgentError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import { agentChunk } from "../../run/model-part-chunk.ts";
import type { Decision } from "../../run/resume.ts";
import type { RunJournal } from "../../run/run-journal.ts";
import type { AgentExecutionOptions } from "../../run/run-options.ts";
import { checkId } from "../../storage/check-id.ts";
import { deletionListeners } from "../../storage/deletion-listeners.ts";
import type { Change, Storage } from "../../storage/storage.ts";
import { ACTORS, type RunRow, RUNS } from "../../storage/thread-tables.ts";
import { sleep, type System } from "../../system.ts";
import type { Admitted, SendRequest } from "../admit/admission.ts";
import { countAttempt, type MailboxItem } from "../admit/mailbox.ts";
import { send } from "../admit/send.ts";
import { decideCall, type DecideOptions } from "../journal/decide-call.ts";
import { readTaken } from "../journal/resumption.ts";
import { ThreadJournal } from "../journal/thread-journal.ts";
import { openReader } from "../log/open-reader.ts";
import type { AgentThreadSubscription } from "../log/thread-reader.ts";
import type {
  CallAddress,
  JoinRequest,
  KnownThread,
  RunCarrier,
  ThreadAddress,
  Threads,
} from "../threads.ts";
import { type Actor, readActor } from "./actor.ts";
import { exhausted, MAX_ATTEMPTS } from "./backoff.ts";
import { Janitor } from "./janitor.ts";
import { Owner } from "./owner.ts";
import { Recovery } from "./recovery.ts";
import { Thread } from "./thread.ts";
import { DEFAULT_THREAD_LIMITS, type ThreadLimits } from "./thread-limits.ts";

/** What a thread needs of its runtime. */
export interface ThreadHost {
  readonly storage: Storage;
  readonly system: System;
  readonly logger: Logger;
  readonly owner: Owner;
  readonly limits: ThreadLimits;
  readonly janitor: Janitor;
  /** While closing, nothing new begins here. */
  readonly isClosing: boolean;
  hasAgent(agentId: string): boolean;
  open(thread: Thread, run: ThreadJournal, item: MailboxItem): void;
  resume(thread: Thread, actor: Actor, row: RunRow | undefined): Promise<boolean>;
  /** Looks at a thread again later: after a while, or after `ms`. */
  lookAgain(thread: Thread, ms?: number): void;
  /** The handle in use for a thread: this one, unless it was forgotten and another was made since. */
  current(thread: Thread): Thread;
  /** The store says whose a thread is. Readers that did not know move on to it. */
  claim(thread: Thread, resourceId: string): void;
  forget(thread: Thread): void;
}

// One per store and process, also when the process has two copies of this package, as it has under an alias.
const KEY = Symbol.for("selvedge.thread-runtime");
const CLOSE_GRACE_MS = 5_000;
const MAX_LIVE_OPTIONS = 10_000;
const CLOSE_POLL_MS = 10;

/**
 * All threads of a store, as far as this process is concerned with them: hands threads to agents, takes over what
 * other processes left behind, and wakes readers when another process wrote.
 */
export class LocalThreads implements Threads, ThreadHost {
  readonly storage: Storage;
  readonly system: System;
  readonly logger: Logger;
  readonly owner: Owner;
  readonly limits: ThreadLimits;
  readonly #threads = new Map<string, Thread>();
  /** The same by their id alone, as news name them. */
  readonly #byId = new Map<string, Set<Thread>>();
  readonly #unclaimed = new Map<string, Thread>();
  readonly #agents = new Map<string, RunCarrier>();
  /** Options of sends that are not JSON, for as long as this process may still use them. */
  readonly #liveOptions = new Map<string, AgentExecutionOptions>();
  /** Threads to look at again, with what cancels that. */
  readonly #lookAt = new Map<Thread, () => void>();
  readonly #recovery: Recovery;
  readonly janitor: Janitor;
  #stopWatching: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  private constructor(storage: Storage, system: System, logger: Logger, limits: Partial<ThreadLimits>) {
    this.storage = storage;
    this.system = system;
    this.logger = logger;
    this.limits = { ...DEFAULT_THREAD_LIMITS, ...limits };
    this.owner = new Owner(storage, system, this.limits.lease);
    this.#recovery = new Recovery(this);
    this.janitor = new Janitor(this);
    deletionListeners(storage).add((threadId) => {
      for (const thread of this.#byId.get(threadId) ?? []) thread.tail.refresh();
    });
  }

  /** The runtime of a store. The first to ask decides clock, logger and limits. */
  static of(
    storage: Storage,
    system: System,
    logger: Logger,
    limits: Partial<ThreadLimits> = {},
  ): LocalThreads {
    return storage.attach(KEY, () => new LocalThreads(storage, system, logger, limits));
  }

  serve(agent: RunCarrier): void {
    const known = this.#agents.get(agent.id);
    this.#agents.set(agent.id, agent);
    // What was found before the agent was there can continue now.
    if (!known) this.#recovery.lookAgain();
  }

  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  hasAgent(agentId: string): boolean {
    return !this.#closing && this.#agents.has(agentId);
  }

  /** This process's view of a thread. */
  thread(threadId: string, resourceId: string): Thread {
    this.#stopWatching ??= this.storage.watch((change) => this.#onForeignChange(change));
    return (
      this.#threads.get(keyOf({ threadId, resourceId })) ?? this.#add(new Thread(this, threadId, resourceId))
    );
  }

  #add(thread: Thread): Thread {
    this.#threads.set(keyOf(thread), thread);
    const known = this.#byId.get(thread.threadId);
    if (known) known.add(thread);
    else this.#byId.set(thread.threadId, new Set([thread]));
    return thread;
  }

  /** A thread of which nobody knows yet whose it will be. Its readers move on when somebody comes. */
  unclaimed(threadId: string): Thread {
    const thread = this.thread(threadId, threadId);
    this.#unclaimed.set(threadId, thread);
    return thread;
  }

  claim({ threadId }: Thread, resourceId: string): void {
    const waiting = this.#unclaimed.get(threadId);
    if (!waiting) return;
    this.#unclaimed.delete(threadId);
    if (waiting.resourceId === resourceId) return;
    waiting.owned = this.thread(threadId, resourceId);
    waiting.tail.wake();
    waiting.owned.pump();
  }

  /** A thread that is not remembered unless something comes of it. */
  peek(threadId: string, resourceId: string): Thread {
    return this.#threads.get(keyOf({ threadId, resourceId })) ?? new Thread(this, threadId, resourceId);
  }

  known(target: ThreadAddress): KnownThread;
  known(target: { runId: string }): KnownThread | undefined;
  known(target: ThreadAddress | { runId: string }): KnownThread | undefined {
    if ("threadId" in target) return this.thread(target.threadId, target.resourceId);
    for (const thread of this.#threads.values()) if (thread.activeRun?.runId === target.runId) return thread;
    return undefined;
  }

  send({ threadId, resourceId }: ThreadAddress, request: SendRequest): Promise<Admitted> {
    return send(this, this.thread(threadId, resourceId), request);
  }

  join({ threadId, resourceId }: ThreadAddress, { title, metadata, ...ticket }: JoinRequest): RunJournal {
    const { runId, agentId } = ticket;
    const journal: ThreadJournal = new ThreadJournal({
      thread: this.peek(threadId, resourceId),
      runId,
      agentId,
      create: { ...(title !== undefined && { title }), ...(metadata && { metadata }) },
      opener: undefined,
      enter: (abortSignal) => {
        // Asked for now: between the call and this moment the handle may have been forgotten and made anew.
        const thread = this.thread(threadId, resourceId);
        journal.use(thread);
        return thread.enter(ticket, journal, abortSignal);
      },
    });
    return journal;
  }

  mailMayHaveCome({ threadId, resourceId }: ThreadAddress): void {
    const thread = this.peek(threadId, resourceId);
    thread.mailMayHaveCome();
    if (!thread.run) thread.pump();
  }

  async decide(
    address: CallAddress,
    decision: Decision,
    options?: DecideOptions,
  ): Promise<{ runId: string; toolCallId: string }> {
    const { toolCallId } = address;
    if ("runId" in address) {
      const { runId, agentId } = address;
      const where = { id: checkId("runId", runId), agent_id: agentId };
      const [row] = await this.storage.select({ table: RUNS, where, limit: 1 });
      if (!row) throw new AgentError("not-found", `No run "${runId}" is waiting for an answer.`);
      return decideCall(this.peek(row.thread_id, row.resource_id), { toolCallId, runId }, decision, options);
    }
    const { threadId, resourceId } = address;
    const actor = await readActor(this.storage, threadId);
    if (!actor || (resourceId !== undefined && actor.resourceId !== resourceId))
      throw new AgentError("not-found", `No tool call of thread "${threadId}" waits for an answer.`);
    return decideCall(
      this.peek(threadId, actor.resourceId),
      { toolCallId, runId: actor.runId },
      decision,
      options,
    );
  }

  abort({ threadId, resourceId }: ThreadAddress): boolean {
    return this.peek(threadId, resourceId).abort();
  }

  read(
    target: { threadId: string; resourceId?: string | undefined },
    after?: number,
  ): Promise<AgentThreadSubscription> {
    return openReader(this, target, after);
  }

  keepOptions(signalId: string, options: AgentExecutionOptions): void {
    this.#liveOptions.set(signalId, options);
    // Where another process opens the run nobody asks for them any more.
    if (this.#liveOptions.size > MAX_LIVE_OPTIONS)
      this.#liveOptions.delete(this.#liveOptions.keys().next().value!);
  }

  dropOptions(signalId: string): void {
    this.#liveOptions.delete(signalId);
  }

  open(thread: Thread, journal: ThreadJournal, item: MailboxItem): void {
    const { signal, messages, options, agentId } = item;
    const live = this.#liveOptions.get(signal.id);
    this.dropOptions(signal.id);
    const named = live?.memory?.thread ?? options?.["thread"];
    if (typeof named === "object" && named !== null) journal.describe(named as { title?: string });
    const { threadId, resourceId } = thread;
    const { runId } = journal;
    const opener = { signal, messages, options, live };
    void this.#agents.get(agentId)!.takeUp({ threadId, resourceId, runId, journal, opener });
  }

  /** Goes on with a run that nobody carries out. Answers whether the thread should be looked at again at once. */
  async resume(thread: Thread, actor: Actor, row: RunRow | undefined): Promise<boolean> {
    const runId = actor.runId as string;
    const agent = actor.agentId === undefined ? undefined : this.#agents.get(actor.agentId);
    if (!agent && row?.first_message_id) return false; // Another process may have the agent.
    // A run that waited and was answered has not failed.
    const attempts = actor.owner === undefined ? 0 : (row?.attempts ?? 1);
    if (!thread.mayTry(runId, attempts)) return false;
    const lease = await thread.takeOver(actor, attempts);
    if (!lease) return true;
    const address = { threadId: thread.threadId, runId, firstMessageId: row?.first_message_id ?? null };
    const taken = await readTaken(this.storage, address).catch((error: unknown) => {
      thread.letGo();
      throw error;
    });
    const resumption = taken?.resumption;
    if (taken) lease.nextSeq = taken.nextSeq;
    for (const [id, steps] of resumption?.responseSteps ?? []) lease.responseSteps.set(id, steps);
    if (!taken || !resumption || !agent || !resumption.begun) {
      // It had taken nothing in: what it was meant to answer still waits, and opens a run of its own.
      const error = new AgentError("superseded", "The process ended before the run began.");
      const end = { state: "failed", mayContinue: false, error, chunks: [] } as const;
      await thread.giveUp({ runId, lease, end, also: countAttempt(thread.threadId, runId) });
      return true;
    }
    if (attempts >= MAX_ATTEMPTS) {
      const error = exhausted(runId);
      this.logger.error(error.message);
      const chunks = [agentChunk("error", runId, { error })];
      const end = { state: "failed", mayContinue: false, error, chunks } as const;
      await thread.giveUp({ runId, lease, end, begun: true });
      return true;
    }
    const run = new ThreadJournal({
      thread,
      runId,
      agentId: agent.id,
      create: {},
      opener: undefined,
      resumed: true,
      enter: async () => lease,
    });
    run.hold(lease, true);
    thread.carryOn(run);
    const { threadId, resourceId } = thread;
    void agent.takeUp({ threadId, resourceId, runId, journal: run, resumption });
    return false;
  }

  lookAgain(thread: Thread, ms: number = this.limits.lease.renewMs): void {
    if (this.#closing) return;
    this.#lookAt.get(thread)?.();
    const look = (): void => {
      // Many may have waited for this moment: those that nobody here waits for go on a few at a time. Until then the
      // thread is remembered, and with it how long it has waited.
      if (!thread.isAwaited) return this.#recovery.add(thread);
      this.#lookAt.delete(thread);
      thread.pump();
    };
    // A call that waits for the thread keeps the process alive; curiosity does not.
    this.#lookAt.set(thread, this.system.setTimer(ms, look, { background: !thread.isAwaited }));
  }

  async carryOut(threadId: string, resourceId: string): Promise<void> {
    const thread = this.thread(threadId, resourceId);
    this.#lookAt.get(thread)?.();
    this.#lookAt.delete(thread);
    thread.pump();
    await thread.atRest();
  }

  current(thread: Thread): Thread {
    return this.#threads.get(keyOf(thread)) ?? this.#add(thread);
  }

  /** How many threads this process keeps something of. */
  get threadCount(): number {
    return this.#threads.size;
  }

  forget(thread: Thread): void {
    if (thread.inUse || this.#lookAt.has(thread)) return;
    const key = keyOf(thread);
    if (this.#threads.get(key) === thread) {
      this.#threads.delete(key);
      const known = this.#byId.get(thread.threadId);
      known?.delete(thread);
      if (known?.size === 0) this.#byId.delete(thread.threadId);
    }
    if (this.#unclaimed.get(thread.threadId) === thread) this.#unclaimed.delete(thread.threadId);
  }

  /**
   * Takes up what other processes left unfinished, of agents that are registered, now and as long as this process lives.
   * Resolves when everything there is has been found.
   */
  recover(): Promise<void> {
    return this.#recovery.start();
  }

  /** Lets the runs of this process end, for a moment; what is still going on then is for others to take up. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#recovery.stop();
    for (const cancel of this.#lookAt.values()) cancel();
    this.#lookAt.clear();
    this.#stopWatching?.();
    const deadline = this.system.monotonic() + CLOSE_GRACE_MS;
    while (this.#isRunning() && this.system.monotonic() < deadline) await sleep(this.system, CLOSE_POLL_MS);
    for (const thread of this.#threads.values()) thread.tail.wake();
    await this.janitor.close();
    await this.owner.retire().catch(() => {});
  }

  #isRunning(): boolean {
    for (const thread of this.#threads.values()) if (thread.run) return true;
    return false;
  }

  /** Another process wrote: readers may have news, waiters a free thread, runs a wish to abort. */
  #onForeignChange(change: Change): void {
    const concerned =
      change === "unknown"
        ? [...this.#threads.values()]
        : [...change.keys].flatMap((threadId) => [...(this.#byId.get(threadId) ?? [])]);
    const running: Thread[] = [];
    for (const thread of concerned) {
      thread.mailMayHaveCome();
      if (thread.run) running.push(thread);
      else {
        thread.tail.behind();
        if (thread.inUse) thread.pump();
      }
    }
    if (running.length > 0) void this.#checkAborts(running).catch(() => {});
  }

  async #checkAborts(running: readonly Thread[]): Promise<void> {
    const rows = await this.storage.select({
      table: ACTORS,
      where: { abort_run: { ne: null }, run_state: "running", owner: this.owner.id },
      columns: ["thread_id", "run_id", "abort_run"],
    });
    for (const { thread_id, run_id, abort_run } of rows) {
      if (abort_run !== run_id) continue;
      const thread = running.find((one) => one.threadId === thread_id);
      if (abort_run !== null) thread?.abortIfRunning(abort_run);
    }
  }

  /** Readers whose thread goes on elsewhere look now and then, should news not have reached them. */
  lookAfterReaders(): void {
    for (const thread of this.#threads.values()) if (thread.hasReaders && !thread.run) thread.tail.behind();
  }
}

function keyOf({ threadId, resourceId }: { threadId: string; resourceId: string }): string {
  return `${resourceId}\u0000${threadId}`;
}
