import type { AgentChunk, JSONValue, MessagePart, StoredMessage, Usage } from "@selvedge/protocol";
import type { MemoryJournal } from "../memory/memory.ts";
import type { CreatedAgentSignal } from "../signal/signal.ts";
import type { Write } from "../storage/storage.ts";
import type { Lane, StateMode } from "../signal/lane.ts";
import type { ToolOutcome } from "../tool/execute-tool.ts";
import type { OpenCall } from "./run.ts";

/** How many of a thread's newest messages are looked through for calls that a client answers. */
export const RECENT = 20;

/** A step as it is stored. */
export interface StepRecord {
  /** The message it adds to; its parts are ignored. */
  message: StoredMessage;
  stepNumber: number;
  parts: readonly MessagePart[];
  metadata: Record<string, unknown> | undefined;
  /** Of the run up to and with this step. */
  usage: Usage;
  /** Of this step alone. */
  own: Usage;
  also?: StepAddition;
}

/** What belongs to a step beside its message: stored in the same commit, and told with it. */
export interface StepAddition {
  writes: readonly Write[];
  chunks: readonly AgentChunk[];
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
  /** The run could take another step, so it does not end while signals wait for one. */
  mayContinue: boolean;
  error?: unknown;
  /** The last chunks of the stream: they become visible with the end, not before. */
  chunks: readonly AgentChunk[];
}

/** What a run looks up about its thread. */
export interface RunHistory {
  /** The state of a lane. */
  lane(laneId: string): Promise<Lane | undefined>;
  /** Signals of the thread after one of them, and that one first. */
  signalsSince(signalId: string): Promise<StoredMessage[]>;
  /** The next state of a lane, on condition that it is still where it was seen. */
  advanceLane(
    laneId: string,
    seen: Lane | undefined,
    next: { cacheKey: string; mode: StateMode; signalId: string },
  ): Write;
  /** The newest messages of the thread. */
  recent(): Promise<StoredMessage[]>;
}

/**
 * The thread a run belongs to, as the loop sees it. Everything it promises is durable when the call resolves, and
 * throws `superseded` when another process has taken the thread over: then the run is over and nothing it does counts.
 */
export interface RunJournal extends MemoryJournal {
  /** Whether the run has let go of the thread, or lost it. */
  readonly isOver: boolean;
  readonly history: RunHistory;
  /** Waits until the thread is free and makes this run its active one, which others may abort. */
  acquire(controller: AbortController): Promise<void>;
  /** Aborting the thread's run aborts this controller from here on, also before the run acquires it. */
  abortWith(controller: AbortController): void;
  /**
   * Stores the input, and earlier messages that it changed; the `signals` among the input go on the stream in the same
   * commit. Returns signals that arrived meanwhile, stored and shown as input too. Returns `undefined` if another run used
   * the thread in between and nothing was stored: then the run waits again and prepares its input again. `pinned` is
   * kept with the run.
   */
  begin(
    input: readonly StoredMessage[],
    changed: readonly StoredMessage[],
    signals: readonly CreatedAgentSignal[],
    pinned?: Record<string, JSONValue>,
  ): Promise<CreatedAgentSignal[] | undefined>;
  /** Puts a chunk on the thread's stream. Subscribers see it when it is stored. */
  publish(chunk: AgentChunk): void;
  /** Stores a signal in its place and on the stream. Returns false when a condition in `alongside` does not hold. */
  record(signal: CreatedAgentSignal, alongside: readonly Write[]): Promise<boolean>;
  /** Before tools run: the model's reply and what is about to be executed. */
  recordIntent(step: StepRecord, calls: readonly CallIntent[]): Promise<void>;
  /** While a tool runs: what it wants to know if it runs again. */
  saveProgress(toolCallId: string, value: unknown, alongside?: readonly Write[]): Promise<void>;
  /** After a tool ran, while others still do. */
  recordOutcome(toolCallId: string, outcome: ToolOutcome): Promise<void>;
  /**
   * A step is over. With `take`, returns the signals that joined the run, stored in their place after the step and
   * after the run's `own`. `finish` gives the chunks that close the step; they go on the stream with it, followed by the
   * signals. With `endsNow` nothing lies between this step and the end of the run, so they may be stored together;
   * chunks never become visible before the step.
   */
  commitStep(
    step: StepRecord | undefined,
    options: {
      take: boolean;
      next: "continue" | "stop";
      own?: readonly CreatedAgentSignal[];
      endsNow?: boolean;
      finish?: (joined: boolean) => Promise<readonly AgentChunk[]>;
    },
  ): Promise<CreatedAgentSignal[]>;
  /**
   * Called before the model is asked again. Lets readers in this process react to what they have just read, and returns
   * the signals that have joined the run since the last step.
   */
  takeSignals(): Promise<CreatedAgentSignal[]>;
  /** Parks the run: the calls wait in the store, and any process can continue it. */
  suspend(step: StepRecord, waiting: readonly OpenCall[]): Promise<void>;
  /** Ends the run, unless signals joined it at the last moment: then returns false, and they are the next to take. */
  end(end: RunEnd): Promise<boolean>;
  /** Lets go of a parked run, once its last chunks are on the stream. */
  park(): Promise<void>;
  /** Lets go without storing anything: the store or the thread is lost to this process. */
  abandon(): void;
  /** Puts whole messages in the place of what was stored of them. */
  replace(messages: readonly StoredMessage[]): Promise<void>;
}
