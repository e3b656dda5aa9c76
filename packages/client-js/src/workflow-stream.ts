import type { NumberedWorkflowChunk } from "@selvedge/protocol";
import type { ChunkStream, ProcessOptions, StreamEnd } from "./chunk-stream.ts";

const ENDS: ReadonlySet<string> = new Set(["success", "failed", "tripwire", "canceled", "bailed", "skipped"]);

/** A run that is suspended or paused rests: the server closes the stream unless it was asked to keep it open. */
export const END_OF_WORKFLOW: StreamEnd<NumberedWorkflowChunk> = {
  isLast: (chunk) => chunk.type === "workflow-finish" && ENDS.has(chunk.payload.workflowStatus),
  isRest: ({ type }) => type === "workflow-finish" || type === "workflow-paused",
};

/** Options for reading the events of a workflow run. */
export type WorkflowStreamOptions = ProcessOptions<NumberedWorkflowChunk>;

/**
 * The events of a workflow run, across broken connections: each once and in order. Read it once, as a stream or an async
 * iterable. The run continues whether or not it is read.
 */
export class WorkflowStream extends ReadableStream<NumberedWorkflowChunk> {
  readonly runId: string;
  readonly #stream: ChunkStream<NumberedWorkflowChunk>;

  constructor(runId: string, stream: ChunkStream<NumberedWorkflowChunk>) {
    let chunks: AsyncGenerator<NumberedWorkflowChunk, void> | undefined;
    super(
      {
        pull: async (controller) => {
          chunks ??= stream.read({ reconnect: true });
          const { done, value } = await chunks.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: () => stream.leave(),
      },
      { highWaterMark: 0 },
    );
    this.runId = runId;
    this.#stream = stream;
  }

  /** The number of the last event that was read: pass it as `offset` to `observeStream`. */
  get after(): number | undefined {
    return this.#stream.after;
  }

  /** Calls `onChunk` for each event and resolves after the last. */
  async processDataStream({ onChunk, ...options }: WorkflowStreamOptions): Promise<void> {
    for await (const chunk of this.#stream.read({ reconnect: true, ...options })) await onChunk(chunk);
  }

  /** Not inherited, because some browsers have no iterator for streams. */
  override [Symbol.asyncIterator](): AsyncGenerator<NumberedWorkflowChunk, undefined> {
    return this.#stream.read({ reconnect: true }) as AsyncGenerator<NumberedWorkflowChunk, undefined>;
  }

  /** Stops reading, not the run. */
  leave(): void {
    this.#stream.leave();
  }
}
