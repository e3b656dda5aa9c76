import type { AgentChunk, MessagePart, StoredMessage, Usage } from "@selvedge/protocol";
import type { CreatedAgentSignal } from "../signal/signal.ts";
import type { Write } from "../storage/storage.ts";
import type { ToolOutcome } from "../tool/execute-tool.ts";
import type { OpenCall } from "./run.ts";

/** A step as it is stored. */
export interface StepRecord {
  /** The message it adds to; its parts are ignored. */
  message: StoredMessage;
  stepNumber: number;
  parts: readonly MessagePart[];
  metadata: Record<string, unknown> | undefined;
  usage: Usage;
}

/** A call about to be executed. */
export interface CallIntent {
  toolCallId: string;
  toolName: string;
  args: unknown;
  position: number;
}

/** How a run ends. */
export interface RunEnd {
  state: "done" | "failed" | "aborted";
  error?: unknown;
  /** The last chunks of the stream: they become visible with the end, not before. */
  chunks: readonly AgentChunk[];
}

/**
 * The thread a run belongs to, as the loop sees it. Everything it promises is durable when the call resolves, and
 * throws `superseded` when another process has taken the thread over: then the run is over and nothing it does counts.
 */
export interface RunThread {
  /** Waits until the thread is free and makes this run its active one. */
  acquire(abortSignal: AbortSignal): Promise<void>;
  /** Stores the input. Answers signals that arrived meanwhile, stored as input too. */
  begin(input: readonly StoredMessage[]): Promise<CreatedAgentSignal[]>;
  /** Puts a chunk on the thread's stream. Subscribers see it when it is stored. */
  publish(chunk: AgentChunk): void;
  /** Writes that go with the next commit. */
  stage(writes: readonly Write[]): void;
  /** Before tools run: the model's reply and what is about to be executed. */
  intend(step: StepRecord, calls: readonly CallIntent[]): Promise<void>;
  /** After a tool ran, while others still do. */
  settle(toolCallId: string, outcome: ToolOutcome): Promise<void>;
  /** A step is over. With `take`, answers the signals that joined the run, stored in their place after the step. */
  border(
    step: StepRecord | undefined,
    options: { take: boolean; next: "continue" | "stop" },
  ): Promise<CreatedAgentSignal[]>;
  /** Parks the run: the calls wait in the store, and any process may go on with it. */
  suspend(step: StepRecord, waiting: readonly OpenCall[]): Promise<void>;
  /** Ends the run, unless signals joined it at the last moment: then answers false, and they are the next to take. */
  end(end: RunEnd): Promise<boolean>;
  /** Lets go of a parked run, once its last chunks are on the stream. */
  park(): Promise<void>;
}
