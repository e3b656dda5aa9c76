import type { Storage } from "../../storage/storage.ts";
import { ACTORS, OWNERS } from "../../storage/thread-tables.ts";

/** A process that carries out runs. */
export interface Worker {
  id: string;
  /** It is the process that was asked. */
  isSelf: boolean;
  /**
   * When it last showed that it lives, by its own clock. It does so every few seconds while it has runs, and not at all
   * while it has none. `undefined` if it has closed, or is known to be dead: others may take its runs.
   */
  lastBeat: Date | undefined;
  runs: WorkerRun[];
}

export interface WorkerRun {
  runId: string;
  agentId: string | undefined;
  threadId: string;
  resourceId: string;
}

const MAX_WORKERS = 1_000;
const MAX_RUNS = 1_000;

/** The processes that have carried out runs on a store, those with the latest beat first, and the runs they carry out now. */
export async function listWorkers(storage: Storage): Promise<Worker[]> {
  const [owners, actors] = await storage.selectAll([
    { table: OWNERS, orderBy: [{ column: "lease_until", direction: "desc" }], limit: MAX_WORKERS },
    {
      table: ACTORS,
      where: { run_state: "running", run_id: { ne: null }, owner: { ne: null } },
      columns: ["thread_id", "resource_id", "run_id", "agent_id", "owner"],
      limit: MAX_RUNS,
    },
  ] as const);
  const runs = new Map<string, WorkerRun[]>(owners.map(({ id }) => [id, []]));
  for (const {
    owner,
    run_id: runId,
    agent_id: agentId,
    thread_id: threadId,
    resource_id: resourceId,
  } of actors) {
    const run = { runId: runId!, agentId: agentId ?? undefined, threadId, resourceId };
    // An owner without a row is gone.
    runs.set(owner!, [...(runs.get(owner!) ?? []), run]);
  }
  const beats = new Map(owners.map(({ id, lease_until: at }) => [id, at ?? 0]));
  const self = storage.ownerId();
  return [...runs].map(([id, own]) => {
    const at = storage.isOwnerDead(id) ? 0 : (beats.get(id) ?? 0);
    return { id, isSelf: id === self, lastBeat: at === 0 ? undefined : new Date(at), runs: own };
  });
}
