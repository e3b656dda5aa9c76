import type { WorkflowUsage } from "@selvedge/protocol";
import type { StepWork } from "./execute-step.ts";
import type { StepRecord } from "./journal.ts";
import type { Path } from "./path.ts";
import type { LoggedChunk, OnceRecord, Rest, RunCommit } from "./run-port.ts";
import type { Step } from "./step.ts";

/** Collects what goes with the next commit of a run, and what begins when it is stored. */
export class RunCommitBuilder {
  readonly #records: Map<Path, StepRecord> = new Map();
  /** Paths that the store has nothing about. */
  readonly #added: Set<Path> = new Set();
  readonly state: Map<string, unknown> = new Map();
  readonly once: OnceRecord[] = [];
  readonly forgetOnce: Path[] = [];
  readonly mail: number[] = [];
  readonly chunks: LoggedChunk[] = [];
  readonly starts: { work: StepWork; step: Step; before: StepRecord | undefined }[] = [];
  readonly afterwards: (() => void)[] = [];
  usage: WorkflowUsage | undefined;
  rest: Rest | undefined;

  /** `isNew`: the journal had nothing about its path. */
  record(record: StepRecord, isNew: boolean): void {
    const { path } = record;
    if (isNew) this.#added.add(path);
    this.#records.set(path, record);
  }

  get hasWrites(): boolean {
    return (
      this.#records.size > 0 ||
      this.rest !== undefined ||
      this.once.length > 0 ||
      this.mail.length > 0 ||
      this.state.size > 0
    );
  }

  get isEmpty(): boolean {
    return !this.hasWrites && this.starts.length === 0 && this.chunks.length === 0;
  }

  toCommit(): RunCommit {
    const { state, once, forgetOnce, mail, chunks, usage, rest } = this;
    const records: StepRecord[] = [];
    const results: StepRecord[] = [];
    for (const record of this.#records.values())
      (record.status === "success" && this.#added.has(record.path) ? results : records).push(record);
    return { records, results, state, once, forgetOnce, mail, chunks, usage, rest };
  }
}
