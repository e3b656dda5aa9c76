import type { AgentChunk, MessagePart, StoredMessage } from "@selvedge/protocol";
import { AgentError, errorMessage, storageError } from "../errors.ts";
import type { OpenCall } from "../run/run.ts";
import type { CallIntent, RunEnd, RunThread, StepRecord } from "../run/run-thread.ts";
import type { CreatedAgentSignal } from "../signal/signal.ts";
import {
  insertMessage,
  insertThread,
  putStep,
  replaceMessage,
  setMessageMetadata,
  touchThread,
} from "../storage/message-writes.ts";
import { assemble } from "../storage/list-messages.ts";
import type { Row, Write } from "../storage/storage.ts";
import { MESSAGES, MESSAGE_STEPS, THREADS } from "../storage/tables.ts";
import { ACTORS, CALLS, MAILBOX, RUNS } from "../storage/thread-tables.ts";
import type { ToolOutcome } from "../tool/execute-tool.ts";
import { advanceLane, type Lane, readLane, type StateMode } from "./lane.ts";
import { hashArgs } from "./hash-args.ts";
import { insertEvents, toBroadcast } from "./event-log.ts";
import { type Letter, NOW, readLetters, takeLetters } from "./mailbox.ts";
import type { Thread } from "./thread.ts";

/** The right to run a thread, and where its run stands in the store. */
export interface Lease {
  fence: number;
  nextSeq: number;
  /** Steps stored so far in each response message, of a run that is gone on with. */
  responseSteps: Map<string, number>;
}

export interface ThreadRunOptions {
  thread: Thread;
  runId: string;
  agentId: string;
  /** What the thread is created with, if it is new. */
  create: { title?: string; metadata?: Record<string, unknown> };
  /** The letter that opened the run. */
  opener: Letter | undefined;
  /** A run that is gone on with may have calls in the journal. */
  resumed?: boolean;
  /** Takes the thread; given by who starts the run. */
  enter(abortSignal: AbortSignal): Promise<Lease>;
}

/** How far back the calls may be that a client answers. */
const RECENT = 20;
/** How many signals after a snapshot are looked through for its deltas. */
const SIGNALS_BACK = 200;
const FLUSH_INTERVAL_MS = 8;
/** Signals taken at one step border; more wait for the next. */
const LETTERS_PER_STEP = 256;

/**
 * A run's hold on its thread. Every commit carries the fence and whatever chunks the stream has gained, so the log and
 * the history never disagree, and a process that lost the thread finds out at its next write.
 */
export class ThreadRun implements RunThread {
  readonly #options: ThreadRunOptions;
  readonly #thread: Thread;
  readonly runId: string;
  #lease: Lease | undefined;
  #opener: Letter | undefined;
  #buffer: AgentChunk[] = [];
  #commits: Promise<unknown> = Promise.resolve();
  #flushTimer: (() => void) | undefined;
  #flushedAt = Number.NEGATIVE_INFINITY;
  #begun = false;
  /** Whether the journal may hold calls of this run. */
  #open: boolean;
  #over = false;

  constructor(options: ThreadRunOptions) {
    this.#options = options;
    this.#thread = options.thread;
    this.runId = options.runId;
    this.#opener = options.opener;
    this.#open = options.resumed ?? false;
  }

  async acquire(controller: AbortController): Promise<void> {
    this.#lease ??= await this.#options.enter(controller.signal);
    const thread = this.#thread;
    if (thread.run !== this) return;
    thread.abortRun = () => controller.abort();
    if (thread.abortWanted === this.runId) thread.abortRun();
  }

  /** For who starts the run with the thread already in hand. */
  hold(lease: Lease, begun = false): void {
    this.#lease = lease;
    this.#begun = begun;
  }

  async begin(input: readonly StoredMessage[]): Promise<CreatedAgentSignal[]> {
    const { threadId, resourceId, system } = this.#thread;
    const now = new Date(system.now());
    const folded = (await this.#letters()).filter((letter) => letter.seq !== this.#opener?.seq);
    const letters = this.#opener ? [this.#opener, ...folded] : folded;
    const writes: Write[] = [
      {
        op: "require",
        table: THREADS,
        where: { id: threadId, resource_id: { ne: resourceId } },
        exists: false,
      },
      insertThread({ id: threadId, resourceId, createdAt: now, updatedAt: now, ...this.#options.create }),
      touchThread(threadId, now.getTime()),
    ];
    for (const message of input) {
      const elsewhere = { id: message.id, thread_id: { ne: threadId } };
      writes.push({ op: "require", table: MESSAGES, where: elsewhere, exists: false });
      writes.push(insertMessage({ ...message, threadId, resourceId }, "ignore"));
    }
    const signals = folded.map(({ signal }) => restamp(signal, now));
    for (const signal of signals) writes.push(insertMessage(signal.toDBMessage({ threadId, resourceId })));
    writes.push(...takeLetters(threadId, letters));
    await this.#commit(writes, {
      run: { first_message_id: input[0]?.id ?? signals[0]?.id ?? null },
      explain: (index) =>
        index === 0
          ? new AgentError("not-found", `There is no thread "${threadId}" for resource "${resourceId}".`)
          : new AgentError(
              "invalid-message",
              "A message of this call has the id of a message on another thread. Leave the id out, or make it unique.",
            ),
    });
    this.#begun = true;
    this.#opener = undefined;
    return signals;
  }

  publish(chunk: AgentChunk): void {
    if (this.#over) return;
    this.#buffer.push(toBroadcast(chunk));
    // Nothing is said of a run before its input is stored: until then it may yet begin anew elsewhere.
    if (!this.#begun || this.#flushTimer) return;
    const { system } = this.#thread;
    const wait = this.#flushedAt + FLUSH_INTERVAL_MS - system.monotonic();
    if (wait > 0) this.#flushTimer = system.setTimer(wait, () => this.#flush());
    else {
      // The first chunk after a pause goes out at once, with all that this turn of the event loop still adds.
      this.#flushTimer = () => {};
      void Promise.resolve().then(() => this.#flush());
    }
  }

  async record(signal: CreatedAgentSignal, alongside: readonly Write[]): Promise<boolean> {
    const { threadId, resourceId } = this.#thread;
    try {
      await this.#commit([...alongside, insertMessage(signal.toDBMessage({ threadId, resourceId }))], {
        explain: () => new LostRace(),
      });
      return true;
    } catch (thrown) {
      if (thrown instanceof LostRace) return false;
      throw thrown;
    }
  }

  lane(laneId: string): Promise<Lane | undefined> {
    return readLane(this.#thread.storage, this.#thread.threadId, laneId);
  }

  advanceLane(
    laneId: string,
    seen: Lane | undefined,
    next: { cacheKey: string; mode: StateMode; signalId: string },
  ): Write {
    return advanceLane(this.#thread.threadId, laneId, seen, { ...next, now: this.#thread.system.now() });
  }

  async signalsSince(signalId: string): Promise<StoredMessage[]> {
    const { storage, threadId } = this.#thread;
    const [first] = await storage.select({
      table: MESSAGES,
      where: { id: signalId, thread_id: threadId },
      limit: 1,
    });
    if (!first) return [];
    const where = { thread_id: threadId, seq: { gte: first["seq"] as number }, role: "signal" };
    return assemble(
      storage,
      await storage.select({ table: MESSAGES, where, orderBy: [{ column: "seq" }], limit: SIGNALS_BACK }),
    );
  }

  async intend(step: StepRecord, calls: readonly CallIntent[]): Promise<void> {
    const rows = calls.map((call) =>
      this.#journal(step, call, { state: "started", requires_approval: 0 }, "update"),
    );
    // What the stream has gained meanwhile can wait for the results: if those take long, the timer brings it out.
    this.#open = true;
    await this.#commit([...this.#stepWrites(step), ...rows], { quiet: true });
  }

  async settle(toolCallId: string, outcome: ToolOutcome): Promise<void> {
    const where = { run_id: this.runId, tool_call_id: toolCallId };
    await this.#commit(
      [
        {
          op: "update",
          table: CALLS,
          where,
          set: { state: "done", outcome: storeOutcome(outcome) as never },
        },
      ],
      { quiet: true },
    );
  }

  async border(
    step: StepRecord | undefined,
    { take, next }: { take: boolean; next: "continue" | "stop" },
  ): Promise<CreatedAgentSignal[]> {
    const { threadId, resourceId, system } = this.#thread;
    const letters = take ? await this.#letters() : [];
    const now = new Date(system.now());
    const signals = letters.map(({ signal }) => restamp(signal, now));
    const boundary = step && signals.length > 0 ? { mastra: { responseBoundary: true } } : undefined;
    const metadata = step?.metadata || boundary ? { ...step?.metadata, ...boundary } : undefined;
    const writes: Write[] = [
      ...(step ? this.#stepWrites({ ...step, metadata }) : []),
      ...this.#closeJournal(),
      ...signals.map((signal) => insertMessage(signal.toDBMessage({ threadId, resourceId }))),
      ...takeLetters(threadId, letters),
    ];
    if (!step && writes.length === 0) return [];
    const progress = step && {
      step: step.stepNumber + 1,
      next: signals.length > 0 ? "continue" : next,
      usage: step.usage as never,
      // What follows signals is a message of its own.
      ...(signals.length > 0 ? { response_id: null, response_steps: null } : this.#place(step)),
    };
    await this.#commit(writes, { run: progress });
    if (step) this.#countStep(step);
    this.#open = false;
    return signals;
  }

  async suspend(step: StepRecord, waiting: readonly OpenCall[]): Promise<void> {
    const { threadId, system } = this.#thread;
    const rows = waiting.flatMap((call, position): Write[] => {
      const columns: Row = {
        state: "waiting",
        requires_approval: call.requiresApproval ? 1 : 0,
        suspend_payload: (call.suspendPayload ?? null) as never,
        resume_schema: call.resumeSchema,
        outcome: null,
        decision: null,
      };
      const ran = {
        run_id: this.runId,
        tool_call_id: call.toolCallId,
        state: { in: ["started", "done"] },
      };
      return [
        // One that waits already may have been decided since this run looked: that stands.
        this.#journal(step, { ...call, position }, columns, "ignore"),
        { op: "update", table: CALLS, where: ran, set: columns },
      ];
    });
    const open = new Set(waiting.map((call) => call.toolCallId));
    const answered = step.parts.flatMap((part) =>
      part.type === "tool-invocation" && !open.has(part.toolInvocation.toolCallId)
        ? [part.toolInvocation.toolCallId]
        : [],
    );
    this.#open = true;
    await this.#commit(
      [
        ...this.#stepWrites(step),
        // Answers that are in the step need no journal any more.
        { op: "delete", table: CALLS, where: { run_id: this.runId, tool_call_id: { in: answered } } },
        ...rows,
        { op: "update", table: ACTORS, where: { thread_id: threadId }, set: { run_state: "suspended" } },
      ],
      {
        run: {
          state: "suspended",
          suspended_at: Math.trunc(system.now()),
          usage: step.usage as never,
          ...this.#place(step),
        },
      },
    );
    this.#countStep(step);
  }

  async park(): Promise<void> {
    const { threadId } = this.#thread;
    await this.#commit([], {
      last: (nextSeq) => [
        {
          op: "update",
          table: ACTORS,
          where: { thread_id: threadId },
          set: { owner: null, next_seq: nextSeq },
        },
      ],
    });
    this.#leave();
  }

  async end(end: RunEnd): Promise<boolean> {
    const { threadId, system } = this.#thread;
    if (!this.#lease) {
      this.#leave();
      return true;
    }
    const guard: Write[] = end.mayContinue
      ? [
          {
            op: "require",
            table: MAILBOX,
            where: { thread_id: threadId, due: NOW, agent_id: this.#options.agentId },
            exists: false,
          },
        ]
      : [];
    const opener = this.#begun || !this.#opener ? [] : this.#storeOpener(this.#opener);
    const unanswered = end.state === "done" ? [] : await this.#answerOpenCalls(end.state);
    const now = Math.trunc(system.now());
    const error =
      end.error === undefined
        ? null
        : { code: AgentError.is(end.error) ? end.error.code : "internal", message: errorMessage(end.error) };
    const idle = { owner: null, run_id: null, run_state: "idle", agent_id: null, abort_run: null };
    try {
      await this.#commit(
        [...guard, ...opener, ...unanswered, ...this.#closeJournal(), touchThread(threadId, now)],
        {
          run: { state: end.state, ended_at: now, error },
          chunks: end.chunks.map(toBroadcast),
          explain: (index) => {
            if (guard.length > 0 && index === 0) return new LettersWaiting();
            return index - guard.length < opener.length ? new OpenerGone() : undefined;
          },
          last: (nextSeq) => [
            {
              op: "update",
              table: ACTORS,
              where: { thread_id: threadId },
              set: { ...idle, next_seq: nextSeq },
            },
            ...this.#thread.prune(now),
            ...(this.#thread.limits.keepHistory ? [] : this.#forgetHistory()),
          ],
        },
      );
    } catch (thrown) {
      if (thrown instanceof LettersWaiting) {
        this.#thread.mayHaveLetters = true;
        return false;
      }
      if (!(thrown instanceof OpenerGone)) throw thrown;
      // It had begun after all: the store had done it and not said so.
      this.#begun = true;
      return this.end(end);
    }
    this.#leave();
    return true;
  }

  /** However a run ends, it leaves no call without an answer. */
  async #answerOpenCalls(state: "failed" | "aborted"): Promise<Write[]> {
    if (!this.#open) return [];
    const { storage, threadId } = this.#thread;
    const [call] = await storage.select({ table: CALLS, where: { run_id: this.runId }, limit: 1 });
    if (!call) return [];
    const where = { message_id: call["message_id"] as string, step: call["message_step"] as number };
    const [row] = await storage.select({ table: MESSAGE_STEPS, where, limit: 1 });
    const parts = (row?.["parts"] ?? []) as unknown as MessagePart[];
    for (const part of parts) {
      if (part.type !== "tool-invocation") continue;
      const { toolInvocation } = part;
      if (toolInvocation.state !== "call" && toolInvocation.state !== "approval-requested") continue;
      const result = `The run ${state === "failed" ? "failed" : "was aborted"} before this call was answered.`;
      Object.assign(toolInvocation, { state: "output-error", result, isError: true });
    }
    return [putStep({ messageId: where.message_id, threadId, step: where.step, parts })];
  }

  /** A run that ends before it began has still been opened by somebody, who was told that the message is safe. */
  #storeOpener(letter: Letter): Write[] {
    const { threadId, resourceId, system } = this.#thread;
    const now = new Date(system.now());
    return [
      ...takeLetters(threadId, [letter]),
      insertThread({ id: threadId, resourceId, createdAt: now, updatedAt: now, ...this.#options.create }),
      insertMessage(restamp(letter.signal, now).toDBMessage({ threadId, resourceId })),
    ];
  }

  abandon(): void {
    this.#leave();
  }

  async replace(messages: readonly StoredMessage[]): Promise<void> {
    if (messages.length === 0) return;
    const { threadId, resourceId } = this.#thread;
    await this.#commit(messages.flatMap((message) => replaceMessage({ ...message, threadId, resourceId })));
  }

  async recent(): Promise<StoredMessage[]> {
    const { threadId, resourceId, storage } = this.#thread;
    const memory = await storage.getStore("memory");
    const messages = (await memory?.recentMessages({ threadId, limit: RECENT })) ?? [];
    return messages.filter((message) => message.resourceId === resourceId);
  }

  #stepWrites(step: StepRecord): Write[] {
    const { threadId, resourceId } = this.#thread;
    const { message, metadata } = step;
    const index = this.#stepsOf(message.id);
    const writes: Write[] = [];
    if (index === 0) {
      // Before the tools ran and after them: the second time it is there.
      const content = { ...message.content, parts: [], ...(metadata && { metadata }) };
      writes.push(insertMessage({ ...message, threadId, resourceId, content }, "ignore"));
    }
    if (metadata) writes.push(setMessageMetadata(message.id, metadata));
    writes.push(putStep({ messageId: message.id, threadId, step: index, parts: step.parts }));
    return writes;
  }

  /** Where in the history a step is. */
  #place(step: StepRecord): Row {
    return { response_id: step.message.id, response_steps: this.#stepsOf(step.message.id) };
  }

  #journal(step: StepRecord, call: CallIntent, columns: Row, onConflict: "update" | "ignore"): Write {
    return {
      op: "insert",
      table: CALLS,
      onConflict,
      row: {
        run_id: this.runId,
        tool_call_id: call.toolCallId,
        thread_id: this.#thread.threadId,
        step: step.stepNumber,
        message_id: step.message.id,
        message_step: this.#stepsOf(step.message.id),
        position: call.position,
        tool_name: call.toolName,
        args: (call.args ?? null) as never,
        args_hash: hashArgs(call.toolName, call.args),
        ...columns,
      },
    };
  }

  /** The results are in the history: the journal of the step goes. */
  #closeJournal(): Write[] {
    return this.#open ? [{ op: "delete", table: CALLS, where: { run_id: this.runId } }] : [];
  }

  #stepsOf(messageId: string): number {
    return this.#lease?.responseSteps.get(messageId) ?? 0;
  }

  #forgetHistory(): Write[] {
    const where = { thread_id: this.#thread.threadId };
    return [MESSAGES, MESSAGE_STEPS, RUNS, THREADS].map((table): Write => ({
      op: "delete",
      table,
      where: table === THREADS ? { id: where.thread_id } : where,
    }));
  }

  #countStep(step: StepRecord): void {
    this.#lease?.responseSteps.set(step.message.id, this.#stepsOf(step.message.id) + 1);
  }

  /** Signals that wait for this run. Asked of the store only when something may have come. */
  async #letters(): Promise<Letter[]> {
    const { thread } = this.#options;
    if (!thread.mayHaveLetters) return [];
    thread.mayHaveLetters = false;
    const letters = await readLetters(thread.storage, thread.threadId, {
      due: NOW,
      agentId: this.#options.agentId,
      limit: LETTERS_PER_STEP,
    });
    if (letters.length > 0) thread.mayHaveLetters = true;
    return letters;
  }

  /**
   * One transaction: the fence, the writes and the chunks so far. Commits of a run follow each other, so numbers rise
   * without a gap.
   */
  #commit(writes: readonly Write[], options: CommitOptions = {}): Promise<void> {
    const turn = this.#commits.then(() => this.#commitNow(writes, options));
    this.#commits = turn.catch(() => {});
    return turn;
  }

  async #commitNow(writes: readonly Write[], options: CommitOptions): Promise<void> {
    const { run, explain, last, quiet, chunks: lastChunks = [] } = options;
    const { threadId, storage, system } = this.#thread;
    const lease = this.#lease;
    if (!lease || this.#over) throw superseded(threadId);
    const buffered = quiet ? 0 : this.#buffer.length;
    const chunks = [...this.#buffer.slice(0, buffered), ...lastChunks];
    // Another commit has taken along what this one was for.
    if (writes.length === 0 && chunks.length === 0 && !run && !last) return;
    const held = { id: this.runId, fence: lease.fence };
    const fence: Write = run
      ? { op: "update", table: RUNS, where: held, set: run, require: true }
      : { op: "require", table: RUNS, where: held, exists: true };
    const nextSeq = lease.nextSeq + chunks.length;
    const all: Write[] = [fence, ...writes];
    if (chunks.length > 0) all.push(insertEvents(threadId, this.runId, lease.nextSeq, chunks, system.now()));
    if (last) all.push(...last(nextSeq));
    try {
      await storage.commit(all);
    } catch (error) {
      if (!AgentError.is(error, "conflict")) throw storageError(error);
      const index = error.details?.["index"] as number;
      const explained = index === 0 ? undefined : explain?.(index - 1);
      if (explained) throw explained;
      // The fence, or something this run should know: the store is ahead of us. Whoever looks next goes by the store.
      this.abandon();
      throw superseded(threadId);
    }
    if (chunks.length === 0) return;
    this.#buffer.splice(0, buffered);
    this.#flushedAt = system.monotonic();
    this.#thread.tail.append(lease.nextSeq, chunks);
    lease.nextSeq = nextSeq;
  }

  #flush(): void {
    this.#flushTimer = undefined;
    if (this.#buffer.length === 0 || this.#over || !this.#lease) return;
    // What cannot be flushed now goes with the next commit, which reports what is wrong.
    this.#commit([]).catch(() => {});
  }

  #leave(): void {
    if (this.#over) return;
    this.#over = true;
    this.#flushTimer?.();
    this.#thread.left(this);
  }
}

interface CommitOptions {
  /** Changes to the run's own row. */
  run?: Row | undefined;
  /** Names the error for a condition of the writes that failed. */
  explain?: (index: number) => unknown;
  /** Writes that come last and know the number of the next event. */
  last?: (nextSeq: number) => Write[];
  /** Leaves the chunks for a later commit. */
  quiet?: boolean;
  /** Chunks that become visible with this commit or not at all. */
  chunks?: readonly AgentChunk[];
}

class LettersWaiting {}
class OpenerGone {}
class LostRace {}

/** A signal enters the history when it is taken; `acceptedAt` keeps the time it was sent. */
function restamp(signal: CreatedAgentSignal, now: Date): CreatedAgentSignal {
  signal.createdAt = now;
  return signal;
}

function superseded(threadId: string): AgentError {
  return new AgentError(
    "superseded",
    `Thread "${threadId}" was taken over by another process; this run is over.`,
  );
}

function storeOutcome(outcome: ToolOutcome): unknown {
  return outcome.kind === "error"
    ? { kind: "error", error: { message: errorMessage(outcome.error) } }
    : outcome;
}
