import type { WorkflowChunk } from "@selvedge/protocol";
import { FencedLog, type Lease } from "../actor/log/fenced-log.ts";
import type { Row, Write } from "../storage/storage.ts";
import { insert, remove, requireNone, update } from "../storage/writes.ts";
import type { StepRecord } from "./journal.ts";
import { toLogged } from "./logged-result.ts";
import { isEnd } from "./run-image.ts";
import type { RunLog } from "./run-log.ts";
import type { LoggedChunk, Rest, RunCommit, RunMail, RunPort } from "./run-port.ts";
import { toRecords, toStepRow, valueColumns } from "./step-row.ts";
import { encodeValue, toCell } from "./value-codec.ts";
import {
  WORKFLOW_MAIL,
  WORKFLOW_ONCE,
  WORKFLOW_RUNS,
  WORKFLOW_STATE,
  WORKFLOW_STEPS,
} from "./workflow-tables.ts";

class MailWaiting extends Error {}

/** A run in a store. Everything it writes carries the fence, and its events. */
export class StoredRunPort implements RunPort {
  readonly #log: RunLog;
  readonly #fenced: FencedLog<WorkflowChunk>;
  readonly #lease: Lease;
  readonly #onClose: () => void;
  /** The run was taken from a process that died, and has completed nothing since. */
  #isRetried: boolean;

  constructor(
    log: RunLog,
    lease: Lease,
    { owner, isRetried, onClose }: { owner: string; isRetried: boolean; onClose(): void },
  ) {
    this.#log = log;
    this.#lease = lease;
    this.#isRetried = isRetried;
    this.#onClose = onClose;
    this.#fenced = new FencedLog(log.subject(owner), () => {});
    this.#fenced.open(lease);
    this.#fenced.makeAudible();
    log.addReader();
  }

  publish(logged: LoggedChunk): void {
    this.#fenced.publish(this.#log.logged(logged));
  }

  async commit(commit: RunCommit): Promise<boolean> {
    const { runId, system } = this.#log;
    const { rest } = commit;
    // Results are stored with their events, in one row. Without events there is none.
    const hasEvents = commit.chunks.length > 0;
    const records = hasEvents ? commit.results.map(toLogged) : [];
    const writes = this.#writes(commit, hasEvents ? commit.records : [...commit.records, ...commit.results]);
    const hasRecords = commit.records.length + commit.results.length > 0;
    const run: Row = {
      ...(commit.usage && { usage: { ...commit.usage } }),
      ...(this.#isRetried && hasRecords && { attempts: 0 }),
    };
    const chunks = commit.chunks.map((logged) => this.#log.logged(logged));
    const changes = {
      chunks,
      ...(Object.keys(run).length > 0 && { run }),
      ...(records.length > 0 && { row: { records } as Row }),
    };
    const checked = [...writes, requireNone(WORKFLOW_MAIL, { run_id: runId })];
    const explain = (index: number): unknown => (index === writes.length ? new MailWaiting() : undefined);
    try {
      if (rest) {
        const now = Math.trunc(system.now());
        await this.#fenced.commit(checked, {
          ...changes,
          run: { ...run, ...restColumns(rest, now), updated_at: now },
          chunks: [...chunks, ...rest.chunks.map((logged) => this.#log.logged(logged))],
          last: (next_seq) => [update(WORKFLOW_RUNS, { where: { run_id: runId }, set: { next_seq } })],
          explain,
        });
      } else await this.#fenced.commit(checked, { ...changes, explain });
      this.#isRetried &&= !hasRecords;
      return true;
    } catch (error) {
      if (!(error instanceof MailWaiting)) throw error;
      await this.#fenced.commit(writes, changes);
      return false;
    }
  }

  #writes({ state, once, forgetOnce, mail }: RunCommit, records: readonly StepRecord[]): Write[] {
    const { runId } = this.#log;
    const writes = records.map((record) => insert(WORKFLOW_STEPS, toStepRow(runId, record), "update"));
    for (const [key, value] of state)
      writes.push(
        value === undefined
          ? remove(WORKFLOW_STATE, { run_id: runId, key })
          : insert(
              WORKFLOW_STATE,
              { run_id: runId, key, value: toCell(value, `state.${key}`), version: this.#lease.nextSeq },
              "update",
            ),
      );
    for (const { path, key, result } of once)
      writes.push(
        insert(
          WORKFLOW_ONCE,
          { run_id: runId, path, key, ...(result && { value: toCell(result.value, `once("${key}")`) }) },
          "update",
        ),
      );
    for (const path of forgetOnce) writes.push(remove(WORKFLOW_ONCE, { run_id: runId, path }));
    if (mail.length > 0) writes.push(remove(WORKFLOW_MAIL, { run_id: runId, seq: { in: mail } }));
    return writes;
  }

  readMail(): Promise<readonly RunMail[]> {
    return readMail(this.#log);
  }

  close(): void {
    this.#fenced.close();
    this.#log.removeReader();
    this.#log.forget();
    this.#onClose();
  }
}

export async function readMail({
  storage,
  runId,
}: Pick<RunLog, "storage" | "runId">): Promise<readonly RunMail[]> {
  const rows = await storage.select({
    table: WORKFLOW_MAIL,
    where: { run_id: runId },
    orderBy: [{ column: "seq" }],
  });
  const paths = rows.flatMap(({ payload }) => (payload as { paths?: string[] } | null)?.paths ?? []);
  const steps =
    paths.length === 0
      ? []
      : await storage.select({ table: WORKFLOW_STEPS, where: { run_id: runId, path: { in: paths } } });
  const byPath = new Map(steps.map((row) => [row.path, row]));
  return rows.map(({ seq, kind, payload }): RunMail => {
    if (kind === "cancel") return { seq, kind };
    const { paths: own = [], perStep = false } = payload as { paths?: string[]; perStep?: boolean };
    // Their inputs are known to the run.
    const records = toRecords(
      own.flatMap((path) => byPath.get(path) ?? []),
      undefined,
    );
    return { seq, kind: "resume", records, perStep };
  });
}

/** The run's row when it is not carried out any more. */
export function restColumns(rest: Rest, now: number): Row {
  const { status, result, error, tripwire, dueAt } = rest;
  const { value, ref } = valueColumns(result, "result");
  return {
    status,
    owner: null,
    due_at: dueAt ?? null,
    attempts: 0,
    result: value ?? null,
    result_ref: ref ?? null,
    error: error === undefined ? null : encodeValue(error, "error"),
    tripwire: tripwire ? encodeValue(tripwire, "tripwire") : null,
    ended_at: isEnd(status) ? now : null,
  };
}
