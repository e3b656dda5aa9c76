import { AgentError, storageError } from "../../errors.ts";
import { agentChunk } from "../../run/model-part-chunk.ts";
import type { Resumption } from "../../run/resume.ts";
import type { RunEnd } from "../../run/run-journal.ts";
import type { StoredOptions } from "../../run/stored-options.ts";
import { noThread } from "../../storage/no-thread.ts";
import type { Write } from "../../storage/storage.ts";
import { ACTORS, type CallRow, CALLS, type RunRow, RUNS } from "../../storage/thread-tables.ts";
import {
  countAttempt,
  type MailboxItem,
  nothingDueNow,
  nothingWaits,
  NOW,
  readMailbox,
  runOpenedBy,
} from "../admit/mailbox.ts";
import { type ParkedRun, readTaken } from "../journal/resumption.ts";
import { ThreadJournal } from "../journal/thread-journal.ts";
import type { Lease } from "../../actor/log/fenced-log.ts";
import { type Actor, readActor, toActor } from "./actor.ts";
import { Attempts, exhausted, MAX_ATTEMPTS } from "../../actor/attempts.ts";
import { take, takeIdle, takeLater, takeOver, type Taking } from "./take.ts";
import type { Thread } from "./thread.ts";
import type { Waiter } from "./waiters.ts";

const MAX_LOOKS = 100;
const AT_REST = Promise.resolve();

/**
 * Reads the stored state of a thread and does what comes next, one check at a time:
 *
 * a run without a process         → take it over and continue it
 *     idle, a message waits           → open its run
 *     idle, a call waits here         → admit the call's run
 */
export class Pump {
  readonly #thread: Thread;
  readonly #attempts = new Attempts();
  #looking: Promise<void> | undefined;
  #again = false;
  /** A check was requested, and the store has not been read since. */
  #wanted = false;
  #rest: PromiseWithResolvers<void> | undefined;

  constructor(thread: Thread) {
    this.#thread = thread;
  }

  get isLooking(): boolean {
    return this.#looking !== undefined;
  }

  /** The check in progress. */
  get looked(): Promise<void> | undefined {
    return this.#looking;
  }

  /** Safe to call at any time. */
  look(): void {
    this.#wanted = true;
    if (this.#looking) {
      this.#again = true;
      return;
    }
    this.during(this.#lookAll());
  }

  /** The thread is idle, and there was nothing to do when that was stored. */
  rest(): void {
    if (this.#wanted || this.#looking) return this.look();
    this.#thread.nothingWaits();
    this.#tellRest();
    this.#thread.forget();
  }

  /** No other code here checks the thread during the work. */
  during(work: Promise<void>): void {
    const thread = this.#thread;
    const retried = work.catch((error: unknown) => {
      if (AgentError.is(error, "storage-closed")) return thread.waiters.refuseAll(error);
      thread.threads.logger.error(
        `Thread "${thread.threadId}" could not continue and will be retried`,
        error,
      );
      thread.lookAgain();
    });
    this.#looking = retried.finally(() => {
      this.#looking = undefined;
      if (this.#again) {
        this.#again = false;
        return this.look();
      }
      if (!thread.run) thread.threads.scheduler.leave(thread);
      this.#tellRest();
      thread.forget();
    });
  }

  /** Resolves when nothing of the thread is in progress here or waits for a place. */
  atRest(): Promise<void> {
    if (this.#isAtRest) return AT_REST;
    this.#rest ??= Promise.withResolvers();
    return this.#rest.promise;
  }

  get #isAtRest(): boolean {
    return !this.#thread.run && !this.#looking && !this.#thread.isInLine;
  }

  #tellRest(): void {
    if (!this.#rest || !this.#isAtRest) return;
    this.#rest.resolve();
    this.#rest = undefined;
  }

  async #lookAll(): Promise<void> {
    const thread = this.#thread;
    for (let looks = 0; !thread.run; looks++) {
      // Losing this often means that something is wrong: check again later instead of looping.
      if (looks === MAX_LOOKS) return thread.lookAgain();
      this.#wanted = false;
      thread.lookingIntoMailbox();
      const { actor, run }: ThreadLook =
        (!thread.storedRun && thread.waiters.takeSeen()) || (await this.#read(thread.storedRun?.runId));
      if (actor && actor.resourceId !== thread.resourceId) {
        // A caller asked for a thread it does not own: nothing of it may be touched from here.
        thread.waiters.refuseAll(noThread(thread.threadId, thread.resourceId));
        return thread.threads.directory.claim(thread, actor.resourceId);
      }
      thread.found(actor);
      // An unknown one is read with the next check.
      const again = actor?.runId === undefined ? this.#onIdle(actor) : !run || this.#onActive(actor, run);
      if (!(await again)) return;
    }
  }

  /** The thread in the store, with its active run as far as known here. */
  async #read(runId: string | undefined): Promise<ThreadLook> {
    const { storage, threadId } = this.#thread;
    if (runId === undefined) return { actor: await readActor(storage, threadId) };
    const [[actorRow], [row], calls] = await storage.selectAll([
      { table: ACTORS, where: { thread_id: threadId }, limit: 1 },
      { table: RUNS, where: { id: runId }, limit: 1 },
      { table: CALLS, where: { run_id: runId }, orderBy: [{ column: "position" }] },
    ]);
    const actor = actorRow && toActor(actorRow);
    return { actor, ...(actor?.runId === runId && { run: { row, calls } }) };
  }

  /** A thread with a run that is not here. Returns whether to check again. */
  async #onActive(actor: Actor, run: RunLook): Promise<boolean> {
    const thread = this.#thread;
    const { threads, waiters } = thread;
    if (threads.isClosing) return this.#closesDown();
    const runId = actor.runId as string;
    if (actor.owner === undefined && actor.runState === "suspended") {
      const isDecided = run.calls.some(({ state }) => state === "decided");
      if (isDecided || actor.abortRun === runId) return this.#resume(actor, run, { actor, ...run });
      waiters.refuseAll(waitsForSomebody(actor));
      return false;
    }
    // A run that is ours in the store but not here was left behind by a failure of the store.
    if (actor.owner === thread.owner || (await threads.owner.mayTake(actor))) return this.#resume(actor, run);
    // No caller here needs it: a process that finds its owner gone takes it.
    if (!waiters.isEmpty) thread.lookAgain();
    return false;
  }

  /** Continues a run without a process. Returns whether to check again. */
  async #resume(actor: Actor, { row }: RunLook, parked?: ParkedRun): Promise<boolean> {
    const thread = this.#thread;
    const runId = actor.runId as string;
    // Another process may have the agent.
    if (!thread.threads.carrierOf(actor.agentId) && row?.first_message_id) return false;
    // A run that waited and was answered has not failed.
    const attempts = actor.owner === undefined ? 0 : (row?.attempts ?? 1);
    if (!this.#mayTry(runId, attempts) || !thread.mayRun()) return false;
    const taking = takeOver(thread, actor, attempts);
    return (await take(thread, taking)) ? this.goOn(taking, attempts, parked) : true;
  }

  /** Continues a run that was taken over. Returns whether to check again. */
  async goOn(
    { lease, run: { runId, agentId } }: Taking,
    attempts: number,
    parked: ParkedRun | undefined,
  ): Promise<boolean> {
    const thread = this.#thread;
    const { threads, threadId } = thread;
    const carrier = threads.carrierOf(agentId);
    const taken = await readTaken(thread.storage, { threadId, runId }, parked).catch((error: unknown) => {
      // The store has the run as ours, and the next check takes it again.
      threads.owner.release();
      throw error;
    });
    const resumption = taken?.resumption;
    if (taken) lease.nextSeq = taken.nextSeq;
    if (!resumption?.begun || !carrier) {
      // It had not taken any input: what it was meant to answer still waits, and opens a separate run.
      const error = new AgentError("superseded", "The process ended before the run began.");
      const end = { state: "failed", mayContinue: false, error, chunks: [] } as const;
      await this.#giveUp({ runId, lease, end, also: countAttempt(threadId, runId) });
      return true;
    }
    if (attempts >= MAX_ATTEMPTS) {
      await this.#giveUp({ runId, lease, end: this.#exhaustedEnd(runId), resumption });
      return true;
    }
    const journal = this.#openJournal({ runId, agentId: carrier.id, lease, resumption });
    thread.begins(journal);
    const { resourceId } = thread;
    void carrier.takeUp({ threadId, resourceId, runId, journal, resumption });
    return false;
  }

  /** A free thread: the oldest waiting item runs. Returns whether to check again. */
  async #onIdle(actor: Actor | undefined): Promise<boolean> {
    const thread = this.#thread;
    const { threads, waiters } = thread;
    const hasMail = actor !== undefined && actor.mailboxCount > 0;
    const [item] = hasMail ? await readMailbox(thread.storage, thread.threadId, { limit: 1 }) : [];
    const waiter = waiters.first;
    const goesFirst = item && (!waiter || item.seq <= waiter.after || item.due === NOW);
    if (goesFirst && threads.hasAgent(item.agentId)) return this.#open(actor, item);
    if (threads.isClosing) return this.#closesDown();
    if (waiter) return this.#admit(actor, waiter, item);
    if (!item) thread.nothingWaits();
    return false;
  }

  /** Starts the run of a call. */
  async #admit(actor: Actor | undefined, waiter: Waiter, item: MailboxItem | undefined): Promise<boolean> {
    const thread = this.#thread;
    const { ticket, journal } = waiter;
    if (!thread.mayRun()) return false;
    let lease: Lease | undefined;
    try {
      // An earlier message goes first.
      const { threadId } = thread;
      const conditions = !item ? [nothingWaits(threadId)] : item.due === NOW ? [] : [nothingDueNow(threadId)];
      const taking = takeIdle(thread, actor, ticket, conditions);
      lease = await (ticket.takesFirst ? take : takeLater)(thread, taking);
    } catch (error) {
      if (thread.waiters.dismiss(waiter)) waiter.refuse(storageError(error));
      return true;
    }
    if (!lease) return true;
    if (!thread.waiters.dismiss(waiter)) {
      // Aborted while the store responded.
      if (lease.taking) {
        thread.threads.owner.release();
        return true;
      }
      // The run exists there and must be ended.
      const end = { state: "aborted", mayContinue: false, chunks: [] } as const;
      await this.#giveUp({ runId: ticket.runId, lease, end });
      return true;
    }
    thread.taken(ticket);
    thread.begins(journal);
    waiter.admit(lease);
    return false;
  }

  /** Opens the run of a message. */
  async #open(actor: Actor | undefined, item: MailboxItem): Promise<boolean> {
    const thread = this.#thread;
    // A message for a run that is over opens a separate run with a new id.
    const runId = runOpenedBy(item);
    const { attempts = 0 } = item;
    if (!this.#mayTry(runId, attempts) || !thread.mayRun()) return false;
    // It continues with the options of that run.
    item.options ??= item.opens ? {} : await this.#optionsOf(item.runId);
    const ticket = { runId, agentId: item.agentId, options: item.options, again: true };
    // A message that was to join a run must not end up in one promised to another sender.
    const conditions = item.due === NOW ? [] : [nothingDueNow(thread.threadId)];
    const lease = await take(thread, takeIdle(thread, actor, ticket, conditions));
    if (!lease) return true;
    if (attempts >= MAX_ATTEMPTS) {
      await this.#giveUp({ runId, lease, end: this.#exhaustedEnd(runId), opener: item });
      return true;
    }
    this.start(lease, runId, item);
    return false;
  }

  /** Passes a run whose thread is taken to its agent. */
  start(lease: Lease, runId: string, item: MailboxItem): void {
    const thread = this.#thread;
    const journal = this.#openJournal({ runId, agentId: item.agentId, lease, opener: item });
    thread.begins(journal);
    thread.threads.open(thread, journal, item);
  }

  /** Ends a run of which only the lease is here. */
  async #giveUp({
    end,
    also = [],
    ...held
  }: Omit<HeldRun, "agentId"> & { end: RunEnd; also?: readonly Write[] }): Promise<void> {
    const journal = this.#openJournal({ ...held, agentId: "" });
    this.#thread.begins(journal);
    if (held.opener) journal.publish(agentChunk("start", held.runId, {}));
    try {
      await journal.end(end, also);
    } catch (error) {
      journal.abandon();
      throw error;
    }
  }

  #openJournal({ lease, ...run }: HeldRun): ThreadJournal {
    const journal = new ThreadJournal({ thread: this.#thread, ...run });
    journal.hold(lease);
    return journal;
  }

  #exhaustedEnd(runId: string): RunEnd {
    const error = exhausted(runId);
    this.#thread.threads.logger.error(error.message);
    return { state: "failed", mayContinue: false, error, chunks: [agentChunk("error", runId, { error })] };
  }

  /**
   * Whether something that was tried this often may be tried again now. If not, the thread is checked again in time.
   */
  #mayTry(id: string, attempts: number): boolean {
    const wait = this.#attempts.wait(id, attempts, this.#thread.system.monotonic());
    if (wait > 0) this.#thread.lookAgain(wait);
    return wait === 0;
  }

  #closesDown(): false {
    const { waiters } = this.#thread;
    waiters.refuseAll(
      new AgentError("storage-closed", "This process is shutting down and starts no more runs."),
    );
    return false;
  }

  async #optionsOf(runId: string): Promise<StoredOptions> {
    const [row] = await this.#thread.storage.select({ table: RUNS, where: { id: runId }, limit: 1 });
    return (row?.options ?? {}) as StoredOptions;
  }
}

/** A run whose thread is held: opened by a message, or continued from where it stopped. */
interface HeldRun {
  runId: string;
  agentId: string;
  lease: Lease;
  opener?: MailboxItem;
  resumption?: Resumption;
}

interface ThreadLook {
  actor: Actor | undefined;
  run?: RunLook;
}

/** A run and its unfinished calls. */
interface RunLook {
  row: RunRow | undefined;
  calls: readonly CallRow[];
}

function waitsForSomebody(actor: Actor): AgentError {
  return new AgentError(
    "thread-suspended",
    `Thread "${actor.threadId}" is waiting for an answer to a tool call of run "${actor.runId}". Answer it with sendToolApproval(), or abort the run.`,
    { details: { runId: actor.runId } },
  );
}
