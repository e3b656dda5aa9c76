import type { WorkflowChunk, WorkflowRunStatus, WorkflowUsage } from "@selvedge/protocol";
import { ChunkStream } from "../stream/chunk-stream.ts";
import type { WorkflowResult } from "./workflow-result.ts";

export interface RunOutputSource<Result> {
  runId: string;
  /** Each call reads from the first event of this call on. */
  read(): AsyncIterableIterator<WorkflowChunk>;
  result: Promise<Result>;
  usage: Promise<WorkflowUsage>;
  status(): WorkflowRunStatus;
}

/**
 * A run as its caller sees it: a stream to read while it runs, and promises for when it rests. The run continues whether
 * or not it is read.
 */
export class WorkflowRunOutput<Output = any, Input = any, State = any> {
  readonly runId: string;
  readonly traceId: string | undefined;
  readonly #source: RunOutputSource<WorkflowResult<Output, Input, State>>;

  constructor(source: RunOutputSource<WorkflowResult<Output, Input, State>>) {
    this.runId = source.runId;
    this.traceId = undefined;
    this.#source = source;
  }

  get fullStream(): ChunkStream<WorkflowChunk> {
    return new ChunkStream(() => this.#source.read());
  }

  get result(): Promise<WorkflowResult<Output, Input, State>> {
    return this.#source.result;
  }

  get usage(): Promise<WorkflowUsage> {
    return this.#source.usage;
  }

  get status(): WorkflowRunStatus {
    return this.#source.status();
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<WorkflowChunk> {
    return this.#source.read();
  }
}
