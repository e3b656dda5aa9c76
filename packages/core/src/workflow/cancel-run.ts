import { AgentError } from "../errors.ts";
import { insert, requireRow } from "../storage/writes.ts";
import { endUnowned } from "./end-unowned.ts";
import type { GraphStore } from "./graph-store.ts";
import { isEnd } from "./run-image.ts";
import type { RunParts } from "./run-parts.ts";
import { readRun } from "./run-rows.ts";
import { canceledWrites } from "./start-writes.ts";
import type { Definition, RunAddress } from "./workflow-engine.ts";
import { WORKFLOW_MAIL, WORKFLOW_RUNS } from "./workflow-tables.ts";

/** How often it is tried again if the run changed meanwhile. */
const RETRIES = 20;

/**
 * Stores that a run is canceled, wherever it is. Each way is one conditional commit, so a run that was canceled cannot
 * succeed, and one that is over stays as it is:
 *
 *     never started      → its row, canceled: the start finds it
 *     carried out        → mail to its process, without which no run ends
 *     at rest, asleep    → ends here
 */
export async function cancelRun(
  parts: RunParts,
  graphs: GraphStore,
  definition: Definition,
  address: RunAddress,
): Promise<void> {
  for (let attempt = 0; ; attempt++)
    try {
      return await tryToCancel(parts, graphs, definition, address);
    } catch (error) {
      if (!AgentError.is(error, "conflict") || attempt >= RETRIES) throw error;
    }
}

async function tryToCancel(
  parts: RunParts,
  graphs: GraphStore,
  definition: Definition,
  address: RunAddress,
): Promise<void> {
  const { storage, system } = parts;
  const { runId } = address;
  const stored = await readRun(storage, runId);
  if (!stored) return cancelUnstarted(parts, graphs, definition, address);
  if (isEnd(stored.row.status)) return;
  if (stored.row.owner === null) return endUnowned(parts, definition, stored, { status: "canceled" });
  const id = system.newId();
  const isCarriedOut = requireRow(WORKFLOW_RUNS, { run_id: runId, owner: { ne: null } });
  const mail = insert(WORKFLOW_MAIL, { id, run_id: runId, kind: "cancel" });
  await storage.commit([isCarriedOut, mail], { key: runId, id });
}

async function cancelUnstarted(
  { storage, system, logs }: RunParts,
  graphs: GraphStore,
  definition: Definition,
  address: RunAddress,
): Promise<void> {
  const { runId } = address;
  const graph = await graphs.store(definition.serializedStepGraph);
  const log = logs.of(runId);
  const now = Math.trunc(system.now());
  try {
    const writes = canceledWrites(definition, address, { log, graph, now });
    await storage.commit(writes, { key: runId, id: system.newId() });
    log.tail.behind();
  } finally {
    log.forget();
  }
}
