import { AgentError } from "../errors.ts";
import type { Write } from "../storage/storage.ts";
import { insert, remove, requireRow, update } from "../storage/writes.ts";
import type { Path } from "./path.ts";
import { notSuspended } from "./run-errors.ts";
import { isEnd, type KeptQuestion, type RunImage } from "./run-image.ts";
import { toStepRow } from "./step-row.ts";
import { labelOf } from "./run-view.ts";
import { toCell } from "./value-codec.ts";
import type { Continuation } from "./workflow-engine.ts";
import {
  WORKFLOW_EVENTS,
  WORKFLOW_MAIL,
  WORKFLOW_ONCE,
  WORKFLOW_RUNS,
  WORKFLOW_STATE,
  WORKFLOW_STEPS,
} from "./workflow-tables.ts";

interface Taking {
  now: number;
  /** The process that takes the run with this commit. */
  owner: string | undefined;
  /** For a message to the run. */
  id: string;
  context: Record<string, unknown> | null | undefined;
  /** What a time travel leaves without an answer. */
  dropped: readonly KeptQuestion[];
}

/** Stores how a run continues. A suspended step is claimed by one caller. `next` is the run when that is stored. */
export function proceedWrites(
  image: RunImage,
  continuation: Continuation,
  taking: Taking,
): { writes: Write[]; next: RunImage } {
  const writes = image.isOwned
    ? mailWrites(image, continuation, taking)
    : takeWrites(image, continuation, taking);
  return { writes, next: continued(image, continuation, taking) };
}

/** A run at rest, after it was continued. */
export function continued(
  image: RunImage,
  { records, drop, state, perStep, rewinds }: Continuation,
  {
    now,
    context,
    dropped: unanswered = [],
  }: Pick<Taking, "now" | "context"> & Partial<Pick<Taking, "dropped">>,
): RunImage {
  const replaced = new Set([...drop, ...records.map(({ path }) => path)]);
  const kept = image.records.filter(({ path }) => !replaced.has(path));
  const dropped = new Set(drop);
  return {
    ...image,
    status: "running",
    fence: image.fence + 1,
    records: [...kept, ...records].sort((a, b) => a.number - b.number),
    state: new Map([...image.state, ...Object.entries(state)]),
    once: image.once.filter(({ path }) => !dropped.has(path)),
    options: { ...image.options, perStep, ...(rewinds && { dropped: unanswered }) },
    ...(rewinds && { firstSeq: image.nextSeq, result: undefined, error: undefined, tripwire: undefined }),
    ...(context !== undefined && { requestContext: context ?? {} }),
    updatedAt: now,
  };
}

/**
 * Someone else resumed one of the steps, or the run is over. A step that suspended again since asks something else, which the
 * answer was not for.
 */
export function checkClaims({ runId, records, status: now }: RunImage, continuation: Continuation): void {
  // A time travel replaces what was resumed before.
  if (continuation.rewinds) return;
  if (isEnd(now)) throw notSuspended(runId, now);
  for (const { path, status, suspendedAt } of continuation.records) {
    const known = records.find((record) => record.path === path);
    const isSame = known?.status === "suspended" && known.suspendedAt === suspendedAt;
    if (status !== "resumed" || isSame) continue;
    throw new AgentError(
      "already-decided",
      `Step "${labelOf(path)}" of workflow run "${runId}" was already resumed.`,
      { details: { id: "WORKFLOW_RESUME_ALREADY_CLAIMED", runId, step: labelOf(path) } },
    );
  }
}

function takeWrites(image: RunImage, continuation: Continuation, taking: Taking): Write[] {
  const { runId: run_id, fence, options } = image;
  const { drop, rewinds, perStep, state } = continuation;
  const { now, owner, context, dropped } = taking;
  return [
    update(WORKFLOW_RUNS, {
      where: { run_id, fence, owner: null, created_at: image.createdAt },
      set: {
        status: "running",
        fence: fence + 1,
        updated_at: now,
        ended_at: null,
        ...(owner === undefined ? { due_at: now } : { owner, due_at: null }),
        options: { ...options, perStep, ...(rewinds && { dropped: [...dropped] }) },
        ...(context !== undefined && { context }),
        ...(rewinds && {
          result: null,
          result_ref: null,
          error: null,
          tripwire: null,
          first_seq: image.nextSeq,
        }),
      },
      require: true,
    }),
    ...(drop.length > 0
      ? [
          remove(WORKFLOW_STEPS, { run_id, path: { in: drop } }),
          remove(WORKFLOW_ONCE, { run_id, path: { in: drop } }),
        ]
      : []),
    // Old events refer to results that no longer count. Those that do are kept without them.
    ...(rewinds ? [remove(WORKFLOW_EVENTS, { run_id }), ...keptRows(image, drop)] : []),
    ...claims(image, continuation),
    ...Object.entries(state).map(([key, value]) =>
      insert(
        WORKFLOW_STATE,
        { run_id, key, value: toCell(value, `initialState.${key}`), version: fence },
        "update",
      ),
    ),
  ];
}

function keptRows({ runId, records }: RunImage, drop: readonly Path[]): Write[] {
  const dropped = new Set(drop);
  const kept = records.filter(({ path }) => !dropped.has(path));
  return kept.map((record) => insert(WORKFLOW_STEPS, toStepRow(runId, record), "update"));
}

function mailWrites(image: RunImage, continuation: Continuation, { id }: Taking): Write[] {
  const { runId: run_id } = image;
  const { records, perStep } = continuation;
  const payload = { paths: records.map(({ path }) => path), perStep };
  return [
    requireRow(WORKFLOW_RUNS, { run_id, owner: { ne: null } }),
    ...claims(image, continuation),
    insert(WORKFLOW_MAIL, { id, run_id, kind: "resume", payload }),
  ];
}

function claims({ runId: run_id }: RunImage, { records, rewinds }: Continuation): Write[] {
  return records.map((record) => {
    const { path, status, resume, resumedAt, suspendedAt } = record;
    // A time travel has removed the row of the step that it resumes.
    if (rewinds || status !== "resumed" || !resume || record.suspend === undefined)
      return insert(WORKFLOW_STEPS, toStepRow(run_id, record), "update");
    return update(WORKFLOW_STEPS, {
      where: { run_id, path, status: "suspended", suspended_at: suspendedAt ?? null },
      set: { status, resume: toCell(resume.payload, "resumeData"), resumed_at: resumedAt ?? null },
      require: true,
    });
  });
}
