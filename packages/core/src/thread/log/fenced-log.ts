import type { AgentChunk } from "@selvedge/protocol";
import { AgentError, storageError } from "../../errors.ts";
import { toJson } from "../../json.ts";
import type { CommitContribution } from "../../memory/memory.ts";
import type { Commit, CommitResult, Row, Write } from "../../storage/storage.ts";
import { toJsonWrite } from "../../storage/json-write.ts";
import { noThread } from "../../storage/no-thread.ts";
import { THREADS } from "../../storage/tables.ts";
import { RUNS } from "../../storage/thread-tables.ts";
import { insertEvents, restAfter, toBroadcast } from "./event-log.ts";
import { Flusher } from "./flusher.ts";
import type { Thread } from "../hold/thread.ts";
import { requireRow, update } from "../../storage/writes.ts";

/** The right to run a thread, and the stored position of its run. */
export interface Lease {
  fence: number;
  nextSeq: number;
  /** The writes that take the thread, if the run only read it as free: they precede the first commit. */
  taking?: readonly Write[] | undefined;
}

/** Another process was faster: the thread changed since it was read, and nothing was stored. */
export class NotTaken extends Error {}

/** Writes that need no separate commit: they go with the next one. */
export interface Staged {
  writes: readonly Write[];
  run: Row;
  /** Returns the error for a failed condition of the writes. */
  explain?: (index: number) => unknown;
  /** Called when they are stored. */
  onStored?: () => void;
}

export interface LogCommit {
  /** Changes to the run's own row. */
  run?: Row | undefined;
  /** Returns the error for a failed condition of the writes. */
  explain?: (index: number) => unknown;
  /** Writes that come last and know the number of the next event. */
  last?: (nextSeq: number) => Write[];
  /** Leaves the chunks for a later commit. */
  quiet?: boolean;
  /** Shares a round trip with what other threads flush at the same moment. */
  isFlush?: boolean;
  /** Chunks that become visible with this commit or not at all. */
  chunks?: readonly AgentChunk[];
  /** The run ends with it. */
  ends?: boolean;
}

/** The most chunks that wait for the next flush. */
const MAX_BUFFERED = 512;

/**
 * Everything a run writes goes through here, in order. Each commit carries the fence and the chunks the stream has
 * gained, so numbers rise without a gap, the log and the history never disagree, and a process that lost the thread
 * finds out at its next write.
 */
export class FencedLog {
  readonly #runId: string;
  readonly #onLost: () => void;
  #thread: Thread;
  #lease: Lease | undefined;
  #buffer: AgentChunk[] = [];
  #staged: readonly Staged[] = [];
  #commits: Promise<unknown> = Promise.resolve();
  readonly #flusher: Flusher;
  #cancelFlush: (() => void) | undefined;
  #flushedAt = Number.NEGATIVE_INFINITY;
  #count = 0;
  #audible = false;
  #closed = false;
  /** What the memory adds to commits. */
  contribution: CommitContribution | undefined;

  /** `onLost` is called when the store turns out to be ahead of this run. */
  constructor(thread: Thread, runId: string, onLost: () => void) {
    this.#thread = thread;
    this.#runId = runId;
    this.#onLost = onLost;
    this.#flusher = Flusher.of(thread.storage, thread.system);
  }

  use(thread: Thread): void {
    this.#thread = thread;
  }

  open(lease: Lease): void {
    this.#lease = lease;
  }

  /** Nothing of a run is published before its input is stored: until then it may still start again elsewhere. */
  makeAudible(): void {
    this.#audible = true;
    if (this.#buffer.length > 0) this.#flushWhenDue();
  }

  publish(chunk: AgentChunk): void {
    if (this.#closed) return;
    this.#buffer.push(toBroadcast(chunk));
    if (this.#audible) this.#flushWhenDue();
  }

  #flushWhenDue(): void {
    if (this.#buffer.length >= MAX_BUFFERED) {
      this.#cancelFlush?.();
      return this.#flush();
    }
    this.#cancelFlush ??= this.#flusher.whenDue(this.#flushedAt, () => this.#flush());
  }

  /** Nothing becomes visible before what is staged: chunks cannot overtake it. */
  stage(staged: Staged): void {
    this.#staged = [...this.#staged, staged];
  }

  /** Drops what was published of a run that must start again, except that it starts. */
  rewind(): void {
    this.#buffer = this.#buffer.filter(({ type }) => type === "start");
  }

  /** What was staged could not be stored and must not block the rest. */
  dropStaged(): void {
    this.#staged = [];
  }

  /** Returns how many rows each of the `last` writes changed, if the store reported it. */
  commit(writes: readonly Write[], options: LogCommit = {}): Promise<readonly number[]> {
    const turn = this.#commits.then(() => this.#commitNow(writes, options));
    this.#commits = turn.catch(() => {});
    return turn;
  }

  close(): void {
    this.#closed = true;
    this.#cancelFlush?.();
  }

  async #commitNow(writes: readonly Write[], options: LogCommit): Promise<readonly number[]> {
    const { explain, last, quiet, isFlush, ends: rests = false, chunks: lastChunks = [] } = options;
    const staged = this.#staged;
    const isStaged = staged.length > 0;
    const run =
      isStaged || options.run ? Object.assign({}, ...staged.map((one) => one.run), options.run) : undefined;
    const { threadId, storage, system } = this.#thread;
    const lease = this.#lease;
    if (!lease || this.#closed) throw superseded(threadId);
    // What is staged becomes visible with the chunks about it.
    const buffered = quiet && !isStaged ? 0 : this.#buffer.length;
    const chunks = [...this.#buffer.slice(0, buffered), ...lastChunks.map(toBroadcast)];
    // Another commit has already included what this one was for.
    const { taking = [] } = lease;
    if (writes.length === 0 && chunks.length === 0 && !run && !last && taking.length === 0) return [];
    const nextSeq = lease.nextSeq + chunks.length;
    const fence = taking.length > 0 ? withRun(taking, run) : [this.#fence(lease, run)];
    const parts: Pick<Staged, "writes" | "explain">[] = [...staged, { writes, ...(explain && { explain }) }];
    const all: Write[] = [...fence, ...parts.flatMap((part) => part.writes)];
    const added = this.#contribution(all.slice(fence.length), options);
    if (added) all.push(...added.writes);
    const now = system.now();
    if (chunks.length > 0)
      all.push(insertEvents(threadId, this.#runId, lease.nextSeq, chunks, { now, rests }));
    else if (rests) all.push(restAfter(threadId, lease.nextSeq - 1, now));
    const beforeLast = all.length;
    if (last) all.push(...last(nextSeq));
    let shown: readonly AgentChunk[] = chunks;
    let result: CommitResult | undefined;
    try {
      // All commits of a run share the thread as their key; the id distinguishes them if a response is lost. Until the
      // thread is taken, another process may try the same.
      const by = taking.length > 0 ? ` ${this.#thread.owner}` : "";
      const id = `${this.#runId} ${lease.fence} ${++this.#count}${by}`;
      const send = async (commit: Commit): Promise<void> => {
        if (isFlush) await this.#flusher.commit(commit);
        else result = await storage.commit(commit.writes, commit);
      };
      if (!(await commitJson(send, { key: threadId, id, writes: all })))
        shown = chunks.map((chunk) => toJson(chunk) as unknown as AgentChunk);
    } catch (error) {
      if (!AgentError.is(error, "conflict")) throw storageError(error);
      const index = error.details?.["index"] as number;
      if (index < taking.length)
        throw taking[index]?.table === THREADS
          ? noThread(this.#thread.threadId, this.#thread.resourceId)
          : new NotTaken();
      const explained = explainConflict(parts, index - fence.length);
      if (explained) throw explained;
      // The fence, or something this run should know: the store is ahead of us. The next check goes by the store.
      this.#onLost();
      throw superseded(threadId);
    }
    lease.taking = undefined;
    added?.stored();
    this.#staged = this.#staged.filter((one) => !staged.includes(one));
    for (const one of staged) one.onStored?.();
    if (chunks.length > 0) {
      this.#buffer.splice(0, buffered);
      this.#flushedAt = system.monotonic();
      this.#thread.tail.append(lease.nextSeq, shown);
      lease.nextSeq = nextSeq;
    }
    return result?.changes.slice(beforeLast) ?? [];
  }

  /** The condition of everything that the run writes. */
  #fence({ fence }: Lease, run: Row | undefined): Write {
    const where = { id: this.#runId, fence };
    return run ? update(RUNS, { where, set: run, require: true }) : requireRow(RUNS, where);
  }

  #contribution(
    writes: readonly Write[],
    { ends = false }: LogCommit,
  ): ReturnType<CommitContribution["rows"]> {
    return writes.length > 0 || ends ? this.contribution?.rows(writes, { ends }) : undefined;
  }

  #flush(): void {
    this.#cancelFlush = undefined;
    if (this.#buffer.length === 0 || this.#closed || !this.#lease) return;
    // What cannot be flushed now goes with the next commit, which reports the error.
    this.commit([], { isFlush: true }).catch(() => {});
  }
}

/** Finds the owner of the failed write. */
function explainConflict(parts: readonly Pick<Staged, "writes" | "explain">[], index: number): unknown {
  for (const { writes, explain } of parts) {
    if (index < writes.length) return index < 0 ? undefined : explain?.(index);
    index -= writes.length;
  }
  return undefined;
}

/** Takes a thread with the final row of the run. */
function withRun(taking: readonly Write[], run: Row | undefined): readonly Write[] {
  return taking.map((write) =>
    write.op === "insert" && write.table.name === RUNS.name
      ? { ...write, row: { ...write.row, ...run } }
      : write,
  );
}

/**
 * A message may contain values that are not JSON: that costs the value, not the run. Returns whether everything was
 * JSON.
 */
async function commitJson(send: (commit: Commit) => Promise<unknown>, commit: Commit): Promise<boolean> {
  try {
    await send(commit);
    return true;
  } catch (error) {
    if (!AgentError.is(error, "invalid-argument")) throw error;
    await send({ ...commit, writes: commit.writes.map(toJsonWrite) });
    return false;
  }
}

function superseded(threadId: string): AgentError {
  return new AgentError(
    "superseded",
    `Thread "${threadId}" was taken over by another process; this run is over.`,
  );
}
