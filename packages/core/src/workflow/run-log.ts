import type { WorkflowChunk } from "@selvedge/protocol";
import { type EventPiece, type Numbered, PIECES_AT_ONCE } from "../actor/log/event-piece.ts";
import type { LogSubject } from "../actor/log/fenced-log.ts";
import { NotTaken } from "../actor/log/fenced-log.ts";
import type { ReadLog } from "../actor/log/log-reader.ts";
import { Tail } from "../actor/log/tail.ts";
import { AgentError } from "../errors.ts";
import { toJson } from "../json.ts";
import type { Row, Storage, Write } from "../storage/storage.ts";
import { insert, requireRow, update } from "../storage/writes.ts";
import type { System } from "../system.ts";
import { type EventSource, fromStoredEvent, type StoredEvent, toStoredEvent } from "./logged-event.ts";
import { type LoggedResult, loggedSteps } from "./logged-result.ts";
import { pathsOf, type Ref, resolveRef } from "./ref.ts";
import type { LoggedChunk } from "./run-port.ts";
import { type FoundOutput, outputsOf } from "./step-row.ts";
import { decodeValue, fromCell } from "./value-codec.ts";
import { WORKFLOW_EVENTS, type WorkflowEventRow, WORKFLOW_RUNS, WORKFLOW_STEPS } from "./workflow-tables.ts";

/** The log of a run, as this process knows it. Kept while someone reads or writes it. */
export class RunLog implements ReadLog<WorkflowChunk> {
  readonly runId: string;
  readonly storage: Storage;
  readonly system: System;
  readonly tail: Tail<WorkflowChunk> = new Tail();
  readonly #drop: () => void;
  /** Where the store has the values of events. */
  readonly #sources = new WeakMap<WorkflowChunk, EventSource>();
  #users = 0;

  constructor(storage: Storage, system: System, runId: string, drop: () => void) {
    this.storage = storage;
    this.system = system;
    this.runId = runId;
    this.#drop = drop;
  }

  addReader(): void {
    this.#users++;
  }

  removeReader(): void {
    this.#users--;
  }

  forget(): void {
    if (this.#users <= 0) this.#drop();
  }

  /** The chunk as the log stores it. */
  logged(logged: LoggedChunk): WorkflowChunk {
    if (logged.refs || logged.of !== undefined) this.#sources.set(logged.chunk, logged);
    return logged.chunk;
  }

  /** The run as its fenced log sees it. */
  subject(owner: string): LogSubject<WorkflowChunk> {
    const { runId, storage, system, tail } = this;
    return {
      storage,
      system,
      tail,
      key: runId,
      runId,
      owner,
      patient: true,
      fence: (fence, run) => {
        const where = { run_id: runId, fence };
        return run
          ? update(WORKFLOW_RUNS, { where, set: run as never, require: true })
          : requireRow(WORKFLOW_RUNS, where);
      },
      take: (taking) => taking,
      notTaken: () => new NotTaken(),
      insertEvents: (first, chunks, { now, row }) => this.insertEvents(first, chunks, now, row),
      restAfter: () => requireRow(WORKFLOW_RUNS, { run_id: runId }),
      toBroadcast,
      superseded: () =>
        new AgentError("superseded", `Workflow run "${runId}" was taken over by another process.`),
    };
  }

  insertEvents(first: number, chunks: readonly WorkflowChunk[], now: number, more?: Row): Write {
    const results = (more?.["records"] ?? NO_RESULTS) as readonly LoggedResult[];
    return insert(WORKFLOW_EVENTS, {
      run_id: this.runId,
      first,
      last: first + chunks.length - 1,
      chunks: chunks.map((chunk) => toStoredEvent(chunk, this.#sources.get(chunk) ?? NO_SOURCE, results)),
      created_at: Math.trunc(now),
      ...more,
    });
  }
}

const NO_RESULTS: readonly LoggedResult[] = [];
const NO_SOURCE: EventSource = {};

/** What a step writes may be anything; readers get JSON. */
function toBroadcast(chunk: WorkflowChunk): WorkflowChunk {
  if (chunk.type !== "workflow-step-output") return chunk;
  return { ...chunk, payload: { ...chunk.payload, output: toJson(chunk.payload.output) } };
}

/**
 * Stored events as readers get them. Values that are references are read from the journal, once for all of them. Returns
 * `undefined` if a time travel has replaced events and journal meanwhile.
 */
export async function toPieces(
  { storage, runId }: RunLog,
  rows: readonly WorkflowEventRow[],
): Promise<EventPiece<WorkflowChunk>[] | undefined> {
  const events = rows.map(({ chunks, records }) =>
    (chunks as StoredEvent[]).map((stored) =>
      fromStoredEvent(stored, runId, (records as LoggedResult[] | null) ?? NO_RESULTS),
    ),
  );
  const refs = events.flatMap((one) => one.flatMap((chunk) => Object.values(chunk.refs ?? {})));
  const { resolve, firstSeq } = refs.length > 0 ? await resolver({ storage, runId }, rows, refs) : NO_REFS;
  if (rows.some(({ first }) => first < firstSeq)) return undefined;
  return rows.map(({ first }, row) => ({
    first,
    chunks: events[row]!.map((stored, index) => {
      const { refs: own = {}, payload, ...rest } = stored;
      const chunk = { ...rest, runId, from: "WORKFLOW", seq: first + index };
      if (payload === undefined) return chunk as unknown as Numbered<WorkflowChunk>;
      const values = Object.entries(own).map(([key, ref]) => [key, resolve(ref)]);
      const whole = { ...(decodeValue(payload) as object), ...Object.fromEntries(values) };
      return { ...chunk, payload: whole } as unknown as Numbered<WorkflowChunk>;
    }),
  }));
}

interface Resolver {
  resolve(ref: Ref): unknown;
  /** The first event of the run at a time when the values had been read. */
  firstSeq: number;
}

const NO_REFS: Resolver = { resolve: () => undefined, firstSeq: 0 };

async function resolver(
  { storage, runId }: Pick<RunLog, "storage" | "runId">,
  rows: readonly WorkflowEventRow[],
  refs: readonly Ref[],
): Promise<Resolver> {
  const known = new Map<string, FoundOutput>();
  let wanted = new Set<string>();
  const want = (ref: Ref): void => {
    for (const path of pathsOf(ref)) if (!known.has(path)) wanted.add(path);
  };
  const add = (found: readonly FoundOutput[]): void => {
    for (const step of found) known.set(step.path, step);
    wanted = new Set([...wanted].filter((path) => !known.has(path)));
    // The output of a nested workflow is that of its last step.
    for (const { output_ref: ref } of found) if (ref !== null && ref !== undefined) want(ref as Ref);
  };
  for (const ref of refs) want(ref);
  add(loggedSteps(rows));
  // Most events are about something recent. A list may go back to the first row.
  let before = rows[0]!.first;
  for (let limit = PIECES_AT_ONCE, isMore = true; wanted.size > 0 && isMore; limit *= 4) {
    const [steps, older] = await storage.selectAll([
      {
        table: WORKFLOW_STEPS,
        where: { run_id: runId, path: { in: [...wanted] } },
        columns: ["path", "output", "output_ref"],
      },
      {
        table: WORKFLOW_EVENTS,
        where: { run_id: runId, first: { lt: before } },
        columns: ["first", "records"],
        orderBy: [{ column: "first", direction: "desc" as const }],
        limit,
      },
    ]);
    add(steps as FoundOutput[]);
    const page = older as Pick<WorkflowEventRow, "first" | "records">[];
    add(loggedSteps(page));
    // Either may name more that is wanted.
    isMore = page.length > 0 || steps.length > 0;
    before = page.at(-1)?.first ?? 0;
  }
  // Last, so that it tells whether the values are still those of these events.
  const [run] = await storage.select({
    table: WORKFLOW_RUNS,
    where: { run_id: runId },
    columns: ["input", "first_seq"],
    limit: 1,
  });
  const input = fromCell(run?.input ?? null);
  const outputAt = outputsOf([...known.values()], input);
  return { resolve: (ref) => resolveRef(ref, input, outputAt), firstSeq: run?.first_seq ?? 0 };
}
