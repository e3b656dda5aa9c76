import { AgentError } from "../../errors.ts";
import type { StoredOptions } from "../../run/stored-options.ts";
import { noThread } from "../../storage/no-thread.ts";
import type { CommitResult, Write } from "../../storage/storage.ts";
import { THREADS } from "../../storage/tables.ts";
import { type ActorRow, ACTORS, RUNS } from "../../storage/thread-tables.ts";
import { insert, remove, requireNone, update } from "../../storage/writes.ts";
import type { Lease } from "../../actor/log/fenced-log.ts";
import { type Actor, newActor } from "./actor.ts";
import type { Thread } from "./thread.ts";

/** What is stored of a run when it starts. */
export interface RunTicket {
  runId: string;
  agentId: string;
  options: StoredOptions;
  /** A run of this process waits for it, so it does not wait for a free place. */
  nested?: boolean;
  /** Somebody was faster once: now the thread is taken before the input is prepared. */
  takesFirst?: boolean;
  /** The run may be one that was given up before it took anything in: it is opened again under its own id. */
  again?: boolean;
}

/** What takes a thread for a run, and the right that it gives. */
export interface Taking {
  run: { runId: string; agentId: string };
  writes: readonly Write[];
  lease: Lease;
}

/** Takes a thread. Returns `undefined` if another process was faster. */
export async function take(thread: Thread, taking: Taking): Promise<Lease | undefined> {
  try {
    await grasp(thread, taking);
    return taking.lease;
  } catch (error) {
    if (!AgentError.is(error, "conflict")) throw error;
    // The first write for a thread without an actor checks its owner; any other conflict means that another process was
    // faster.
    if (error.details?.["index"] === 0 && taking.writes[0]?.op === "require")
      throw noThread(thread.threadId, thread.resourceId);
    return undefined;
  }
}

/** The right to a thread as it was seen. The first thing that the run stores takes it. */
export async function takeLater(thread: Thread, { writes, lease }: Taking): Promise<Lease> {
  await thread.threads.owner.hold();
  return { ...lease, taking: writes };
}

/** Commits what takes a thread. Others see this process live before they see its thread. */
export async function grasp(thread: Thread, { run, writes }: Taking): Promise<CommitResult> {
  const { storage, system, threadId: key } = thread;
  const { owner } = thread.threads;
  await owner.hold();
  try {
    const result = await storage.commit(writes, { key, id: system.newId() });
    thread.taken(run);
    return result;
  } catch (error) {
    owner.release();
    throw error;
  }
}

/** Takes an idle thread for a run. */
export function takeIdle(
  thread: Thread,
  actor: Actor | undefined,
  ticket: RunTicket,
  conditions: readonly Write[],
): Taking {
  const taking = takeWrites(thread, ticket, actor);
  if (actor) return { ...taking, writes: [...conditions, ...taking.writes] };
  // A thread without a row has nothing in its mailbox either. Its row is new, with this run in it.
  const { threadId, resourceId, owner } = thread;
  const elsewhere = { id: threadId, resource_id: { ne: resourceId } };
  const row = { ...newActor(threadId, resourceId), ...heldBy(owner, taking.run, taking.lease) };
  return {
    ...taking,
    writes: [requireNone(THREADS, elsewhere), insert(ACTORS, row), ...taking.writes.slice(1)],
  };
}

/** The row of a thread's actor while a run has it. */
function heldBy(owner: string, { runId, agentId }: Taking["run"], { fence }: Lease): Partial<ActorRow> {
  return { owner, fence, run_id: runId, run_state: "running", agent_id: agentId, abort_run: null };
}

/**
 * Takes over a run that was left behind, or that waits and was answered. From then on no other process writes for it.
 */
export function takeOver(thread: Thread, actor: Actor, attempts: number): Taking {
  const { threadId: thread_id } = thread;
  const { runId, agentId } = actor as Actor & Taking["run"];
  const fence = actor.fence + 1;
  // What is known of a waiting run is valid until it is answered or aborted.
  const since = { next_seq: actor.nextSeq, abort_run: actor.abortRun ?? null, owner: actor.owner ?? null };
  const writes: Write[] = [
    update(ACTORS, {
      where: { thread_id, fence: actor.fence, run_id: runId, ...since },
      set: { owner: thread.owner, fence, run_state: "running" },
      require: true,
    }),
    update(RUNS, {
      where: { id: runId },
      set: { state: "running", suspended_at: null, fence, attempts: attempts + 1 },
    }),
  ];
  return { run: { runId, agentId }, writes, lease: { fence, nextSeq: actor.nextSeq } };
}

/** Makes a run the active one of an idle thread, if it is still as it was seen. */
export function takeWrites(
  { threadId, resourceId, owner, system }: Thread,
  ticket: RunTicket,
  seen: Pick<Actor, "fence" | "nextSeq"> = { fence: 0, nextSeq: 1 },
): Taking {
  const { runId, agentId, options, again } = ticket;
  const { nextSeq } = seen;
  const fence = seen.fence + 1;
  const lease = { fence, nextSeq };
  const writes: Write[] = [
    update(ACTORS, {
      where: {
        thread_id: threadId,
        fence: seen.fence,
        // A signal that was only stored may have put events into the log since.
        next_seq: nextSeq,
        run_id: null,
        resource_id: resourceId,
      },
      set: heldBy(owner, ticket, lease),
      require: true,
    }),
    ...(again ? [forgetRun(threadId, runId)] : []),
    insert(RUNS, {
      id: runId,
      thread_id: threadId,
      resource_id: resourceId,
      agent_id: agentId,
      fence,
      state: "running",
      attempts: 1,
      options,
      step: 0,
      next: "continue",
      first_seq: nextSeq,
      started_at: Math.trunc(system.now()),
    }),
  ];
  return { run: { runId, agentId }, writes, lease };
}

function forgetRun(threadId: string, runId: string): Write {
  const where = { id: runId, thread_id: threadId, first_message_id: null, state: { ne: "running" } } as const;
  return remove(RUNS, where);
}
