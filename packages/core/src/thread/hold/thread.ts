import type { AgentChunk } from "@selvedge/protocol";
import type { Lease } from "../../actor/log/fenced-log.ts";
import { Tail } from "../../actor/log/tail.ts";
import type { CommitResult, Storage, Write } from "../../storage/storage.ts";
import { ACTORS, MAILBOX } from "../../storage/thread-tables.ts";
import { update } from "../../storage/writes.ts";
import type { System } from "../../system.ts";
import { type MailboxItem, nothingWaits } from "../admit/mailbox.ts";
import type { SendTurn } from "../admit/send.ts";
import { SendLine } from "../admit/send-line.ts";
import type { ParkedRun } from "../journal/resumption.ts";
import type { ThreadJournal } from "../journal/thread-journal.ts";
import type { KnownThread } from "../threads.ts";
import { type Actor, markOf } from "./actor.ts";
import { KnownRun, type RunOfAgent } from "./known-run.ts";
import type { LocalThreads } from "./local-threads.ts";
import { Pump } from "./pump.ts";
import { grasp, takeOver, takeWrites } from "./take.ts";
import type { ThreadLimits } from "./thread-limits.ts";
import { type Waiter, Waiters } from "./waiters.ts";

const NOTHING = (): void => {};

/** How a run leaves its thread. */
export interface Leaving {
  /** It waits for a person and stays the active one. */
  waits?: boolean;
  /** The store had no message for the thread when the run ended there. */
  nothingWaits?: boolean;
}

/**
 * A thread as this process sees it: its waiters, its run and the newest events here. The store is authoritative; this
 * object is dropped when it is unused.
 */
export class Thread implements KnownThread {
  readonly threadId: string;
  readonly resourceId: string;
  readonly threads: LocalThreads;
  readonly tail: Tail<AgentChunk> = new Tail();
  /** Callers that send to the thread or want to run on it. */
  readonly line: SendLine<SendTurn> = new SendLine(() => this.forget());
  readonly waiters: Waiters = new Waiters();
  readonly #pump: Pump;
  readonly #known = new KnownRun();
  #run: ThreadJournal | undefined;
  #readers = 0;
  /** The highest number in the mailbox that this process knows of. */
  #lastItem = 0;
  #mayHaveMail = true;
  /** More was waiting than the message that opened the run. */
  #hasQueue = false;
  /** Others may have written since the run here began. */
  #mayHaveNews = false;
  /** The stored thread, as the last check for its readers found it. */
  mark: string | undefined;

  constructor(threads: LocalThreads, threadId: string, resourceId: string) {
    this.threads = threads;
    this.threadId = threadId;
    this.resourceId = resourceId;
    this.#pump = new Pump(this);
  }

  get storage(): Storage {
    return this.threads.storage;
  }
  get system(): System {
    return this.threads.system;
  }
  get owner(): string {
    return this.threads.owner.id;
  }
  get limits(): ThreadLimits {
    return this.threads.limits;
  }

  /** The thread may have something to do. */
  wake(): void {
    this.threads.scheduler.wake(this);
  }

  /** Checks the thread and does what comes next. For the scheduler. */
  look(): Promise<void> {
    this.#pump.look();
    return this.#pump.atRest();
  }

  /** Checks again later: after a while, or after `ms`. */
  lookAgain(ms: number = this.limits.lease.renewMs): void {
    this.threads.scheduler.wake(this, { afterMs: ms, urgent: !this.waiters.isEmpty });
  }

  /** Resolves when what is stored now was checked: by the check in progress, or by the next one. */
  async looked(): Promise<void> {
    for (let looks = 0; looks < 2 && this.#pump.looked; looks++) await this.#pump.looked;
  }

  /** Waits for the thread, behind everything accepted before. */
  enter(waiter: Pick<Waiter, "ticket" | "journal" | "seen">, abortSignal: AbortSignal): Promise<Lease> {
    return this.line
      .inOrder(async () => {
        const waiting = this.waiters.add({ ...waiter, after: this.#lastItem }, abortSignal);
        this.wake();
        return waiting;
      })
      .then(({ lease }) => lease);
  }

  /** Whether a run may start here now. If not, the thread is woken when its turn comes. */
  mayRun(): boolean {
    // A run that waits for one of these already has a place, and must not wait for itself.
    return this.waiters.hasNested || this.threads.isExpected(this) || this.threads.scheduler.enter(this);
  }

  /** Whether the thread waits for a place among the runs of this process. */
  get isInLine(): boolean {
    return this.threads.scheduler.isInLine(this);
  }

  /** Whether a message can open its run here at once, or an answer continue its run. */
  isFreeFor(agentId: string | undefined): boolean {
    const { threads } = this;
    if (this.#run || this.#pump.isLooking || !this.waiters.isEmpty || !threads.hasAgent(agentId))
      return false;
    return threads.scheduler.hasRoom && threads.directory.has(this);
  }

  /**
   * Commits a message and takes the thread for the run it opens, in one commit. No other code here checks it in the
   * meantime.
   */
  openWith(
    actor: Actor | undefined,
    item: Omit<MailboxItem, "seq">,
    writes: readonly Write[],
  ): Promise<CommitResult> {
    this.mayRun();
    const opening = this.#openWith(actor, item, writes);
    this.#pump.during(opening.then(NOTHING, NOTHING));
    return opening;
  }

  async #openWith(
    actor: Actor | undefined,
    item: Omit<MailboxItem, "seq">,
    writes: readonly Write[],
  ): Promise<CommitResult> {
    const { runId, agentId, options = {} } = item;
    const taking = takeWrites(this, { runId, agentId, options }, actor);
    this.#mayHaveMail = false;
    const result = await grasp(this, { ...taking, writes: [...writes, ...taking.writes] });
    const index = writes.findIndex((write) => write.op === "insert" && write.table === MAILBOX);
    this.#pump.start(taking.lease, runId, { ...item, options, seq: result.auto[index] as number });
    return result;
  }

  /**
   * Commits the answer that a run waited for and takes the run over, in one commit. `parked` is the run with the
   * answer.
   */
  async resumeWith(parked: ParkedRun, writes: readonly Write[]): Promise<void> {
    this.mayRun();
    const { mailboxCount } = parked.actor;
    const taking = takeOver(this, parked.actor, 0);
    this.#mayHaveMail = mailboxCount > 0;
    const sameMail = mailboxCount > 0 ? [] : [nothingWaits(this.threadId)];
    const taken = grasp(this, { ...taking, writes: [...writes, ...sameMail, ...taking.writes] });
    const goOn = async () => {
      if (await this.#pump.goOn(taking, 0, parked)) this.wake();
    };
    this.#pump.during(taken.then(goOn, NOTHING));
    await taken;
  }

  /** The store has this run as the thread's, or will have it with the run's first commit. */
  taken({ runId, agentId }: RunOfAgent): void {
    this.#known.found({ runId, agentId });
    this.threads.directory.claim(this, this.resourceId);
  }

  /** Called when the store was read. */
  found(actor: Actor | undefined): void {
    if (actor) this.threads.directory.claim(this, actor.resourceId);
    if (actor && actor.mailboxCount > 0) this.#mayHaveMail = true;
    this.#hasQueue = actor !== undefined && actor.mailboxCount > 1;
    this.#known.found(
      actor?.runId === undefined ? undefined : { runId: actor.runId, agentId: actor.agentId },
    );
  }

  /** The thread is idle, and nothing waits for it in the store. */
  nothingWaits(): void {
    if (this.line.isEmpty) this.#known.dropReserved();
  }

  /** From now on a run is carried out here. */
  begins(journal: ThreadJournal): void {
    this.#run = journal;
    this.#mayHaveNews = false;
  }

  /**
   * A reader has everything up to this state of the thread. If it is the only one, the next check for readers need not
   * wake it; another may be further back.
   */
  readUpTo(actor: Actor | undefined): void {
    if (actor?.runId === undefined && this.mark === undefined && this.#readers === 1)
      this.mark = markOf(actor);
  }

  /**
   * Another process wrote to the thread. Readers look now, unless they are told otherwise, or when the run here has
   * released it.
   */
  newsCame({ readersKnow = false }: { readersKnow?: boolean } = {}): void {
    this.mailMayHaveCome();
    if (this.#run) this.#mayHaveNews = true;
    else if (!readersKnow) this.tail.behind();
  }

  /** A run released the thread. */
  left(journal: ThreadJournal, { waits = false, nothingWaits = false }: Leaving = {}): void {
    if (this.#run !== journal) return;
    this.#run = undefined;
    this.waiters.seeAnew();
    this.#known.left(waits);
    this.threads.left(this);
    // What others write after its last commit is news. If it may not have been its last commit, they may have written.
    if (this.#mayHaveNews || !(waits || nothingWaits)) this.tail.behind();
    if (nothingWaits && this.waiters.isEmpty) this.#pump.rest();
    else this.wake();
  }

  /** Has a run aborted by the process that carries it out or takes it next. */
  async requestAbort(runId: string): Promise<void> {
    const where = { thread_id: this.threadId, run_id: runId };
    await this.storage.commit([update(ACTORS, { where, set: { abort_run: runId } })]);
    this.wake();
  }

  /** The run that this process carries out. */
  get run(): ThreadJournal | undefined {
    return this.#run;
  }

  get activeRun(): RunOfAgent | undefined {
    return this.#known.current;
  }

  /** The active run according to the store, as far as known here. */
  get storedRun(): RunOfAgent | undefined {
    return this.#known.active;
  }

  /** Called when the thread's row was read. */
  sawActive(runId: string | undefined): void {
    this.#known.heardOf(runId);
  }

  reserve(runId: string, agentId: string): () => void {
    return this.#known.reserve(runId, agentId);
  }

  /** A run took the thread and can be aborted from here on. */
  canAbort(run: ThreadJournal, abort: () => void): void {
    this.#known.canAbort(run.runId, abort);
  }

  /** Aborts the active run, in any process. Returns false if there is none. */
  abort(): boolean {
    if (!this.activeRun) return false;
    const elsewhere = this.#known.abort(this.#run !== undefined);
    if (elsewhere !== undefined)
      void this.requestAbort(elsewhere).catch((error: unknown) =>
        this.threads.logger.warn(`Run ${elsewhere} could not be aborted`, error),
      );
    return true;
  }

  /** Another process asked for this run to be aborted. */
  abortHere(runId: string): void {
    this.#known.abortHere(runId);
  }

  /** Whether a run is carried out here, or may be about to. */
  get isBusy(): boolean {
    return this.#run !== undefined || this.#pump.isLooking;
  }

  addReader(): void {
    this.#readers++;
  }

  removeReader(): void {
    this.#readers--;
  }

  get hasReaders(): boolean {
    return this.#readers > 0;
  }

  /** A message was stored here under this number. */
  posted(seq: number | undefined): void {
    this.#lastItem = Math.max(this.#lastItem, seq ?? 0);
  }

  /** A message may have arrived for the active run, from here or from another process. */
  mailMayHaveCome(): void {
    this.#mayHaveMail = true;
  }

  /** False once a check found none and nothing has arrived since. */
  get mayHaveMail(): boolean {
    return this.#mayHaveMail;
  }

  /** Whether something probably waits when the run ends. */
  get expectsMail(): boolean {
    return this.#mayHaveMail || this.#hasQueue;
  }

  /** The mailbox is about to be read: everything that arrived before will be found. */
  lookingIntoMailbox(): void {
    this.#mayHaveMail = false;
  }

  /** The handle that receives the thread's news, if this one was created before the owner was known. */
  get current(): Thread {
    return this.threads.directory.currentOf(this);
  }

  /** Drops the handle if it is unused. */
  forget(): void {
    this.threads.forget(this);
  }

  get inUse(): boolean {
    return this.#readers > 0 || this.isWorkedOn;
  }

  /** Whether anything but readers needs it. */
  get isWorkedOn(): boolean {
    return (
      this.#run !== undefined ||
      !this.waiters.isEmpty ||
      this.#pump.isLooking ||
      !this.line.isEmpty ||
      this.isInLine
    );
  }
}
