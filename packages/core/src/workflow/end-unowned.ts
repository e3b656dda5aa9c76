import type { Write } from "../storage/storage.ts";
import { remove, requireNone, update } from "../storage/writes.ts";
import { questionsOf } from "./open-questions.ts";
import { restEvents } from "./run-events.ts";
import { callHooks } from "./run-hooks.ts";
import type { RunImage } from "./run-image.ts";
import type { RunParts } from "./run-parts.ts";
import type { Rest } from "./run-port.ts";
import { readPosition } from "./run-position.ts";
import type { StoredRun } from "./run-rows.ts";
import { restColumns } from "./stored-run-port.ts";
import { withdrawQuestions } from "./withdraw-questions.ts";
import type { Definition } from "./workflow-engine.ts";
import { WORKFLOW_MAIL, WORKFLOW_RUNS, type WorkflowRunRow } from "./workflow-tables.ts";

/**
 * Ends a run that no live process carries out, with what it asked elsewhere. Throws `conflict` if one took it meanwhile, or if it has mail and does not
 * end as canceled: a cancellation in it counts.
 */
export async function endUnowned(
  { storage, system, logs, waiters, contexts, logger }: RunParts,
  definition: Definition,
  { row, image }: StoredRun,
  ends: Pick<Rest, "status" | "error">,
): Promise<void> {
  const { runId } = image;
  const now = Math.trunc(system.now());
  const open = questionsOf(definition, image);
  const rest: Rest = { ...ends, ...(open.length > 0 && { dueAt: now }), chunks: [] };
  const log = logs.of(runId);
  const chunks = restEvents(runId, rest, image.usage).map((logged) => log.logged(logged));
  const first = row.owner === null ? row.next_seq : (await readPosition(storage, runId)).end + 1;
  const set = {
    ...restColumns(rest, now),
    fence: row.fence + 1,
    updated_at: now,
    next_seq: first + chunks.length,
  } as Partial<WorkflowRunRow>;
  const mail: Write =
    rest.status === "canceled"
      ? remove(WORKFLOW_MAIL, { run_id: runId })
      : requireNone(WORKFLOW_MAIL, { run_id: runId });
  const where = { run_id: runId, fence: row.fence, owner: row.owner };
  await storage.commit(
    [update(WORKFLOW_RUNS, { where, set, require: true }), mail, log.insertEvents(first, chunks, now)],
    { key: runId, id: system.newId() },
  );
  log.tail.behind();
  log.forget();
  const ended: RunImage = { ...image, ...ends, isOwned: false };
  waiters.resolve(runId, ended);
  // A later look finds out whether all know.
  await withdrawQuestions(open, logger);
  await callHooks(definition, ended, contexts.of(ended));
}
