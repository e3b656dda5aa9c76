import type { WorkflowChunk, WorkflowRunStatus, WorkflowUsage } from "@selvedge/protocol";
import type { StepRecord } from "./journal.ts";
import type { Path } from "./path.ts";
import type { Ref, Value } from "./ref.ts";

/** The stored result of `once(key, fn)`. Without a value it was begun and must not be repeated. */
export interface OnceRecord {
  path: Path;
  key: string;
  result?: { value: unknown } | undefined;
}

/** Why a run is not carried out any more: it ended, or it waits. */
export interface Rest {
  status: WorkflowRunStatus;
  result?: Value | undefined;
  error?: unknown;
  tripwire?: StepRecord["tripwire"];
  /** When it continues by itself. */
  dueAt?: number | undefined;
  /** Its last events. They are visible with the rest or not at all. */
  chunks: readonly LoggedChunk[];
}

/** An event, and where the store has the values in it. */
export interface LoggedChunk {
  chunk: WorkflowChunk;
  /** Fields of the payload. */
  refs?: Readonly<Record<string, Ref>> | undefined;
  /** The step whose result says everything in it: stored with that, it needs no payload. */
  of?: Path | undefined;
}

/** What is stored together. */
export interface RunCommit {
  /** What changed in the journal. */
  records: readonly StepRecord[];
  /** Results that the journal did not have in any form. */
  results: readonly StepRecord[];
  /** Keys of the state; `undefined` removes one. */
  state: ReadonlyMap<string, unknown>;
  once: readonly OnceRecord[];
  /** Steps whose `once` results are no longer needed. */
  forgetOnce: readonly Path[];
  usage?: WorkflowUsage | undefined;
  /** Messages that are dealt with. */
  mail: readonly number[];
  /** Events about what is stored. They are visible with it or not at all. */
  chunks: readonly LoggedChunk[];
  rest?: Rest | undefined;
}

/** A message to a run that is being carried out. */
export type RunMail = { seq: number } & (
  | { kind: "cancel" }
  | { kind: "resume"; records: readonly StepRecord[]; perStep?: boolean }
);

/** Where a run is kept: in a store, or nowhere. */
export interface RunPort {
  /**
   * Stores everything or nothing. Resolves to false if there is mail: then everything was stored except the rest. Rejects
   * if the run belongs to another process, or the store failed.
   */
  commit(commit: RunCommit): boolean | Promise<boolean>;
  publish(logged: LoggedChunk): void;
  /** Mail that has arrived, oldest first. */
  readMail(): Promise<readonly RunMail[]>;
  /** The run is no longer carried out here. */
  close(): void;
}
