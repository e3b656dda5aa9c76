import { AgentError, storageError } from "../../errors.ts";
import { toJson } from "../../json.ts";
import type { CommitContribution } from "../../memory/memory.ts";
import type { Commit, Row, Storage, Write } from "../../storage/storage.ts";
import { toJsonWrite } from "../../storage/json-write.ts";
import type { System } from "../../system.ts";
import { Flusher } from "./flusher.ts";
import type { Tail } from "./tail.ts";

/** The right to carry out a run, and the stored position of its log. */
export interface Lease {
  fence: number;
  nextSeq: number;
  /** The writes that take the thread, if the run only read it as free: they precede the first commit. */
  taking?: readonly Write[] | undefined;
}

/** Another process was faster: the thread changed since it was read, and nothing was stored. */
export class NotTaken extends Error {}

/** The run that a log belongs to: where its rows are. */
export interface LogSubject<Chunk extends object> {
  readonly storage: Storage;
  readonly system: System;
  readonly tail: Pick<Tail<Chunk>, "append">;
  /** The key of its commits: the thread, or the run itself. */
  readonly key: string;
  readonly runId: string;
  /** This process. */
  readonly owner: string;
  /** Fast steps: the first chunk after a pause waits for the next beat, too, so that it can go with a commit. */
  readonly patient?: boolean;
  /** The condition of everything that the run writes, with changes to its row. */
  fence(fence: number, run: Row | undefined): Write;
  /** The writes that take the thread, with changes to the row of the run that they insert. */
  take(taking: readonly Write[], run: Row | undefined): readonly Write[];
  /** The error for a failed condition of the writes that take the thread. */
  notTaken(write: Write | undefined): Error;
  insertEvents(
    first: number,
    chunks: readonly Chunk[],
    at: { now: number; rests: boolean; row: Row | undefined },
  ): Write;
  /** The run ends without new events. */
  restAfter(last: number, now: number): Write;
  /** A chunk as readers may see it. */
  toBroadcast(chunk: Chunk): Chunk;
  /** Another process took over. */
  superseded(): AgentError;
}

/** Writes that need no separate commit: they go with the next one. */
export interface Staged {
  writes: readonly Write[];
  run: Row;
  /** Returns the error for a failed condition of the writes. */
  explain?: (index: number) => unknown;
  /** Called when they are stored. */
  onStored?: () => void;
}

export interface LogCommit<Chunk> {
  /** Changes to the run's own row. */
  run?: Row | undefined;
  /** Returns the error for a failed condition of the writes. */
  explain?: (index: number) => unknown;
  /** Writes that come last and know the number of the next event. */
  last?: (nextSeq: number) => Write[];
  /** Returns the error for a failed condition of these. */
  explainLast?: () => unknown;
  /** Leaves the chunks for a later commit, for a run that has not begun. */
  quiet?: boolean;
  /** Shares a round trip with what other threads flush at the same moment. */
  isFlush?: boolean;
  /** Chunks that become visible with this commit or not at all. */
  chunks?: readonly Chunk[];
  /** More columns of the row that has the chunks. */
  row?: Row;
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
export class FencedLog<Chunk extends object> {
  readonly #onLost: () => void;
  #subject: LogSubject<Chunk>;
  #lease: Lease | undefined;
  #buffer: Chunk[] = [];
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
  constructor(subject: LogSubject<Chunk>, onLost: () => void) {
    this.#subject = subject;
    this.#onLost = onLost;
    this.#flusher = Flusher.of(subject.storage, subject.system);
  }

  use(subject: LogSubject<Chunk>): void {
    this.#subject = subject;
  }

  open(lease: Lease): void {
    this.#lease = lease;
  }

  /** Nothing of a run is published before its input is stored: until then it may still start again elsewhere. */
  makeAudible(): void {
    this.#audible = true;
    if (this.#buffer.length > 0) this.#flushWhenDue();
  }

  publish(chunk: Chunk): void {
    if (this.#closed) return;
    this.#buffer.push(this.#subject.toBroadcast(chunk));
    if (this.#audible) this.#flushWhenDue();
  }

  #flushWhenDue(): void {
    if (this.#buffer.length >= MAX_BUFFERED) {
      this.#cancelFlush?.();
      return this.#flush();
    }
    const since = this.#subject.patient ? Number.POSITIVE_INFINITY : this.#flushedAt;
    this.#cancelFlush ??= this.#flusher.whenDue(since, () => this.#flush());
  }

  /** Nothing becomes visible before what is staged: chunks cannot overtake it. */
  stage(staged: Staged): void {
    this.#staged = [...this.#staged, staged];
  }

  /** Drops what was published of a run that must start again, except what `keep` selects. */
  rewind(keep: (chunk: Chunk) => boolean): void {
    this.#buffer = this.#buffer.filter(keep);
  }

  /** What was staged could not be stored and must not block the rest. */
  dropStaged(): void {
    this.#staged = [];
  }

  commit(writes: readonly Write[], options: LogCommit<Chunk> = {}): Promise<void> {
    const turn = this.#commits.then(() => this.#commitNow(writes, options));
    this.#commits = turn.catch(() => {});
    return turn;
  }

  close(): void {
    this.#closed = true;
    this.#cancelFlush?.();
  }

  async #commitNow(writes: readonly Write[], options: LogCommit<Chunk>): Promise<void> {
    const {
      explain,
      last,
      explainLast,
      quiet,
      isFlush,
      ends: rests = false,
      chunks: lastChunks = [],
    } = options;
    const staged = this.#staged;
    const isStaged = staged.length > 0;
    const run =
      isStaged || options.run ? Object.assign({}, ...staged.map((one) => one.run), options.run) : undefined;
    const subject = this.#subject;
    const { key, storage, system } = subject;
    const lease = this.#lease;
    if (!lease || this.#closed) throw subject.superseded();
    // What is staged becomes visible with the chunks about it.
    const buffered = quiet && !isStaged ? 0 : this.#buffer.length;
    const chunks = this.#buffer.slice(0, buffered);
    for (const chunk of lastChunks) chunks.push(subject.toBroadcast(chunk));
    // Another commit has already included what this one was for.
    const { taking = NOTHING } = lease;
    if (writes.length === 0 && chunks.length === 0 && !run && !last && taking.length === 0) return;
    const nextSeq = lease.nextSeq + chunks.length;
    const all = taking.length > 0 ? [...subject.take(taking, run)] : [subject.fence(lease.fence, run)];
    const fences = all.length;
    for (const one of staged) all.push(...one.writes);
    // There may be too many for the arguments of a call.
    for (const write of writes) all.push(write);
    const added = this.contribution && this.#contribution(all.slice(fences), options);
    if (added) all.push(...added.writes);
    const now = system.now();
    if (chunks.length > 0)
      all.push(subject.insertEvents(lease.nextSeq, chunks, { now, rests, row: options.row }));
    else if (rests) all.push(subject.restAfter(lease.nextSeq - 1, now));
    const beforeLast = all.length;
    if (last) all.push(...last(nextSeq));
    let shown: readonly Chunk[] = chunks;
    try {
      // All commits of a run share the thread as their key; the id distinguishes them if a response is lost. Until the
      // thread is taken, another process may try the same.
      const by = taking.length > 0 ? ` ${subject.owner}` : "";
      const id = `${subject.runId} ${lease.fence} ${++this.#count}${by}`;
      const send = (commit: Commit): Promise<unknown> =>
        isFlush ? this.#flusher.commit(commit) : storage.commit(commit.writes, commit);
      if (!(await commitJson(send, { key, id, writes: all })))
        shown = chunks.map((chunk) => toJson(chunk) as unknown as Chunk);
    } catch (error) {
      if (!AgentError.is(error, "conflict")) throw storageError(error);
      const index = error.details?.["index"] as number;
      if (index < taking.length) throw subject.notTaken(taking[index]);
      const parts = [...staged, { writes, ...(explain && { explain }) }];
      const explained = index < beforeLast ? explainConflict(parts, index - fences) : explainLast?.();
      if (explained) throw explained;
      // The fence, or something this run should know: the store is ahead of us. The next check goes by the store.
      this.#onLost();
      throw subject.superseded();
    }
    lease.taking = undefined;
    // What comes after the end is not written, however long the caller takes to hear of it.
    if (rests) this.close();
    added?.stored();
    if (isStaged) this.#staged = this.#staged.filter((one) => !staged.includes(one));
    for (const one of staged) one.onStored?.();
    if (chunks.length > 0) {
      this.#buffer.splice(0, buffered);
      this.#flushedAt = system.monotonic();
      subject.tail.append(lease.nextSeq, shown);
      lease.nextSeq = nextSeq;
    }
  }

  #contribution(
    writes: readonly Write[],
    { ends = false }: LogCommit<Chunk>,
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

const NOTHING: readonly Write[] = [];

/** Finds the owner of the failed write. */
function explainConflict(parts: readonly Pick<Staged, "writes" | "explain">[], index: number): unknown {
  for (const { writes, explain } of parts) {
    if (index < writes.length) return index < 0 ? undefined : explain?.(index);
    index -= writes.length;
  }
  return undefined;
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
