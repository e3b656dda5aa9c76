import type { Write } from "../../storage/storage.ts";
import { ACTORS, RUNS } from "../../storage/thread-tables.ts";
import type { Actor } from "./actor.ts";
import type { StoredOptions } from "../../run/stored-options.ts";
import type { Thread } from "./thread.ts";
import { insert, remove, update } from "../../storage/writes.ts";

/** What the store is told about a run that begins. */
export interface RunTicket {
  runId: string;
  agentId: string;
  options: StoredOptions;
}

/** Who will hold a thread: its run, and the numbers it goes on with. */
export interface Holding {
  runId: string;
  agentId: string;
  fence: number;
  nextSeq: number;
}

/** Makes a run the active one of an idle thread, if it is still as it was seen. */
export function takeWrites(
  { threadId, resourceId, owner, system }: Thread,
  ticket: RunTicket,
  seen: Pick<Actor, "fence" | "nextSeq"> = { fence: 0, nextSeq: 1 },
  /** The run may be one that was given up before it took anything in: it is opened again under its own id. */
  again = true,
): { writes: Write[]; holding: Holding } {
  const { runId, agentId, options } = ticket;
  const { nextSeq } = seen;
  const fence = seen.fence + 1;
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
      set: { owner, fence, run_id: runId, run_state: "running", agent_id: agentId, abort_run: null },
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
  return { writes, holding: { runId, agentId, fence, nextSeq } };
}

function forgetRun(threadId: string, runId: string): Write {
  const where = { id: runId, thread_id: threadId, first_message_id: null, state: { ne: "running" } } as const;
  return remove(RUNS, where);
}
