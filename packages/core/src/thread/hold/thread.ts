import { AgentError, storageError } from "../../errors.ts";
import { reviveSignal } from "../../signal/signal.ts";
import type { CommitResult, Storage, Write } from "../../storage/storage.ts";
import { THREADS } from "../../storage/tables.ts";
import { ACTORS, CALLS, MAILBOX, RUNS } from "../../storage/thread-tables.ts";
import type { System } from "../../system.ts";
import { agentChunk } from "../../run/model-part-chunk.ts";
import type { RunEnd } from "../../run/run-journal.ts";
import { type Actor, insertActor, readActor } from "./actor.ts";
import { Backoff, exhausted, MAX_ATTEMPTS } from "./backoff.ts";
import { type MailboxItem, nothingDueNow, NOW, readMailbox, runOpenedBy } from "../admit/mailbox.ts";
import type { SendTurn } from "../admit/send.ts";
import type { StoredOptions } from "../../run/stored-options.ts";
import { SendLine } from "../admit/send-line.ts";
import { Tail } from "../log/tail.ts";
import { type Holding, type RunTicket, takeWrites } from "./take.ts";
import type { ThreadHost } from "./local-threads.ts";
import type { Lease } from "../log/fenced-log.ts";
import { ThreadJournal } from "../journal/thread-journal.ts";
import { requireNone, update } from "../../storage/writes.ts";

const MAX_LOOKS = 100;
const NOTHING = (): void => {};

interface Waiter {
  ticket: RunTicket;
  run: ThreadJournal;
  /** Items up to this number were accepted before the waiter came, so they go first. */
  after: number;
  admit(lease: Lease): void;
  refuse(error: unknown): void;
}

/**
 * A thread as this process sees it: who waits for it here, which run of it is here, and the newest events. The truth
 * is in the store; this is dropped when nobody uses it.
 */
export class Thread {
  readonly threadId: string;
  readonly resourceId: string;
  readonly tail: Tail = new Tail();
  #run: ThreadJournal | undefined;
  /** The active run as last heard of, for answers that cannot wait for the store. */
  #active: { runId: string; agentId: string | undefined } | undefined;
  /** The thread itself, where this handle was made before anybody knew whose it would be. */
  owned: Thread | undefined;
  /** The run that a send of this process is about to open. */
  #reserved: { runId: string; agentId: string } | undefined;
  /** The highest mailbox number this process knows of. */
  #lastItem = 0;
  readonly #host: ThreadHost;
  /** Who sends to the thread or wants to run on it. */
  readonly line: SendLine<SendTurn> = new SendLine(() => this.forget());
  readonly #waiters: Waiter[] = [];
  #abortRun: (() => void) | undefined;
  #abortWanted: string | undefined;
  #readers = 0;
  #mayHaveMail = true;
  readonly #backoff = new Backoff();
  #resting: (() => void)[] = [];
  #pump: Promise<void> | undefined;
  #pumpAgain = false;

  constructor(host: ThreadHost, threadId: string, resourceId: string) {
    this.#host = host;
    this.threadId = threadId;
    this.resourceId = resourceId;
  }

  get storage(): Storage {
    return this.#host.storage;
  }
  get system(): System {
    return this.#host.system;
  }
  get owner(): string {
    return this.#host.owner.id;
  }
  get limits(): ThreadHost["limits"] {
    return this.#host.limits;
  }

  /** Waits for the thread, behind everything that was accepted before. */
  enter(ticket: RunTicket, run: ThreadJournal, abortSignal: AbortSignal): Promise<Lease> {
    return this.line
      .inOrder(async () => {
        abortSignal.throwIfAborted();
        const { promise, resolve, reject } = Promise.withResolvers<Lease>();
        const waiter: Waiter = { ticket, run, after: this.#lastItem, admit: resolve, refuse: reject };
        const onAbort = () => {
          if (this.#dismiss(waiter)) reject(abortSignal.reason);
        };
        abortSignal.addEventListener("abort", onAbort, { once: true });
        this.#waiters.push(waiter);
        this.pump();
        const lease = promise.finally(() => abortSignal.removeEventListener("abort", onAbort));
        return { lease };
      })
      .then(({ lease }) => lease);
  }

  /** Looks what the thread should do next, and does it. Safe to call at any time. */
  pump(): void {
    const current = this.#host.current(this);
    if (current !== this && !this.inUse) return current.pump();
    if (this.#pump) {
      this.#pumpAgain = true;
      return;
    }
    this.#look(
      this.#pumpAll().catch((error: unknown) => {
        if (AgentError.is(error, "storage-closed")) return this.#refuseAll(error);
        this.#host.logger.error(`Thread "${this.threadId}" could not continue and will be retried`, error);
        this.#host.lookAgain(this);
      }),
    );
  }

  /** Only one at a time here looks at what is in the store and acts on it. */
  #look(looking: Promise<void>): void {
    this.#pump = looking.finally(() => {
      this.#pump = undefined;
      if (this.#pumpAgain) {
        this.#pumpAgain = false;
        return this.pump();
      }
      if (!this.#run) for (const resolve of this.#resting.splice(0)) resolve();
      this.#host.forget(this);
    });
  }

  /** Resolves when nothing of the thread is under way here. */
  atRest(): Promise<void> {
    if (!this.#run && !this.#pump) return Promise.resolve();
    return new Promise((resolve) => this.#resting.push(resolve));
  }

  /** Whether what was tried that often may be tried again now. If not, the thread is looked at again in time. */
  mayTry(id: string, attempts: number): boolean {
    const wait = this.#backoff.wait(id, attempts, this.system.monotonic());
    if (wait > 0) this.#host.lookAgain(this, wait);
    return wait === 0;
  }

  /** Takes an idle thread for a run. Answers `undefined` when somebody else was faster. */
  async take(
    actor: Actor | undefined,
    ticket: RunTicket,
    conditions: readonly Write[] = [],
  ): Promise<Lease | undefined> {
    const { writes, holding } = takeWrites(this, ticket, actor);
    const elsewhere = { id: this.threadId, resource_id: { ne: this.resourceId } };
    const first: Write[] = actor
      ? []
      : [requireNone(THREADS, elsewhere), insertActor(this.threadId, this.resourceId)];
    return this.#graspUnlessTaken([...first, ...conditions, ...writes], holding);
  }

  /** Whether a message that comes now can open its run here at once. */
  isFreeFor(agentId: string): boolean {
    if (this.#run || this.#pump || this.isAwaited || !this.#host.hasAgent(agentId)) return false;
    return this.#host.current(this) === this;
  }

  /** Commits a message and takes the thread for the run it opens, in one. Nobody else here looks at it meanwhile. */
  openWith(
    actor: Actor | undefined,
    item: Omit<MailboxItem, "seq">,
    writes: readonly Write[],
  ): Promise<CommitResult> {
    const opening = this.#openWith(actor, item, writes);
    this.#look(opening.then(NOTHING, NOTHING));
    return opening;
  }

  async #openWith(
    actor: Actor | undefined,
    item: Omit<MailboxItem, "seq">,
    writes: readonly Write[],
  ): Promise<CommitResult> {
    const { runId, agentId, options = {} } = item;
    const taking = takeWrites(this, { runId, agentId, options }, actor, false);
    this.#mayHaveMail = false;
    const { lease, result } = await this.#grasp([...writes, ...taking.writes], taking.holding);
    const index = writes.findIndex((write) => write.op === "insert" && write.table === MAILBOX);
    // Its own copy: the sender holds the signal too.
    const signal = reviveSignal(item.signal.toJSON());
    this.#start(lease, runId, { ...item, options, signal, seq: result.auto[index] as number });
    return result;
  }

  /** Takes over a run that was left behind, or that waits and was answered. Only then does nobody else write. */
  async takeOver(actor: Actor, attempts: number): Promise<Lease | undefined> {
    const writes: Write[] = [
      update(ACTORS, {
        where: { thread_id: this.threadId, fence: actor.fence, run_id: actor.runId ?? null },
        set: { owner: this.owner, fence: actor.fence + 1, run_state: "running" },
        require: true,
      }),
      update(RUNS, {
        where: { id: actor.runId as string },
        set: { state: "running", suspended_at: null, fence: actor.fence + 1, attempts: attempts + 1 },
      }),
    ];
    return this.#graspUnlessTaken(writes, {
      runId: actor.runId as string,
      agentId: actor.agentId as string,
      fence: actor.fence + 1,
      nextSeq: actor.nextSeq,
    });
  }

  /** Ends a run of which nothing is here but the right to it. */
  async giveUp({
    runId,
    lease,
    end,
    opener,
    begun = false,
    also = [],
  }: {
    runId: string;
    lease: Lease;
    end: RunEnd;
    opener?: MailboxItem;
    begun?: boolean;
    also?: readonly Write[];
  }): Promise<void> {
    const run = new ThreadJournal({
      thread: this,
      runId,
      agentId: "",
      create: {},
      opener,
      resumed: begun,
      enter: async () => lease,
    });
    run.hold(lease, begun);
    this.#run = run;
    if (opener) run.publish(agentChunk("start", runId, {}));
    try {
      await run.end(end, also);
    } catch (error) {
      run.abandon();
      throw error;
    }
  }

  /** The right to a run came to nothing: the store has it as ours, and the next look takes it up again. */
  letGo(): void {
    this.#host.owner.release();
  }

  /** Called by a run when it let go of the thread. One that waits for somebody stays the active one. */
  left(run: ThreadJournal, waits: boolean): void {
    if (this.#run !== run) return;
    this.#run = undefined;
    this.#abortRun = undefined;
    this.#abortWanted = undefined;
    if (!waits) {
      this.#active = undefined;
    }
    this.#host.owner.release();
    this.#host.janitor.nudge();
    this.tail.release();
    this.pump();
  }

  /** Has a run aborted by whoever carries it out or takes it up next. */
  async requestAbort(runId: string): Promise<void> {
    const where = { thread_id: this.threadId, run_id: runId };
    await this.storage.commit([update(ACTORS, { where, set: { abort_run: runId } })]);
    this.pump();
  }

  /** The run that this process carries out. */
  get run(): ThreadJournal | undefined {
    return this.#run;
  }

  /** The run that a message joins: the active one, or one that is about to be opened here. */
  get activeRun(): { runId: string; agentId: string | undefined } | undefined {
    return this.#active ?? this.#reserved;
  }

  /** A reader read the thread's row. What is known here is newer. */
  sawActive(runId: string | undefined): void {
    if (runId !== undefined) this.#active ??= { runId, agentId: undefined };
  }

  /** A send of this process is about to open a run: what is sent meanwhile joins it. Returns what takes that back. */
  reserve(runId: string, agentId: string): () => void {
    this.#reserved = { runId, agentId };
    return () => {
      if (this.#reserved?.runId === runId) this.#reserved = undefined;
    };
  }

  /** A run took the thread up and can be aborted from here on; one whose abort was asked for before stops now. */
  canAbort(run: ThreadJournal, abort: () => void): void {
    this.#abortRun = abort;
    if (this.#abortWanted === run.runId) abort();
  }

  /** Aborts the active run, wherever it is carried out. Returns false when there is none. */
  abort(): boolean {
    const runId = this.activeRun?.runId;
    if (runId === undefined) return false;
    if (this.#active && this.#abortRun) this.#abortRun();
    // Reserved here, or not running yet: it stops as it starts.
    else if (!this.#active || this.#run) this.#abortWanted = runId;
    else
      void this.requestAbort(runId).catch((error: unknown) =>
        this.#host.logger.warn(`Run ${runId} could not be aborted`, error),
      );
    return true;
  }

  /** Another process asked for this run to be aborted. */
  abortIfRunning(runId: string): void {
    if (this.#run?.runId === runId) this.#abortRun?.();
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

  /** A message was stored under this number, here. */
  posted(seq: number | undefined): void {
    this.#lastItem = Math.max(this.#lastItem, seq ?? 0);
  }

  /** A message may have come for the run under way, from here or from another process. */
  mailMayHaveCome(): void {
    this.#mayHaveMail = true;
  }

  /** False once a look found none and nothing has come since. */
  get mayHaveMail(): boolean {
    return this.#mayHaveMail;
  }

  /** Whoever looks into the mailbox now sees all that has come. */
  lookingIntoMailbox(): void {
    this.#mayHaveMail = false;
  }

  /** A run that was taken over is carried out here. */
  carryOn(run: ThreadJournal): void {
    this.#mayHaveMail = true;
    this.#run = run;
  }

  /** The handle that has the thread's news. */
  get current(): Thread {
    return this.owned ? this.#host.current(this.owned) : this;
  }

  /** Somebody who used it does not any more. */
  forget(): void {
    this.#host.forget(this);
  }

  get isAwaited(): boolean {
    return this.#waiters.length > 0;
  }

  get inUse(): boolean {
    return (
      this.#run !== undefined ||
      this.#waiters.length > 0 ||
      this.#pump !== undefined ||
      this.#readers > 0 ||
      !this.line.isEmpty
    );
  }

  async #grasp(
    writes: readonly Write[],
    { runId, agentId, fence, nextSeq }: Holding,
  ): Promise<{ lease: Lease; result: CommitResult }> {
    await this.#host.owner.hold();
    let result: CommitResult;
    try {
      // Another process may take the same run with the same fence: each has its own id.
      const id = `${runId} ${fence} ${this.owner}`;
      result = await this.storage.commit(writes, { key: this.threadId, id });
    } catch (error) {
      this.#host.owner.release();
      throw error;
    }
    this.#active = { runId, agentId };
    this.#reserved = undefined;
    this.#host.claim(this, this.resourceId);
    return { lease: { fence, nextSeq, responseSteps: new Map() }, result };
  }

  async #graspUnlessTaken(writes: readonly Write[], holding: Holding): Promise<Lease | undefined> {
    try {
      return (await this.#grasp(writes, holding)).lease;
    } catch (error) {
      if (!AgentError.is(error, "conflict")) throw error;
      // The first write of a thread without an actor asks whose it is; any other conflict means somebody was faster.
      const first = writes[0];
      if (error.details?.["index"] === 0 && first?.op === "require") throw this.#notHere();
      return undefined;
    }
  }

  #refuseAll(error: unknown): void {
    for (const waiter of this.#waiters.splice(0)) waiter.refuse(error);
  }

  #closesDown(): false {
    this.#refuseAll(
      new AgentError("storage-closed", "This process is shutting down and starts no more runs."),
    );
    return false;
  }

  #notHere(): AgentError {
    return new AgentError(
      "not-found",
      `There is no thread "${this.threadId}" for resource "${this.resourceId}".`,
    );
  }

  async #pumpAll(): Promise<void> {
    for (let looks = 0; !this.#run; looks++) {
      // Losing this often means that something is wrong: look again later instead of in a circle.
      if (looks === MAX_LOOKS) return this.#host.lookAgain(this);
      this.#mayHaveMail = false;
      const actor = await readActor(this.storage, this.threadId);
      if (actor && actor.resourceId !== this.resourceId) {
        // Somebody asked for a thread that is not theirs: nothing of it is to be touched from here.
        this.#refuseAll(this.#notHere());
        return this.#host.claim(this, actor.resourceId);
      }
      if (actor) this.#host.claim(this, actor.resourceId);
      if (actor && actor.mailboxCount > 0) this.#mayHaveMail = true;
      this.#active = actor?.runId === undefined ? undefined : { runId: actor.runId, agentId: actor.agentId };
      if (actor?.runId !== undefined) {
        this.#reserved = undefined;
        if (!(await this.#pumpActive(actor))) return;
      } else if (!(await this.#pumpIdle(actor))) return;
    }
  }

  /** A thread with a run that is not here. Answers whether to look again. */
  async #pumpActive(actor: Actor): Promise<boolean> {
    if (this.#host.isClosing) return this.#closesDown();
    const runId = actor.runId as string;
    const waits = actor.owner === undefined && actor.runState === "suspended";
    const [[row], [decided]] = await this.storage.selectAll([
      { table: RUNS, where: { id: runId }, limit: 1 },
      { table: CALLS, where: { run_id: runId, state: "decided" }, limit: 1, columns: ["run_id"] },
    ]);
    if (waits) {
      if (decided || actor.abortRun === runId) return this.#host.resume(this, actor, row);
      this.#refuseAll(waitsForSomebody(actor));
      return false;
    }
    // A run that is ours in the store and not here was left behind by a failure of the store.
    if (actor.owner === this.owner || (await this.#host.owner.mayTake(actor)))
      return this.#host.resume(this, actor, row);
    // Nobody here needs it: whoever finds its owner gone takes it up.
    if (this.isAwaited) this.#host.lookAgain(this);
    return false;
  }

  /** A free thread: the oldest of what waits for it runs. Answers whether to look again. */
  async #pumpIdle(actor: Actor | undefined): Promise<boolean> {
    const hasMail = actor !== undefined && actor.mailboxCount > 0;
    const [item] = hasMail ? await readMailbox(this.storage, this.threadId, { limit: 1 }) : [];
    const [waiter] = this.#waiters;
    if (
      item &&
      (!waiter || item.seq <= waiter.after || item.due === NOW) &&
      this.#host.hasAgent(item.agentId)
    ) {
      return this.#open(actor, item);
    }
    if (this.#host.isClosing) return this.#closesDown();
    if (!waiter) {
      if (!item && this.line.isEmpty) this.#reserved = undefined;
      return false;
    }
    let lease: Lease | undefined;
    try {
      // A message that came first goes first.
      const conditions = item?.due === NOW ? [] : [nothingDueNow(this.threadId)];
      lease = await this.take(actor, waiter.ticket, conditions);
    } catch (error) {
      if (this.#dismiss(waiter)) waiter.refuse(storageError(error));
      return true;
    }
    if (!lease) return true;
    if (!this.#dismiss(waiter)) {
      // Aborted while the store answered: the run exists there and has to be ended.
      const end = { state: "aborted", mayContinue: false, chunks: [] } as const;
      await this.giveUp({ runId: waiter.ticket.runId, lease, end });
      return true;
    }
    this.#run = waiter.run;
    waiter.admit(lease);
    return false;
  }

  /** Takes a waiter out of the line. Answers whether it was still in it: it may have been aborted meanwhile. */
  #dismiss(waiter: Waiter): boolean {
    const index = this.#waiters.indexOf(waiter);
    if (index >= 0) this.#waiters.splice(index, 1);
    return index >= 0;
  }

  async #open(actor: Actor | undefined, item: MailboxItem): Promise<boolean> {
    // One that was meant for a run that is over opens a run of its own, under a name of its own.
    const runId = runOpenedBy(item);
    const { attempts = 0 } = item;
    if (!this.mayTry(runId, attempts)) return false;
    // It goes on with the options of the run it came for.
    item.options ??= item.opens ? {} : await this.#optionsOf(item.runId);
    const ticket = { runId, agentId: item.agentId, options: item.options };
    // What came to join a run must not find itself in one that was promised to somebody else.
    const lease = await this.take(actor, ticket, item.due === NOW ? [] : [nothingDueNow(this.threadId)]);
    if (!lease) return true;
    if (attempts >= MAX_ATTEMPTS) {
      const error = exhausted(runId);
      const chunks = [agentChunk("error", runId, { error })];
      const end = { state: "failed", mayContinue: false, error, chunks } as const;
      await this.giveUp({ runId, lease, end, opener: item });
      return true;
    }
    this.#start(lease, runId, item);
    return false;
  }

  #start(lease: Lease, runId: string, item: MailboxItem): void {
    this.#run = new ThreadJournal({
      thread: this,
      runId,
      agentId: item.agentId,
      create: {},
      opener: item,
      enter: async () => lease,
    });
    this.#run.hold(lease);
    this.#host.open(this, this.#run, item);
  }

  async #optionsOf(runId: string): Promise<StoredOptions> {
    const [row] = await this.storage.select({ table: RUNS, where: { id: runId }, limit: 1 });
    return (row?.options ?? {}) as StoredOptions;
  }
}

function waitsForSomebody(actor: Actor): AgentError {
  return new AgentError(
    "thread-suspended",
    `Thread "${actor.threadId}" is waiting for an answer to a tool call of run "${actor.runId}". Answer it with sendToolApproval(), or abort the run.`,
    { details: { runId: actor.runId } },
  );
}
