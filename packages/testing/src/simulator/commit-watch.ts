import type { CommitResult, Storage, Row, Write } from "@selvedge/core/storage";
import { NotificationWatch } from "./notification-watch.ts";
import { SessionWatch } from "./session-watch.ts";
import type { SimSessions } from "./sim-sessions.ts";
import type { SimProcess } from "./sim-process.ts";
import { ACTORS, CALLS, EVENTS, LANES, MAILBOX, MESSAGE_STEPS, RUNS } from "./tables.ts";

/** Watches commits take effect: what must never happen is found when it happens, and rare states are counted. */
export class CommitWatch {
  readonly #process: SimProcess;
  readonly #shared: Storage;
  readonly #inboxes: NotificationWatch;

  readonly #sessions: SessionWatch | undefined;

  constructor(process: SimProcess, shared: Storage, sessions: SimSessions | undefined) {
    this.#sessions = sessions && new SessionWatch(process, shared, sessions);
    this.#process = process;
    this.#shared = shared;
    this.#inboxes = new NotificationWatch(process, shared);
  }

  /** Applies a commit. `asked` is what the code wrote; `writes` may differ where a fault is planted. */
  apply(asked: readonly Write[], writes: readonly Write[]): Promise<CommitResult> {
    // The store in memory works while it is called: the state before, the change and the state after.
    const before = this.#look(asked);
    const recordsBefore = this.#inboxes.look(asked);
    const plan = this.#sessions?.look(asked);
    const done = this.#shared.commit(writes);
    const after = this.#look(asked);
    const recordsAfter = this.#inboxes.look(asked);
    return done.then(
      async (result) => {
        this.#checkChange(asked, await before, await after);
        this.#inboxes.check(asked, await recordsBefore, await recordsAfter);
        await this.#sessions?.check(asked, await plan);
        return result;
      },
      (error: unknown) => {
        this.#noteConflict(asked, (error as { details?: { index?: number } }).details?.index);
        throw error;
      },
    );
  }

  async #look(writes: readonly Write[]): Promise<State> {
    const threadId = threadOf(writes);
    const where = threadId === undefined ? { run_id: fenceOf(writes)?.id ?? "" } : { thread_id: threadId };
    const touchesLanes = threadId !== undefined && writes.some((write) => write.table === LANES);
    const [[actor], lanes, runs] = await Promise.all([
      this.#shared.select({ table: ACTORS, where }),
      touchesLanes ? this.#shared.select({ table: LANES, where }) : [],
      this.#shared.select({
        table: RUNS,
        where: threadId === undefined ? { id: fenceOf(writes)?.id ?? "" } : where,
      }),
    ]);
    return { actor, lanes, run: runs.find((run) => run["id"] === actor?.["run_id"]) };
  }

  #checkChange(writes: readonly Write[], before: State, after: State): void {
    const { world, name } = this.#process;
    const letters = writes.filter((write) => write.op === "insert" && write.table === MAILBOX);
    if (letters.length > 1) world.reached.add("several messages were admitted in one commit");
    const fence = fenceOf(writes);
    if (fence && !mayWrite(writes, fence, before)) {
      world.violate("I4", `${name} wrote as ${show(fence)} when the thread was at ${show(before.actor)}`);
    }
    const taken = before.actor?.["owner"] !== after.actor?.["owner"];
    if (taken) this.#checkTaking(before, after);
    else this.#checkKeeping(before, after);
    if (before.actor?.["run_id"] && writes.some((write) => write.op === "delete" && write.table === EVENTS))
      world.violate(
        "I10",
        `${name} deletes events of run ${show(before.actor["run_id"])}, which is not over`,
      );
    const ofRun = writes.some(
      (write) =>
        write.table === MESSAGE_STEPS ||
        (write.table === CALLS && write.op === "insert") ||
        (write.table === EVENTS && write.op === "insert"),
    );
    const owner = before.actor?.["owner"] ?? null;
    // A run that parked has no owner, and is still the one that may write until somebody takes it over.
    if (ofRun && !taken && owner !== null && owner !== name) {
      world.violate("I4", `${name} wrote a step of a run that ${show(owner)} owns`);
    }
    for (const write of writes) {
      if (write.table !== LANES) continue;
      const place = write.op === "insert" ? write.row : write.where;
      const versionIn = ({ lanes }: State) =>
        (lanes.find((lane) => lane["lane_id"] === place["lane_id"])?.["version"] ?? 0) as number;
      const [was, is] = [versionIn(before), versionIn(after)];
      if (is !== was + 1)
        world.violate("I8", `lane ${show(place["lane_id"])} went from version ${was} to ${is}`);
    }
  }

  #checkTaking(before: State, after: State): void {
    const { world } = this.#process;
    const fences = [before.actor?.["fence"] ?? 0, after.actor?.["fence"] ?? 0] as [number, number];
    const owner = before.actor?.["owner"];
    const heir = after.actor?.["owner"];
    if (heir !== null && fences[1] <= fences[0])
      world.violate("I4", `a thread went to ${show(heir)} with fence ${fences[1]} after ${fences[0]}`);
    if (typeof owner !== "string" || typeof heir !== "string") return;
    const old = world.processes.find((process) => process.name === owner);
    if (!old?.alive) world.reached.add("a run was taken over from a process that died");
    else if (old.pausedUntil > world.time)
      world.reached.add("a run was taken over from a process that stood still");
    else world.reached.add("a run was taken over from a process that lives");
  }

  /** Only a store that fails makes a process take a run from itself. */
  #checkKeeping(before: State, after: State): void {
    const { world, name } = this.#process;
    const { failedCommit, failedRead, unsureCommit } = world.plan;
    // The fence of the thread also rises when somebody changes what waits there; that of the run does not.
    if (before.actor?.["owner"] !== name || before.run?.["id"] !== after.run?.["id"]) return;
    if (before.run?.["fence"] === after.run?.["fence"]) return;
    world.reached.add("a process took its own run up again");
    if (failedCommit + failedRead + unsureCommit === 0) {
      world.violate("I4", `${name} took run ${show(before.actor["run_id"])} from itself`);
    }
  }

  #noteConflict(writes: readonly Write[], index: number | undefined): void {
    const failed = index === undefined ? undefined : writes[index];
    const { reached } = this.#process.world;
    if (!failed) return;
    if (fenceOf([failed])) reached.add("a run was superseded");
    else if (failed.op === "require" && failed.table === MAILBOX)
      reached.add("a message came while its run was ending");
    else if (failed.op === "require" && failed.table === ACTORS && "abort_run" in failed.where)
      reached.add("a decision came after its run ended");
    else if (failed.op === "require" && failed.table === ACTORS)
      reached.add("a thread changed while a message was admitted");
    else if (failed.op === "update" && failed.table === ACTORS && "run_id" in failed.where)
      reached.add("two processes wanted the same thread");
    else if (failed.table === LANES) reached.add("two states of a lane met");
    else if (failed.table === CALLS) reached.add("two decisions about a call met");
  }
}

interface State {
  actor: Row | undefined;
  /** The active run. */
  run: Row | undefined;
  lanes: Row[];
}

/** The thread a commit is about. */
function threadOf(writes: readonly Write[]): string | undefined {
  for (const write of writes) {
    // Rows of observational memory may be those of a resource.
    if (write.table.name.startsWith("selvedge_om_")) continue;
    // A run that ends also aborts its subagents, on their threads.
    if (write.op === "update" && write.table === ACTORS && write.set?.["abort_run"]) continue;
    const place = write.op === "insert" ? write.row : write.where;
    const id = place["thread_id"];
    if (typeof id === "string") return id;
  }
  return undefined;
}

/** Whether the thread is the run's before the commit, or free for the commit to take it. */
function mayWrite(
  writes: readonly Write[],
  { id, fence }: { id: string; fence: number },
  { actor, run }: State,
): boolean {
  const takes = writes.some(
    (write) => write.op === "insert" && write.table === RUNS && write.row["id"] === id,
  );
  return takes
    ? (actor?.["run_id"] ?? null) === null && (actor?.["fence"] ?? 0) === fence - 1
    : run?.["fence"] === fence && actor?.["run_id"] === id;
}

/** The condition that every commit of a run carries. */
function fenceOf(writes: readonly Write[]): { id: string; fence: number } | undefined {
  for (const write of writes) {
    if (write.op === "insert" || write.table !== RUNS || !("fence" in write.where)) continue;
    return write.where as { id: string; fence: number };
  }
  return undefined;
}

function show(value: unknown): string {
  return JSON.stringify(value);
}
