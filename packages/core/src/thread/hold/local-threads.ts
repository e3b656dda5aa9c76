import type { AgentChunk } from "@selvedge/protocol";
import { Janitor } from "../../actor/janitor.ts";
import { LeaseScheduler } from "../../actor/lease-scheduler.ts";
import { Owner } from "../../actor/owner.ts";
import { AgentError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Decision } from "../../run/resume.ts";
import type { RunJournal } from "../../run/run-journal.ts";
import type { AgentExecutionOptions } from "../../run/run-options.ts";
import { checkId } from "../../storage/check-id.ts";
import { deletionListeners } from "../../storage/deletion-listeners.ts";
import type { Change, Storage, Write } from "../../storage/storage.ts";
import { noThread } from "../../storage/no-thread.ts";
import { recentSelect } from "../../storage/list-messages.ts";
import { THREADS } from "../../storage/tables.ts";
import { ACTORS, type RunRow, RUNS } from "../../storage/thread-tables.ts";
import { sleep, type System } from "../../system.ts";
import { type AdmittedSignal, type SendRequest, stateFor } from "../admit/admission.ts";
import type { MailboxItem } from "../admit/mailbox.ts";
import { send } from "../admit/send.ts";
import { decideCall, type DecideOptions, readWaiting } from "../journal/decide-call.ts";
import { type ThreadDetails, ThreadJournal } from "../journal/thread-journal.ts";
import { announce } from "../log/announce.ts";
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
import { markOf, toActor } from "./actor.ts";
import { findAbandoned } from "./find-abandoned.ts";
import { keyOf } from "./key-of.ts";
import { Thread } from "./thread.ts";
import { ThreadDirectory } from "./thread-directory.ts";
import { DEFAULT_THREAD_LIMITS, type ThreadLimits } from "./thread-limits.ts";
import type { Waiter } from "./waiters.ts";

// One per store and process, even if the process has two copies of this package, as under an alias.
const KEY = Symbol.for("selvedge.thread-runtime");
const CLOSE_GRACE_MS = 5_000;
const CLOSE_POLL_MS = 10;
const MAX_LIVE_OPTIONS = 10_000;
/**
 * Readers rely on change notices. In case one is lost, they check by themselves after this many searches for unfinished
 * threads.
 */
const READERS_AFTER_LOOKS = 10;
const AT_ONCE = 500;

/** The threads of a store, as far as they concern this process. */
export class LocalThreads implements Threads {
  readonly storage: Storage;
  readonly system: System;
  readonly logger: Logger;
  readonly limits: ThreadLimits;
  readonly owner: Owner;
  readonly scheduler: LeaseScheduler<ThreadAddress>;
  readonly directory: ThreadDirectory;
  readonly #carriers = new Map<string, RunCarrier>();
  /** Options of sends that are not JSON, for as long as this process may still use them. */
  readonly #liveOptions = new Map<string, AgentExecutionOptions>();
  readonly #janitor: Janitor;
  readonly #expected = new Map<string, number>();
  readonly #lookListeners = new Set<() => void>();
  readonly #closeListeners = new Set<() => Promise<void>>();
  #looks = 0;
  /** Anything may have changed since the last search for readers with something to read began. */
  #unseen = false;
  #isSearching = false;
  #stopWatching: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  private constructor(storage: Storage, system: System, logger: Logger, limits: Partial<ThreadLimits>) {
    this.storage = storage;
    this.system = system;
    this.logger = logger;
    this.limits = { ...DEFAULT_THREAD_LIMITS, ...limits };
    this.owner = Owner.of(storage, system, this.limits.lease);
    this.#janitor = new Janitor(this);
    this.directory = new ThreadDirectory((threadId, resourceId) => new Thread(this, threadId, resourceId));
    const { owner } = this;
    const onLook = (): void => this.#onLook();
    const search = findAbandoned(storage, system, owner);
    const scheduling = { storage, system, logger, owner, limits: this.limits, search, onLook };
    this.scheduler = new LeaseScheduler({ ...scheduling, what: "threads", keyOf });
    this.scheduler.onWake((thread) => this.thread(thread).look());
    deletionListeners(storage).add((threadId) => {
      for (const thread of this.directory.byId(threadId)) thread.tail.refresh();
    });
  }

  /** The threads of a store. The first caller decides clock, logger and limits. */
  static of(
    storage: Storage,
    system: System,
    logger: Logger,
    limits: Partial<ThreadLimits> = {},
  ): LocalThreads {
    return storage.attach(KEY, () => new LocalThreads(storage, system, logger, limits));
  }

  serve(agent: RunCarrier): void {
    const known = this.#carriers.get(agent.id);
    this.#carriers.set(agent.id, agent);
    // What was found before the agent was registered can continue now.
    if (!known) this.scheduler.lookAgain();
  }

  recover(): Promise<void> {
    return this.scheduler.start();
  }

  send(target: ThreadAddress, request: SendRequest): Promise<AdmittedSignal> {
    return send(this, this.thread(target), request);
  }

  async join(
    target: ThreadAddress,
    { title, metadata, recent, ...ticket }: JoinRequest,
  ): Promise<RunJournal> {
    const { threadId, resourceId } = target;
    const { runId, agentId } = ticket;
    const [[row], [stored], newest = []] = await this.storage.selectAll([
      { table: ACTORS, where: { thread_id: threadId }, limit: 1 },
      { table: THREADS, where: { id: threadId }, limit: 1, columns: ["resource_id"] },
      ...(recent > 0 ? [recentSelect(threadId, recent)] : []),
    ]);
    const owner = row?.resource_id ?? stored?.resource_id;
    if (owner !== undefined && owner !== resourceId) throw noThread(threadId, resourceId);
    const actor = row && toActor(row);
    let seen: Waiter["seen"] = { actor };
    const journal: ThreadJournal = new ThreadJournal({
      thread: this.directory.peek(target),
      runId,
      agentId,
      details: { title, metadata },
      exists: stored !== undefined,
      ahead: { rows: newest, limit: recent, fence: actor?.fence ?? 0, nextSeq: actor?.nextSeq ?? 1 },
      enter: (abortSignal) => {
        // Looked up now: the handle may have been forgotten and recreated since the call.
        const thread = this.thread(target);
        journal.use(thread);
        const waiter = { ticket: { ...ticket, takesFirst: !seen }, journal, seen };
        seen = undefined;
        return thread.enter(waiter, abortSignal);
      },
    });
    return journal;
  }

  expect(target: ThreadAddress): () => void {
    const key = keyOf(target);
    this.#expected.set(key, (this.#expected.get(key) ?? 0) + 1);
    this.directory.peek(target).wake();
    return () => {
      const left = (this.#expected.get(key) ?? 0) - 1;
      if (left > 0) this.#expected.set(key, left);
      else this.#expected.delete(key);
    };
  }

  /** Whether a run of this process waits for those of a thread. */
  isExpected(target: ThreadAddress): boolean {
    return this.#expected.size > 0 && this.#expected.has(keyOf(target));
  }

  stateFor(target: ThreadAddress, agentId: string): Promise<"active" | "idle"> {
    return stateFor(this.directory.peek(target), agentId);
  }

  mailMayHaveCome(target: ThreadAddress): void {
    const thread = this.directory.peek(target);
    thread.mailMayHaveCome();
    thread.wake();
  }

  async decide(
    address: CallAddress,
    decision: Decision,
    options?: DecideOptions,
  ): Promise<{ runId: string; toolCallId: string }> {
    const { toolCallId, runId } = { runId: undefined, ...address };
    const row = "threadId" in address ? undefined : await this.#readRun(address);
    const target =
      "threadId" in address ? address : { threadId: row!.thread_id, resourceId: row!.resource_id };
    const seen = { ...(await readWaiting(this.storage, target.threadId)), row };
    const { threadId, resourceId = seen.actor?.resourceId } = target;
    if (!seen.actor || resourceId === undefined || seen.actor.resourceId !== resourceId)
      throw new AgentError("not-found", `No tool call of thread "${threadId}" waits for an answer.`);
    const thread = this.thread({ threadId, resourceId });
    try {
      const wanted = { toolCallId, ...(runId !== undefined && { runId }) };
      return await decideCall(thread, seen, wanted, decision, options);
    } finally {
      thread.forget();
    }
  }

  async #readRun({ runId, agentId }: { runId: string; agentId: string }): Promise<RunRow> {
    const where = { id: checkId("runId", runId), agent_id: agentId };
    const [row] = await this.storage.select({ table: RUNS, where, limit: 1 });
    if (!row) throw new AgentError("not-found", `No run "${runId}" is waiting for an answer.`);
    return row;
  }

  get lease(): Owner {
    return this.owner;
  }

  onLook(listener: () => void): void {
    this.#lookListeners.add(listener);
  }

  onClose(listener: () => Promise<void>): void {
    this.#closeListeners.add(listener);
  }

  async announce(
    target: ThreadAddress,
    chunks: readonly AgentChunk[],
    writes: readonly Write[],
  ): Promise<"stored" | "busy" | "conflict"> {
    const thread = this.thread(target);
    try {
      return await announce(thread, chunks, writes);
    } finally {
      thread.forget();
    }
  }

  abort(target: ThreadAddress): boolean {
    return this.directory.peek(target).abort();
  }

  read(
    target: { threadId: string; resourceId?: string | undefined },
    after?: number,
  ): Promise<AgentThreadSubscription> {
    return openReader(this, target, after);
  }

  known(target: ThreadAddress): KnownThread;
  known(target: { runId: string }): KnownThread | undefined;
  known(target: ThreadAddress | { runId: string }): KnownThread | undefined {
    if ("threadId" in target) return this.thread(target);
    for (const thread of this.directory.all()) if (thread.activeRun?.runId === target.runId) return thread;
    return undefined;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.scheduler.stop();
    this.#stopWatching?.();
    const deadline = this.system.monotonic() + CLOSE_GRACE_MS;
    while (this.#isRunning() && this.system.monotonic() < deadline) await sleep(this.system, CLOSE_POLL_MS);
    for (const thread of this.directory.all()) thread.tail.wake();
    await Promise.all([...this.#closeListeners].map((listener) => listener()));
    await this.#janitor.close();
    await this.owner.retire().catch(() => {});
  }

  #isRunning(): boolean {
    for (const thread of this.directory.all()) if (thread.run) return true;
    return false;
  }

  // What the threads need of each other.

  /** While closing, nothing new starts here. */
  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  hasAgent(agentId: string | undefined): boolean {
    return !this.#closing && this.carrierOf(agentId) !== undefined;
  }

  carrierOf(agentId: string | undefined): RunCarrier | undefined {
    return agentId === undefined ? undefined : this.#carriers.get(agentId);
  }

  /** This process's view of a thread. */
  thread(address: ThreadAddress): Thread {
    this.#stopWatching ??= this.storage.watch((change) => this.#onNews(change));
    return this.directory.get(address);
  }

  /** A thread whose owner is not known yet. */
  unclaimed(threadId: string): Thread {
    return this.directory.leaveUnclaimed(this.thread({ threadId, resourceId: threadId }));
  }

  forget(thread: Thread): void {
    if (!thread.inUse && !this.scheduler.isPending(thread)) this.directory.forget(thread);
  }

  /** How many threads this process keeps state of. */
  get threadCount(): number {
    return this.directory.size;
  }

  keepOptions(signalId: string, options: AgentExecutionOptions): void {
    this.#liveOptions.set(signalId, options);
    // If another process opens the run, these are never requested.
    if (this.#liveOptions.size > MAX_LIVE_OPTIONS)
      this.#liveOptions.delete(this.#liveOptions.keys().next().value!);
  }

  dropOptions(signalId: string): void {
    this.#liveOptions.delete(signalId);
  }

  /** Passes a run that a message opened to its agent. */
  open(thread: Thread, journal: ThreadJournal, item: MailboxItem): void {
    const { signal, messages, options, agentId } = item;
    const live = this.#liveOptions.get(signal.id);
    this.dropOptions(signal.id);
    const named = live?.memory?.thread ?? options?.["thread"];
    if (typeof named === "object" && named !== null) journal.describe(named as ThreadDetails);
    const { threadId, resourceId } = thread;
    const { runId } = journal;
    const opener = { signal, messages, options, live };
    void this.#carriers.get(agentId)!.takeUp({ threadId, resourceId, runId, journal, opener });
  }

  /** A run of this process released its thread. */
  left(thread: Thread): void {
    this.owner.release();
    this.scheduler.leave(thread);
    this.#janitor.nudge();
  }

  #onLook(): void {
    this.#janitor.nudge();
    for (const listener of this.#lookListeners) listener();
    if (++this.#looks % READERS_AFTER_LOOKS > 0) return;
    // A store that does not respond is asked again by the next search.
    void this.#lookForReaders().catch(() => {});
  }

  /** Notices may have been lost. One query for all threads that are read here finds those with something to read. */
  async #lookForReaders(): Promise<void> {
    const read = Array.from(this.directory.all()).filter((thread) => thread.hasReaders && !thread.run);
    for (let first = 0; first < read.length; first += AT_ONCE) {
      const some = read.slice(first, first + AT_ONCE);
      const ids = [...new Set(some.map(({ threadId }) => threadId))];
      const rows = await this.storage.select({ table: ACTORS, where: { thread_id: { in: ids } } });
      const byId = new Map(rows.map((row) => [row.thread_id, row]));
      for (const thread of some) {
        const row = byId.get(thread.threadId);
        const mark = markOf(row && toActor(row));
        // A working run writes events without a trace in the row.
        if (row?.run_state === "running" || mark !== thread.mark) thread.tail.behind();
        if (row?.has_mail === 1 && row.run_state === "idle") thread.wake();
        thread.mark = mark;
      }
    }
  }

  /** Many such notices may arrive during one search. They need one more. */
  #anythingChanged(): void {
    this.#unseen = true;
    if (!this.#isSearching) void this.#searchForReaders();
  }

  async #searchForReaders(): Promise<void> {
    this.#isSearching = true;
    while (this.#unseen && !this.#closing) {
      this.#unseen = false;
      await this.#lookForReaders().catch(() => this.#readersLookAgain());
    }
    this.#isSearching = false;
  }

  /** The store did not respond: each reader finds out for itself, and waits for the store. */
  #readersLookAgain(): void {
    for (const thread of this.directory.all()) if (!thread.run) thread.tail.behind();
  }

  /** Another process wrote: readers may have news, waiters a free thread, runs an abort request. */
  #onNews(change: Change): void {
    const busy: Thread[] = [];
    // Any thread may have changed. Asking for all of them together is cheaper than each reader asking for its own.
    const isUnknown = change === "unknown";
    if (isUnknown) this.#anythingChanged();
    for (const thread of this.directory.concernedBy(change)) {
      thread.newsCame({ readersKnow: isUnknown });
      if (thread.isBusy) busy.push(thread);
      if (!thread.run && (isUnknown ? thread.isWorkedOn : thread.inUse)) thread.wake();
    }
    if (busy.length > 0) void this.#checkAborts(busy).catch(() => {});
  }

  async #checkAborts(busy: readonly Thread[]): Promise<void> {
    const rows = await this.storage.select({
      table: ACTORS,
      where: { abort_run: { ne: null }, run_state: "running", owner: this.owner.id },
      columns: ["thread_id", "run_id", "abort_run"],
    });
    for (const { thread_id, run_id, abort_run } of rows) {
      if (abort_run === null || abort_run !== run_id) continue;
      busy.find((one) => one.threadId === thread_id)?.abortHere(abort_run);
    }
  }
}
