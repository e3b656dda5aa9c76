import type { AgentChunk, JSONValue, StoredMessage } from "@selvedge/protocol";
import { subagentWaitOf, type SubagentWait } from "@selvedge/protocol/session";
import { FencedLog, type Lease, NotTaken } from "../../actor/log/fenced-log.ts";
import { AgentError } from "../../errors.ts";
import type { Resumption } from "../../run/resume.ts";
import type { OpenCall } from "../../run/run.ts";
import { type CallIntent, type RunEnd, type RunJournal, type StepRecord } from "../../run/run-journal.ts";
import { echoOf } from "../../signal/echo.ts";
import type { CommitContribution } from "../../memory/memory.ts";
import type { CreatedAgentSignal } from "../../signal/signal.ts";
import {
  describeThread,
  insertMessage,
  insertThread,
  replaceMessage,
  setMessageMetadata,
  touchOwnThread,
  touchThread,
} from "../../storage/message-writes.ts";
import { OM_DOMAIN } from "../../storage/om-domain.ts";
import { recountWrites } from "../../storage/om-recount.ts";
import type { Row, Write } from "../../storage/storage.ts";
import { assemble, recentSelect } from "../../storage/list-messages.ts";
import { MESSAGES, type MessageRow } from "../../storage/tables.ts";
import { ACTORS, MAILBOX, RUNS } from "../../storage/thread-tables.ts";
import { sleep } from "../../system.ts";
import type { ToolOutcome } from "../../tool/execute-tool.ts";
import { CallJournal } from "./call-journal.ts";
import { endedRun, forgetHistory, IDLE, insertSignal, openerWrites } from "./end-writes.ts";
import { StepPlaces } from "./step-places.ts";
import { ThreadHistory } from "./thread-history.ts";
import { type MailboxItem, NOW, readMailbox, takeItems } from "../admit/mailbox.ts";
import type { Leaving, Thread } from "../hold/thread.ts";
import { threadLog } from "../log/thread-log.ts";
import { abortSubagent } from "../inspect/questions.ts";
import { requireNone, requireRow, update } from "../../storage/writes.ts";
import { noThread } from "../../storage/no-thread.ts";

export interface ThreadJournalOptions {
  thread: Thread;
  runId: string;
  agentId: string;
  details?: ThreadDetails;
  /** The thread existed in the history when the run was requested. */
  exists?: boolean;
  ahead?: ReadAhead;
  /** The item that opened the run. */
  opener?: MailboxItem | undefined;
  /** How far a continued run got. */
  resumption?: Resumption | undefined;
  /** Takes the thread, for a run that does not hold it from the start. */
  enter?(abortSignal: AbortSignal): Promise<Lease>;
}

/** The newest messages as they were read with the thread's row, newest first, and what the row said. */
interface ReadAhead {
  rows: readonly MessageRow[];
  limit: number;
  fence: number;
  nextSeq: number;
}

/** What the caller says about the thread. */
export interface ThreadDetails {
  title?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
}

/** Signals taken with one step; more wait for the next. */
const ITEMS_PER_STEP = 256;
/** Marks a message as followed by signals. */
const BOUNDARY = { mastra: { responseBoundary: true } } as const;

/**
 * A run's hold on its thread. Every commit carries the fence and the chunks the stream has gained, so the log and the
 * history never disagree, and a process that lost the thread finds out at its next write.
 */
export class ThreadJournal implements RunJournal {
  readonly #options: ThreadJournalOptions;
  #thread: Thread;
  readonly runId: string;
  readonly #log: FencedLog<AgentChunk>;
  readonly #journal: CallJournal;
  #lease: Lease | undefined;
  /** What opened the run, until the store knows that the run took it. */
  #opener: MailboxItem | undefined;
  /** Other messages that the run started with, which the store does not know to be taken. */
  readonly #staged = new Set<string>();
  readonly #places: StepPlaces;
  /** Subagents that calls of a continued run wait for. They end with it, unless it waits again. */
  readonly #subagents: readonly SubagentWait["subagent"][];
  #details: ThreadDetails;
  #ahead: ReadAhead | undefined;
  #begun = false;
  #over = false;
  #controller: AbortController | undefined;

  constructor(options: ThreadJournalOptions) {
    this.#options = options;
    this.#thread = options.thread;
    this.runId = options.runId;
    this.#opener = options.opener;
    this.#details = options.details ?? {};
    this.#ahead = options.ahead;
    this.#log = new FencedLog(threadLog(options.thread, options.runId), () => this.abandon());
    const { resumption } = options;
    const waiting = resumption?.calls.filter(({ state }) => state === "waiting") ?? [];
    this.#subagents = waiting.flatMap((call) => subagentWaitOf(call) ?? []);
    this.#places = new StepPlaces(resumption);
    this.#journal = new CallJournal(options.runId, options.thread.threadId, resumption);
  }

  get isOver(): boolean {
    return this.#over;
  }

  get history(): ThreadHistory {
    return new ThreadHistory(this.#thread);
  }

  async acquire(controller: AbortController): Promise<void> {
    if (!this.#lease) this.hold(await this.#options.enter!(controller.signal));
    this.abortWith(controller);
  }

  /** Aborting the thread's run aborts the controller. */
  abortWith(controller: AbortController): void {
    const thread = this.#thread;
    if (thread.run !== this) return;
    this.#controller = controller;
    thread.canAbort(this, () => controller.abort());
  }

  /** What the message that opened the run says about the thread. */
  describe({ title, metadata }: ThreadDetails): void {
    this.#details = { title, metadata };
  }

  /** The handle to run on, for a run that has not entered its thread yet. */
  use(thread: Thread): void {
    this.#thread = thread;
    this.#log.use(threadLog(thread, this.runId));
  }

  contribute(contribution: CommitContribution): void {
    this.#log.contribution = contribution;
  }

  async recentMessages(limit: number): Promise<StoredMessage[]> {
    const { storage, threadId } = this.#thread;
    const ahead = this.#aheadFor(limit);
    this.#ahead = undefined;
    const rows = ahead ?? (await storage.select(recentSelect(threadId, limit)));
    return assemble(storage, rows.toReversed());
  }

  /** What was read with the thread, if the run takes it as it was then. Without a run in between, it is still the newest. */
  #aheadFor(limit: number): readonly MessageRow[] | undefined {
    const [ahead, lease] = [this.#ahead, this.#lease];
    if (!ahead || !lease?.taking) return undefined;
    if (lease.fence !== ahead.fence + 1 || lease.nextSeq !== ahead.nextSeq) return undefined;
    const isEnough = ahead.rows.length < ahead.limit || limit <= ahead.limit;
    return isEnough ? ahead.rows.slice(0, limit) : undefined;
  }

  /** Whether others may put chunks on the stream of this run: its input is stored, and it is not over. */
  get isAudible(): boolean {
    return this.#begun && !this.#over && this.#lease !== undefined;
  }

  async announce(chunks: readonly AgentChunk[], writes: readonly Write[]): Promise<boolean> {
    return this.#unlessLost(this.#log.commit(writes, { chunks, explain: () => new LostRace() }));
  }

  /** For callers that start the run with the thread already held. */
  hold(lease: Lease): void {
    this.#lease = lease;
    this.#log.open(lease);
    if (this.#options.resumption?.begun) this.#hasBegun();
  }

  async begin(
    input: readonly StoredMessage[],
    changed: readonly StoredMessage[],
    among: readonly CreatedAgentSignal[],
    pinned?: Record<string, JSONValue>,
  ): Promise<CreatedAgentSignal[] | undefined> {
    const { threadId, resourceId, system } = this.#thread;
    const now = new Date(system.now());
    const folded = await this.#items();
    const items = this.#opener ? [this.#opener, ...folded] : folded;
    const signals = folded.map(({ signal }) => signal.with({ createdAt: now }));
    const rest: Write[] = [
      ...describeThread(threadId, this.#details),
      ...signals.map((signal) => insertSignal(this.#thread, signal)),
      ...changed.flatMap((message) => replaceMessage({ ...message, threadId, resourceId })),
      ...takeItems(threadId, items),
    ];
    if (pinned)
      rest.push(update(RUNS, { where: { id: this.runId }, merge: { options: { profile: pinned } } }));
    const run = { first_message_id: input[0]?.id ?? signals[0]?.id ?? null };
    const echoes = this.#echoes([...among, ...signals]);
    const explain = (index: number): AgentError => this.#explainInput(index);
    if (this.#opener) {
      // The message is safe where it waits: taking it goes with the next commit, and the model need not wait for that.
      for (const { signal } of folded) this.#staged.add(signal.id);
      const writes = [...this.#inputWrites(input, now, false), ...rest];
      this.#log.stage({ writes, run, explain, onStored: () => this.#isStored() });
      for (const echo of echoes) this.#log.publish(echo);
    } else {
      const store = (isOrdinary: boolean): Promise<unknown> =>
        this.#log.commit([...this.#inputWrites(input, now, isOrdinary), ...rest], {
          run,
          chunks: echoes,
          explain: isOrdinary ? () => new Unexpected() : explain,
        });
      const isOrdinary = this.#options.exists === true && input.length === 1;
      if (!(await this.#commitInput(store, isOrdinary))) return undefined;
    }
    this.#hasBegun();
    return signals;
  }

  /** The store knows what the run started with. */
  #isStored(): void {
    this.#opener = undefined;
    this.#staged.clear();
  }

  /** Returns false if another process had the thread in between. */
  async #commitInput(
    store: (isOrdinary: boolean) => Promise<unknown>,
    isOrdinary: boolean,
  ): Promise<boolean> {
    try {
      await store(isOrdinary).catch((thrown: unknown) => {
        if (thrown instanceof Unexpected) return store(false);
        throw thrown;
      });
      return true;
    } catch (thrown) {
      if (!(thrown instanceof NotTaken)) throw thrown;
      this.#backInLine();
      return false;
    }
  }

  /** Usually the thread exists and its messages are new, which takes fewer writes. */
  #inputWrites(input: readonly StoredMessage[], now: Date, isOrdinary: boolean): Write[] {
    const { threadId, resourceId } = this.#thread;
    const touch = touchOwnThread(threadId, resourceId, now.getTime());
    const messages = input.map((message) => ({ ...message, threadId, resourceId }));
    if (isOrdinary) return [touch, ...messages.map((message) => insertMessage(message))];
    return [
      insertThread({ id: threadId, resourceId, createdAt: now, updatedAt: now }),
      touch,
      // A message that is already here stays unchanged. One that is elsewhere is refused, even if it was stored there
      // just now.
      ...messages.flatMap((message) => [
        insertMessage(message, "ignore"),
        requireRow(MESSAGES, { id: message.id, thread_id: threadId }),
      ]),
    ];
  }

  #explainInput(index: number): AgentError {
    const { threadId, resourceId } = this.#thread;
    if (index === 1) return noThread(threadId, resourceId);
    return new AgentError(
      "invalid-message",
      "A message of this call has the id of a message on another thread. Leave the id out, or make it unique.",
    );
  }

  #backInLine(): void {
    this.#lease = undefined;
    this.#log.rewind(isStart);
    this.#thread.left(this);
  }

  /** Whether the run has the thread and the store does not know it yet. */
  get isTaking(): boolean {
    return this.#lease?.taking !== undefined;
  }

  /** Takes the thread in the store, for code that depends on it. A faster process is noticed when the run starts. */
  async makeKnown(): Promise<void> {
    await this.#log.commit([], { quiet: true }).catch((thrown: unknown) => {
      if (!(thrown instanceof NotTaken)) throw thrown;
    });
  }

  publish(chunk: AgentChunk): void {
    this.#log.publish(chunk);
  }

  async record(signal: CreatedAgentSignal, alongside: readonly Write[]): Promise<boolean> {
    const { threadId, resourceId } = this.#thread;
    const message = insertMessage(signal.toDBMessage({ threadId, resourceId }));
    const chunks = this.#echoes([signal]);
    return this.#unlessLost(
      this.#log.commit([...alongside, message], { chunks, explain: () => new LostRace() }),
    );
  }

  /** Whether a commit took effect; false if a condition of its writes did not hold. */
  async #unlessLost(commit: Promise<unknown>): Promise<boolean> {
    try {
      await commit;
      return true;
    } catch (thrown) {
      if (thrown instanceof LostRace) return false;
      throw thrown;
    }
  }

  async recordIntent(step: StepRecord, calls: readonly CallIntent[]): Promise<void> {
    const { openStep, writes } = this.#journal.start(this.#places.place(step), calls);
    await this.#log.commit(writes, { run: { open_step: openStep as never } });
  }

  async saveProgress(toolCallId: string, value: unknown, alongside: readonly Write[] = []): Promise<void> {
    const progress = this.#journal.saveProgress(toolCallId, value);
    await this.#log.commit([progress, ...alongside]);
  }

  async recordOutcome(toolCallId: string, outcome: ToolOutcome): Promise<void> {
    await this.#log.commit([this.#journal.recordOutcome(toolCallId, outcome)]);
  }

  async commitStep(
    step: StepRecord | undefined,
    { take, next, own = [], endsNow = false, finish }: Parameters<RunJournal["commitStep"]>[1],
  ): Promise<CreatedAgentSignal[]> {
    const { threadId, system } = this.#thread;
    const items = take ? await this.#items() : [];
    const now = new Date(system.now());
    // A signal enters the history when it is taken; `acceptedAt` keeps the time it was sent.
    const signals = items.map(({ signal }) => signal.with({ createdAt: now }));
    const joining = [...own, ...signals];
    const joins = joining.length > 0;
    // What follows signals is a separate message, as is what follows a message that the memory wants complete.
    const closes = joins || (step !== undefined && next === "continue" && this.#isComplete(step));
    const responseId = step?.message.id ?? this.#places.responseId;
    const writes: Write[] = [
      ...(step ? this.#places.writes(this.#thread, step) : []),
      ...(joins && responseId !== undefined ? [setMessageMetadata(responseId, BOUNDARY)] : []),
      ...this.#closeCalls(),
      ...joining.map((signal) => insertSignal(this.#thread, signal)),
      ...takeItems(threadId, items),
    ];
    if (!step && writes.length === 0) return [];
    const progress: Row = {
      ...(step && {
        step: step.stepNumber + 1,
        usage: step.usage as never,
        open_step: null,
        next,
        attempts: 1,
      }),
      ...(step && this.#places.row(step)),
      ...(closes && { response_id: null, response_steps: null }),
      ...(signals.length > 0 && { next: "continue" }),
    };
    const closing = [...(step?.also?.chunks ?? []), ...((await finish?.(signals.length > 0)) ?? [])];
    // If the end is stored right after this, one commit does both.
    if (endsNow && !joins && !this.#journal.isOpen) {
      this.#log.stage({ writes, run: progress });
      for (const chunk of closing) this.#log.publish(chunk);
    } else {
      await this.#log.commit(writes, { run: progress, chunks: [...closing, ...this.#echoes(joining)] });
      this.#journal.closed();
    }
    if (step) this.#places.stored(step);
    if (closes) this.#places.close();
    return signals;
  }

  async takeSignals(): Promise<CreatedAgentSignal[]> {
    const thread = this.#thread;
    if (thread.hasReaders) await sleep(thread.system, 0);
    return thread.mayHaveMail ? this.commitStep(undefined, { take: true, next: "continue" }) : [];
  }

  async suspend(step: StepRecord, waiting: readonly OpenCall[]): Promise<void> {
    const { threadId, system } = this.#thread;
    await this.#log.commit(
      [
        ...this.#places.writes(this.#thread, step),
        ...this.#journal.wait(this.#places.place(step), waiting),
        update(ACTORS, { where: { thread_id: threadId }, set: { run_state: "suspended" } }),
      ],
      {
        run: {
          state: "suspended",
          suspended_at: Math.trunc(system.now()),
          usage: step.usage as never,
          open_step: null,
          ...this.#places.row(step),
        },
        chunks: step.also?.chunks ?? [],
      },
    );
    this.#places.stored(step);
  }

  async park(): Promise<void> {
    const { threadId } = this.#thread;
    await this.#log.commit([], {
      last: (nextSeq) => [
        update(ACTORS, { where: { thread_id: threadId }, set: { owner: null, next_seq: nextSeq } }),
      ],
    });
    // A reader may have aborted the run while the question was being stored.
    if (this.#controller?.signal.aborted) await this.#thread.requestAbort(this.runId);
    this.#leave({ waits: true });
  }

  async end(end: RunEnd, also: readonly Write[] = []): Promise<boolean> {
    const { threadId, system } = this.#thread;
    if (!this.#lease) {
      this.#leave();
      return true;
    }
    const guard: Write[] = end.mayContinue
      ? [requireNone(MAILBOX, { thread_id: threadId, due: NOW, agent_id: this.#options.agentId })]
      : [];
    const now = new Date(system.now());
    const unread =
      this.#begun || !this.#opener
        ? undefined
        : { ...this.#opener, signal: this.#opener.signal.with({ createdAt: now }) };
    const opener = unread ? openerWrites(this.#thread, unread, this.#details) : [];
    const echo = unread && !unread.messages ? this.#echoes([unread.signal]) : [];
    const unanswered = end.state === "done" ? [] : this.#journal.answerOpen(this.#thread, end.state);
    // A run that never got as far as its memory changes a message behind its back.
    if (unanswered.length > 0 && !this.#log.contribution) {
      await this.#thread.storage.domain(OM_DOMAIN);
      unanswered.push(...recountWrites(threadId, this.#thread.resourceId));
    }
    const store = async (nothingWaits: boolean): Promise<boolean> => {
      const conditions = nothingWaits ? [] : guard;
      await this.#log.commit(
        [
          ...conditions,
          ...opener,
          ...unanswered,
          ...this.#closeCalls(),
          ...also,
          // Input that is not stored yet touches the thread itself.
          ...(this.#begun && this.#opener ? [] : [touchThread(threadId, now.getTime())]),
        ],
        {
          run: endedRun(end, now),
          chunks: [...echo, ...end.chunks],
          ends: true,
          explain: (index) => {
            if (index < conditions.length) return new MailWaiting();
            return index - conditions.length < opener.length ? new OpenerGone() : undefined;
          },
          last: (nextSeq) => [
            update(ACTORS, {
              where: { thread_id: threadId, ...(nothingWaits ? { has_mail: null } : { run_id: this.runId }) },
              set: { ...IDLE, next_seq: nextSeq },
              require: nothingWaits,
            }),
            ...(this.#thread.limits.keepHistory ? [] : forgetHistory(threadId)),
          ],
          explainLast: () => new Unexpected(),
        },
      );
      return nothingWaits;
    };
    let nothingWaits: boolean;
    try {
      // Usually nothing waits, which takes fewer writes.
      nothingWaits = await store(!this.#thread.expectsMail).catch((thrown: unknown) => {
        if (thrown instanceof Unexpected) return store(false);
        throw thrown;
      });
    } catch (thrown) {
      if (thrown instanceof MailWaiting) {
        this.#thread.mailMayHaveCome();
        return false;
      }
      if (thrown instanceof NotTaken) return this.#endUntaken(end);
      if (!(thrown instanceof OpenerGone)) {
        this.#log.dropStaged();
        if (!this.#opener || !this.#begun) throw thrown;
        // The run has not started, then. One without any effect can end like that.
        this.#begun = false;
        this.#staged.clear();
        this.#log.rewind(isStart);
        if (end.state === "done") throw thrown;
        return this.end(end, also);
      }
      // It had started after all: the commit succeeded although the store reported failure.
      this.#hasBegun();
      this.#isStored();
      return this.end(end, also);
    }
    this.#leave({ nothingWaits });
    return true;
  }

  /**
   * It ends before it started, and another process has the thread; unless the store had started it without reporting
   * so.
   */
  async #endUntaken(end: RunEnd): Promise<boolean> {
    const { storage } = this.#thread;
    const { fence } = this.#lease!;
    this.#lease!.taking = undefined;
    const [row] = await storage.select({ table: RUNS, where: { id: this.runId, fence }, limit: 1 });
    if (row) return this.end(end);
    this.#leave();
    return true;
  }

  abandon(): void {
    this.#leave();
  }

  async replace(messages: readonly StoredMessage[]): Promise<void> {
    if (messages.length === 0) return;
    const { threadId, resourceId } = this.#thread;
    await this.#log.commit(
      messages.flatMap((message) => replaceMessage({ ...message, threadId, resourceId })),
    );
  }

  #echoes(signals: readonly CreatedAgentSignal[]): AgentChunk[] {
    return signals.map((signal) => echoOf(signal, this.runId));
  }

  #isComplete({ message, parts }: StepRecord): boolean {
    return this.#log.contribution?.closes({ messageId: message.id, parts }) ?? false;
  }

  #hasBegun(): void {
    this.#begun = true;
    this.#log.makeAudible();
  }

  /** Signals that wait for this run. Read from the store only if something may have arrived. */
  async #items(): Promise<MailboxItem[]> {
    const thread = this.#thread;
    if (!thread.mayHaveMail) return [];
    thread.lookingIntoMailbox();
    // As of now: they may be stored as taken while the mailbox is read.
    const taken = new Set([this.#opener?.signal.id, ...this.#staged]);
    const items = await readMailbox(thread.storage, thread.threadId, {
      due: NOW,
      agentId: this.#options.agentId,
      limit: ITEMS_PER_STEP,
    });
    // All of them are taken now; only a full batch leaves some behind.
    if (items.length === ITEMS_PER_STEP) thread.mailMayHaveCome();
    return items.filter(({ signal: { id } }) => !taken.has(id));
  }

  /** The calls are no longer awaited, nor the subagents that they waited for. */
  #closeCalls(): Write[] {
    return [...this.#journal.close(), ...this.#subagents.map(abortSubagent)];
  }

  #leave(how: Leaving = {}): void {
    if (this.#over) return;
    this.#over = true;
    this.#log.close();
    this.#thread.left(this, how);
    if (!how.waits) for (const one of this.#subagents) this.#thread.threads.mailMayHaveCome(one);
  }
}

function isStart({ type }: AgentChunk): boolean {
  return type === "start";
}

class Unexpected {}
class MailWaiting {}
class OpenerGone {}
class LostRace {}
