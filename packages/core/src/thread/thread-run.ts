import type { AgentChunk, StoredMessage } from "@selvedge/protocol";
import { AgentError, errorMessage } from "../errors.ts";
import type { OpenCall } from "../run/run.ts";
import type { CallIntent, RunEnd, RunThread, StepRecord } from "../run/run-thread.ts";
import type { CreatedAgentSignal } from "../signal/signal.ts";
import {
  insertMessage,
  insertThread,
  putStep,
  setMessageMetadata,
  touchThread,
} from "../storage/message-writes.ts";
import type { Write } from "../storage/storage.ts";
import { MESSAGES, THREADS } from "../storage/tables.ts";
import { ACTORS, CALLS, EVENTS, MAILBOX, RUNS } from "../storage/thread-tables.ts";
import type { ToolOutcome } from "../tool/execute-tool.ts";
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
  /** What the thread is created with, if it is new. */
  create: { title?: string; metadata?: Record<string, unknown> };
  /** The letter that opened the run. */
  opener: Letter | undefined;
  /** Takes the thread; given by who starts the run. */
  enter(abortSignal: AbortSignal): Promise<Lease>;
}

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
  #staged: Write[] = [];
  #buffer: AgentChunk[] = [];
  #commits: Promise<unknown> = Promise.resolve();
  #flushTimer: (() => void) | undefined;
  #flushedAt = Number.NEGATIVE_INFINITY;
  #begun = false;
  #over = false;

  constructor(options: ThreadRunOptions) {
    this.#options = options;
    this.#thread = options.thread;
    this.runId = options.runId;
    this.#opener = options.opener;
  }

  async acquire(abortSignal: AbortSignal): Promise<void> {
    this.#lease ??= await this.#options.enter(abortSignal);
  }

  /** For who starts the run with the thread already in hand. */
  hold(lease: Lease): void {
    this.#lease = lease;
  }

  async begin(input: readonly StoredMessage[]): Promise<CreatedAgentSignal[]> {
    const { threadId, resourceId, system } = this.#thread;
    const now = new Date(system.now());
    const folded = (await this.#letters()).filter((letter) => letter !== this.#opener);
    const letters = this.#opener ? [this.#opener, ...folded] : folded;
    const writes: Write[] = [
      {
        op: "require",
        table: THREADS,
        where: { id: threadId, resource_id: { ne: resourceId } },
        exists: false,
      },
      insertThread({ id: threadId, resourceId, createdAt: now, updatedAt: now, ...this.#options.create }),
    ];
    for (const message of input) {
      const elsewhere = { id: message.id, thread_id: { ne: threadId } };
      writes.push({ op: "require", table: MESSAGES, where: elsewhere, exists: false });
      writes.push(insertMessage({ ...message, threadId, resourceId }, "ignore"));
    }
    const signals = folded.map(({ signal }) => restamp(signal, now));
    for (const signal of signals) writes.push(insertMessage(signal.toDBMessage({ threadId, resourceId })));
    const first = input[0]?.id ?? signals[0]?.id ?? null;
    writes.push(...takeLetters(threadId, letters), touchThread(threadId, now.getTime()), {
      op: "update",
      table: RUNS,
      where: { id: this.runId },
      set: { first_message_id: first },
    });
    await this.#commit(writes, (index) => {
      if (index === 0)
        return new AgentError("not-found", `There is no thread "${threadId}" for resource "${resourceId}".`);
      return new AgentError(
        "invalid-message",
        "A message of this call has the id of a message on another thread. Leave the id out, or make it unique.",
      );
    });
    this.#begun = true;
    this.#opener = undefined;
    return signals;
  }

  publish(chunk: AgentChunk): void {
    if (this.#over) return;
    this.#buffer.push(toBroadcast(chunk));
    if (!this.#lease || this.#flushTimer) return;
    const { system } = this.#thread;
    const wait = this.#flushedAt + FLUSH_INTERVAL_MS - system.monotonic();
    if (wait > 0) this.#flushTimer = system.setTimer(wait, () => this.#flush());
    else {
      // The first chunk after a pause goes out at once, with all that this turn of the event loop still adds.
      this.#flushTimer = () => {};
      void Promise.resolve().then(() => this.#flush());
    }
  }

  stage(writes: readonly Write[]): void {
    this.#staged.push(...writes);
  }

  async intend(step: StepRecord, calls: readonly CallIntent[]): Promise<void> {
    const { threadId } = this.#thread;
    const intents = calls.map((call): Write => ({
      op: "insert",
      table: CALLS,
      onConflict: "update",
      row: {
        run_id: this.runId,
        tool_call_id: call.toolCallId,
        thread_id: threadId,
        step: step.stepNumber,
        position: call.position,
        tool_name: call.toolName,
        args: (call.args ?? null) as never,
        args_hash: hashArgs(call.toolName, call.args),
        state: "started",
        requires_approval: 0,
      },
    }));
    await this.#commit([...this.#stepWrites(step), ...intents]);
  }

  async settle(toolCallId: string, outcome: ToolOutcome): Promise<void> {
    await this.#commit([
      {
        op: "update",
        table: CALLS,
        where: { run_id: this.runId, tool_call_id: toolCallId },
        set: { state: "done", outcome: storeOutcome(outcome) as never },
      },
    ]);
  }

  async border(
    step: StepRecord | undefined,
    { take, next }: { take: boolean; next: "continue" | "stop" },
  ): Promise<CreatedAgentSignal[]> {
    const { threadId, resourceId, system } = this.#thread;
    const letters = take ? await this.#letters() : [];
    const now = new Date(system.now());
    const signals = letters.map(({ signal }) => restamp(signal, now));
    const writes: Write[] = [];
    if (step) {
      const boundary = signals.length > 0 ? { mastra: { responseBoundary: true } } : undefined;
      const metadata = step.metadata || boundary ? { ...step.metadata, ...boundary } : undefined;
      writes.push(
        ...this.#stepWrites({ ...step, metadata }),
        { op: "delete", table: CALLS, where: { run_id: this.runId, step: step.stepNumber } },
        {
          op: "update",
          table: RUNS,
          where: { id: this.runId },
          set: {
            step: step.stepNumber + 1,
            next: signals.length > 0 ? "continue" : next,
            usage: step.usage as never,
            // What follows the signals is a message of its own.
            ...(signals.length > 0 && { response_id: null, response_steps: null }),
          },
        },
      );
    }
    for (const signal of signals) writes.push(insertMessage(signal.toDBMessage({ threadId, resourceId })));
    writes.push(...takeLetters(threadId, letters));
    if (writes.length > 0 || this.#staged.length > 0) await this.#commit(writes);
    if (step) this.#countStep(step);
    return signals;
  }

  async suspend(step: StepRecord, waiting: readonly OpenCall[]): Promise<void> {
    const { threadId, system } = this.#thread;
    const now = Math.trunc(system.now());
    const rows = waiting.map((call, position): Write => ({
      op: "insert",
      table: CALLS,
      onConflict: "update",
      row: {
        run_id: this.runId,
        tool_call_id: call.toolCallId,
        thread_id: threadId,
        step: step.stepNumber,
        position,
        tool_name: call.toolName,
        args: (call.args ?? null) as never,
        args_hash: hashArgs(call.toolName, call.args),
        state: "waiting",
        requires_approval: call.requiresApproval ? 1 : 0,
        suspend_payload: (call.suspendPayload ?? null) as never,
        resume_schema: call.resumeSchema,
        outcome: null,
        decision: null,
      },
    }));
    await this.#commit([
      ...this.#stepWrites(step),
      // Answers that are in the step need no journal any more; what waits is written after.
      { op: "delete", table: CALLS, where: { run_id: this.runId, step: step.stepNumber } },
      ...rows,
      {
        op: "update",
        table: RUNS,
        where: { id: this.runId },
        set: { state: "suspended", suspended_at: now, usage: step.usage as never },
      },
      { op: "update", table: ACTORS, where: { thread_id: threadId }, set: { run_state: "suspended" } },
    ]);
    this.#countStep(step);
  }

  async park(): Promise<void> {
    const { threadId } = this.#thread;
    await this.#commit([], undefined, (nextSeq) => [
      {
        op: "update",
        table: ACTORS,
        where: { thread_id: threadId },
        set: { owner: null, next_seq: nextSeq },
      },
    ]);
    this.#leave();
  }

  async end(end: RunEnd): Promise<boolean> {
    const { threadId, system } = this.#thread;
    if (!this.#lease) {
      this.#leave();
      return true;
    }
    // Only an answer that went well has something to add; a run that failed leaves its letters to the next one.
    const guard: Write[] =
      end.state === "done"
        ? [{ op: "require", table: MAILBOX, where: { thread_id: threadId, due: NOW }, exists: false }]
        : [];
    const opener = this.#begun ? [] : takeLetters(threadId, this.#opener ? [this.#opener] : []);
    const now = Math.trunc(system.now());
    const error =
      end.error === undefined
        ? null
        : { code: AgentError.is(end.error) ? end.error.code : "internal", message: errorMessage(end.error) };
    const before = this.#buffer.length;
    this.#buffer.push(...end.chunks.map(toBroadcast));
    try {
      await this.#commit(
        [
          ...guard,
          ...opener,
          { op: "delete", table: CALLS, where: { run_id: this.runId } },
          {
            op: "update",
            table: RUNS,
            where: { id: this.runId },
            set: { state: end.state, ended_at: now, error },
          },
        ],
        (index) => (guard.length > 0 && index === 0 ? new LettersWaiting() : undefined),
        (nextSeq) => [
          {
            op: "update",
            table: ACTORS,
            where: { thread_id: threadId },
            set: {
              owner: null,
              run_id: null,
              run_state: "idle",
              agent_id: null,
              abort_run: null,
              next_seq: nextSeq,
            },
          },
          {
            op: "delete",
            table: EVENTS,
            where: { thread_id: threadId, created_at: { lt: now - this.#thread.limits.retentionMs } },
          },
        ],
      );
    } catch (thrown) {
      if (!(thrown instanceof LettersWaiting)) throw thrown;
      this.#buffer.splice(before, end.chunks.length);
      return false;
    }
    this.#leave();
    return true;
  }

  /** The thread is another process's now: nothing more is written. */
  abandon(): void {
    this.#leave();
  }

  #stepWrites(step: StepRecord): Write[] {
    const { threadId, resourceId, system } = this.#thread;
    const { message, metadata } = step;
    const index = this.#lease?.responseSteps.get(message.id) ?? 0;
    const writes: Write[] = [];
    if (index === 0) {
      const content = { ...message.content, parts: [], ...(metadata && { metadata }) };
      // Stored before the tools ran and again after them: the second time it is there.
      writes.push(insertMessage({ ...message, threadId, resourceId, content }, "ignore"));
      if (metadata) writes.push(setMessageMetadata(message.id, metadata));
    } else if (metadata) writes.push(setMessageMetadata(message.id, metadata));
    writes.push(
      putStep({ messageId: message.id, threadId, step: index, parts: step.parts }),
      touchThread(threadId, system.now()),
      {
        op: "update",
        table: RUNS,
        where: { id: this.runId },
        set: { response_id: message.id, response_steps: index },
      },
    );
    return writes;
  }

  #countStep(step: StepRecord): void {
    const steps = this.#lease?.responseSteps;
    steps?.set(step.message.id, (steps.get(step.message.id) ?? 0) + 1);
  }

  #letters(): Promise<Letter[]> {
    return readLetters(this.#thread.storage, this.#thread.threadId, { due: NOW, limit: LETTERS_PER_STEP });
  }

  /**
   * One transaction: the fence, the writes and the chunks so far. Commits of a run follow each other, so numbers rise
   * without a gap. `explain` names the error for a condition of `writes` that failed.
   */
  #commit(
    writes: readonly Write[],
    explain?: (index: number) => unknown,
    last?: (nextSeq: number) => Write[],
  ): Promise<void> {
    const turn = this.#commits.then(() => this.#commitNow(writes, explain, last));
    this.#commits = turn.catch(() => {});
    return turn;
  }

  async #commitNow(
    writes: readonly Write[],
    explain?: (index: number) => unknown,
    last?: (nextSeq: number) => Write[],
  ): Promise<void> {
    const { threadId, storage, system, owner } = this.#thread;
    const lease = this.#lease;
    if (!lease || this.#over) throw superseded(threadId);
    const chunks = this.#buffer.slice();
    const staged = this.#staged.slice();
    const fence: Write = {
      op: "require",
      table: ACTORS,
      where: { thread_id: threadId, owner, fence: lease.fence },
      exists: true,
    };
    const nextSeq = lease.nextSeq + chunks.length;
    const all: Write[] = [fence, ...staged, ...writes];
    if (chunks.length > 0) all.push(insertEvents(threadId, this.runId, lease.nextSeq, chunks, system.now()));
    if (last) all.push(...last(nextSeq));
    try {
      await storage.commit(all);
    } catch (error) {
      if (!AgentError.is(error, "conflict")) throw error;
      const index = (error.details?.["index"] as number) ?? 0;
      if (index === 0) {
        this.abandon();
        throw superseded(threadId);
      }
      throw explain?.(index - 1 - staged.length) ?? error;
    }
    this.#buffer.splice(0, chunks.length);
    this.#staged.splice(0, staged.length);
    this.#flushedAt = system.monotonic();
    if (chunks.length > 0) {
      this.#thread.tail.append(lease.nextSeq, chunks);
      lease.nextSeq = nextSeq;
    }
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

class LettersWaiting {}

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
